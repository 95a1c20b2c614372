"""Codes for pages that could not be read, so that a program can tell one reason from another.

refused       the address, scheme, port or redirect is not allowed
robots        the site's robots.txt forbids it, or cannot be read
http_NNN      the site answered with an error status
timeout       no answer in time
unreachable   no such host, no connection, or a broken one
too_large     the page is beyond the limits of size
not_readable  the type cannot be read, or no text was found
not_saved     the page was read but its file could not be written
failed        anything else
"""

from __future__ import annotations

import re

from core.errors import ConnectionFailed, FetchRefused, UniversalAgentError
from core.text import clean_line
from core.toolkit.extract import NotReadable

__all__ = ["code_of", "reason_of"]

# How the reasons of core.net begin. A reason is its own text throughout, only its rest may quote a page.
_REFUSED = (
    ("its type is ", "not_readable"),
    ("it has no type ", "not_readable"),
    ("its body is compressed as ", "not_readable"),
    ("its body ", "too_large"),
    ("the site's robots.txt ", "robots"),
)
_UNREACHED = (
    ("the site's robots.txt ", "robots"),
    ("it took longer than ", "timeout"),
    ("the site does not answer", "timeout"),
)
_STATUS = re.compile(r"the site answers (\d{3}) ")


def code_of(error: UniversalAgentError, url: str) -> str:
    """Name in one word why `url` could not be read."""
    reason = reason_of(error, url)
    match error:
        case NotReadable():
            return "not_readable"
        case FetchRefused():
            return _first(_REFUSED, reason) or "refused"
        case ConnectionFailed():
            status = _STATUS.match(reason)
            return f"http_{status[1]}" if status else _first(_UNREACHED, reason) or "unreachable"
        case _:
            return "not_saved"


def reason_of(error: UniversalAgentError, url: str) -> str:
    """Say in plain words why `url` could not be read, without naming it once more."""
    message = str(error)
    shown = f"'{clean_line(url, 200)}'"
    for prefix in (f"cannot fetch {shown}: ", f"{shown} is not fetched: "):
        message = message.removeprefix(prefix)
    return clean_line(message, 300)


def _first(codes: tuple[tuple[str, str], ...], reason: str) -> str | None:
    return next((code for beginning, code in codes if reason.startswith(beginning)), None)
