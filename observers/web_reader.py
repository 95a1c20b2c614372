"""Handles a web reader's own errors: a note, and a strike against a site that refuses to be read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from core.errors import WorkspaceError
from core.observation import ToolResult
from core.text import clean_line
from core.web_reader.blacklist import STRIKES, Blacklist
from core.web_reader.errors import REFUSED, TIMED_OUT, ReaderError, page_of, reader_error
from observers.base import ObserverContext, Outcome

__all__ = ["observe_reader_error"]

_log = logging.getLogger(__name__)


def observe_reader_error(
    result: ToolResult, texts: Sequence[str], moment: datetime, context: ObserverContext
) -> Outcome | None:
    """Log a web reader's error and count its strike; None if the result is something else.

    Only an error as a whole is one: whatever a page says about codes is the page's text. A call counts once,
    however often it is observed.
    """
    error_text = result.observation.error
    if error_text is None and len(texts) != 1:
        return None
    error = reader_error(error_text if error_text is not None else texts[0], failed=error_text is not None)
    if error is None:
        return None
    note = f"the web reader {error.meaning} (code {error.code})"
    page = clean_line(context.workspace.redactor.redact(page_of(result.call.input) or "a page"), 300)
    _log.warning("%s: %s", note, page)
    if error.code == TIMED_OUT:
        note += "; the page is worth another try"
    elif error.code == REFUSED:
        note += f"; {_strike(result, error, moment, context)}"
    return Outcome(rejected=1, note=note)


def _strike(result: ToolResult, error: ReaderError, moment: datetime, context: ObserverContext) -> str:
    url = page_of(result.call.input)
    if url is None:
        return "no strike: the call names no page"
    if not error.certain:
        return "no strike: the call itself did not fail"
    try:
        standing = Blacklist.for_session(context.workspace, context.now).strike(
            url, error.code, result.call.tool_use_id, moment
        )
    except WorkspaceError as failure:
        _log.warning("a strike was not counted: %s", failure)
        return f"the strike could not be counted: {failure}"
    if standing is None:
        return "no further strike: the call was already counted or is too old"
    if standing.expires is not None:
        return f"{standing.host} is on the blacklist until {standing.expires:%Y-%m-%d}"
    return f"strike {len(standing.strikes)} of {STRIKES} against {standing.host}"
