"""Codes for pages that could not be read, so that a program can tell one reason from another.

refused       the address, scheme, port or redirect is not allowed
robots        the site's robots.txt forbids it, or cannot be read
blacklisted   its site is on the web reader's blacklist, which the user can clear
http_NNN      the site answered with an error status
timeout       no answer in time
unreachable   no such host, no connection, or a broken one
too_large     the page is beyond the limits of size
not_readable  the type cannot be read, or no text was found
not_saved     the page was read but its file could not be written
failed        anything else
"""

from __future__ import annotations

from core.errors import ConnectionFailed, FetchRefused, UniversalAgentError
from core.text import clean_line

__all__ = ["code_of", "reason_of"]


def code_of(error: UniversalAgentError) -> str:
    """Name in one word why a page could not be read."""
    match error:
        case FetchRefused() | ConnectionFailed():
            return error.code
        case _:
            return "not_saved"


def reason_of(error: UniversalAgentError, url: str) -> str:
    """Say in plain words why `url` could not be read, without naming it once more."""
    message = str(error)
    shown = f"'{clean_line(url, 200)}'"
    for prefix in (f"cannot fetch {shown}: ", f"{shown} is not fetched: "):
        message = message.removeprefix(prefix)
    return clean_line(message, 300)
