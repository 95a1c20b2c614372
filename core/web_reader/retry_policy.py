"""What the agent is told when its web reader fails: when to try again, when to leave a page, and which to leave alone.

The reader runs elsewhere and is called by the agent alone, so a retry is advice, given beside the result in fixed
words that hold no text of a tool or a page.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

from core.pipelines import AfterTool, BeforeTool, Pipelines, ToolErrored
from core.text import clean_line
from core.web_reader.blacklist import Blacklist
from core.web_reader.errors import REFUSED, TIMED_OUT, is_web_reader, page_of, reader_error

__all__ = ["MOST_RETRIES", "ReaderPolicy"]

MOST_RETRIES = 2
_PRIORITY = 50
_AGAIN = (
    "The web reader timed out (1234), which often passes. Try this page once more.",
    "The web reader timed out again (1234). Try this page one last time; if it fails again, go on without it.",
)
_NO_MORE = (
    "The web reader timed out on this page three times (1234). Do not try it again: go on without it, "
    "or read it with crawl_parallel."
)
_NOT_READABLE = (
    "The web reader refuses this address (1214). Trying it again gives the same: check the address and the other "
    "arguments, read the page with crawl_parallel, or go on without it."
)

log = logging.getLogger(__name__)


class ReaderPolicy:
    """The rules for the web reader in one session: at most two retries a page, and no call for a listed site."""

    def __init__(self, blacklist: Blacklist) -> None:
        self._blacklist = blacklist
        self._timed_out: Counter[str] = Counter()

    def register(self, pipelines: Pipelines) -> None:
        """Take part in a session's tool pipelines, for calls of web readers alone."""
        pipelines.register("tool.before_execute", self.before, _PRIORITY, tools=is_web_reader)
        pipelines.register("tool.after_execute", self.after, _PRIORITY, tools=is_web_reader)
        pipelines.register("tool.on_error", self.failed, _PRIORITY, tools=is_web_reader)

    def before(self, call: BeforeTool) -> BeforeTool:
        """Deny the call for a page whose site is on the blacklist."""
        url = page_of(call.input)
        listing = self._blacklist.find(url) if url is not None else None
        if listing is None or call.denied is not None:
            return call
        return replace(call, denied=f"This page is not read: {listing.reason}. Go on without it.")

    def after(self, call: AfterTool) -> AfterTool:
        """Advise on an error that came as the text of a call that succeeded."""
        text = call.observation.error or call.observation.output
        advice = self._advice(page_of(call.input), text, failed=call.observation.has_error)
        return replace(call, additional_context=_joined(call.additional_context, advice)) if advice else call

    def failed(self, call: ToolErrored) -> ToolErrored:
        """Advise on a call that failed."""
        advice = self._advice(page_of(call.input), call.error, failed=True)
        return replace(call, additional_context=_joined(call.additional_context, advice)) if advice else call

    def _advice(self, url: str | None, text: str, *, failed: bool) -> str | None:
        error = reader_error(text, failed=failed)
        if error is None or not error.certain:
            return None
        if error.code == REFUSED:
            return _NOT_READABLE
        if error.code != TIMED_OUT:
            return None
        self._timed_out[url or ""] += 1
        count = self._timed_out[url or ""]
        page = clean_line(url or "a page", 300)
        if count > MOST_RETRIES:
            log.warning("the web reader timed out (1234) on %s: given up after %d tries", page, count)
            return _NO_MORE
        log.warning("the web reader timed out (1234) on %s: retry %d of %d", page, count, MOST_RETRIES)
        return _AGAIN[count - 1]


def _joined(present: str | None, more: str) -> str:
    return f"{present}\n{more}" if present else more
