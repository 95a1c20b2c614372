"""The policy for a failing web reader: when the agent should retry a page, and which sites it may not read.

Only the agent can call the reader, so a retry is advice that is added to the result. The advice is a fixed text without
any text of a tool or a page.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TypeVar

import msgspec

from ua_tui.core.pipelines import AfterTool, BeforeTool, Pipelines, ToolErrored
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader.blacklist import Blacklist
from ua_tui.core.web_reader.errors import (
    MOST_RETRIES,
    TIMED_OUT,
    is_web_reader,
    page_of,
    reader_advice,
    reader_error,
)

_PRIORITY = 50

_Ended = TypeVar("_Ended", AfterTool, ToolErrored)

log = logging.getLogger(__name__)


class ReaderPolicy(msgspec.Struct, eq=False):
    """The rules of one session: at most two retries per page, and no call for a blacklisted site."""

    blacklist: Blacklist
    _timed_out: Counter[str] = msgspec.field(default_factory=Counter)

    def register(self, pipelines: Pipelines) -> None:
        """Register in a session's tool pipelines, for calls of web readers."""
        pipelines.register("tool.before_execute", self.before, _PRIORITY, tools=is_web_reader)
        pipelines.register("tool.after_execute", self.after, _PRIORITY, tools=is_web_reader)
        pipelines.register("tool.on_error", self.failed, _PRIORITY, tools=is_web_reader)

    def before(self, call: BeforeTool) -> BeforeTool:
        """Deny the call for a page whose site is on the blacklist."""
        url = page_of(call.input)
        listing = self.blacklist.find(url) if url is not None else None
        if listing is None or call.denied is not None:
            return call
        return replace(call, denied=f"This page is not read: {listing.reason}. Continue without it.")

    def after(self, call: AfterTool) -> AfterTool:
        """Add advice to an error in the text of a successful call."""
        text = call.observation.error or call.observation.output
        return self._with_advice(call, text, failed=call.observation.has_error)

    def failed(self, call: ToolErrored) -> ToolErrored:
        """Add advice to a failed call."""
        return self._with_advice(call, call.error, failed=True)

    def _with_advice(self, call: _Ended, text: str, *, failed: bool) -> _Ended:
        error = reader_error(text, failed=failed)
        if error is None or not error.certain:
            return call
        failures = 1
        if error.code == TIMED_OUT:
            url = page_of(call.input) or "a page"
            self._timed_out[url] += 1
            failures = self._timed_out[url]
            next_step = f"retry {failures} of {MOST_RETRIES}"
            if failures > MOST_RETRIES:
                next_step = f"gave up after {failures} attempts"
            log.warning("the web reader timed out (1234) on %s: %s", clean_line(url, 300), next_step)
        advice = reader_advice(error.code, failures)
        if advice is None:
            return call
        texts = filter(None, (call.additional_context, advice.sentence))
        return replace(call, additional_context="\n".join(texts))
