"""What a web reader's own errors mean, told from their form and never from a page's text.

1214    the reader refused the request: it cannot take this address
1234    the reader lost its network or ran out of time: the page may be read at the next try

The real texts look like `MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"..."}}"`,
which is not JSON as a whole, because the inner quotes are not escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

__all__ = ["REFUSED", "TIMED_OUT", "ReaderError", "is_web_reader", "page_of", "reader_error"]

REFUSED = "1214"
TIMED_OUT = "1234"

_LONGEST = 8_000
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# What clients and servers put before the message of a tool that failed.
_FAILING = re.compile(r"\A(?:Error: )?(?:Error executing tool [A-Za-z0-9_-]{1,64}: )?")
_TRANSPORT = re.compile(r"MCP error -?\d{1,6}: (?:[1-5]\d\d [A-Za-z][A-Za-z -]{0,40}: )?")
_ENVELOPE = re.compile(r'\{\s*"error"\s*:\s*\{\s*"code"\s*:\s*(?:"(\d{3,5})"|(\d{3,5}))\s*[,}]')


class ReaderError(msgspec.Struct, frozen=True):
    """An error of the reader itself: its code, and whether it came as a failed call would bring it.

    Only a `certain` one may count against a site. The other is a bare error document in a call that succeeded,
    which a reader that hands out pages as they are would also give for a page with that very text.
    """

    code: str
    certain: bool

    @property
    def words(self) -> str:
        """What the code means, to go after "the web reader"."""
        meanings: dict[str, Literal["timed out", "refused the request"]] = {
            TIMED_OUT: "timed out",
            REFUSED: "refused the request",
        }
        return meanings.get(self.code, "failed")


def is_web_reader(tool: str) -> bool:
    """Whether a tool is one that reads single pages from afar, by its own name without its server's."""
    own = tool.rsplit("__", 1)[-1] if tool.startswith("mcp__") else tool
    return {"web", "reader"} <= {word.lower() for word in _WORDS.findall(own)}


def page_of(arguments: Mapping[str, Any]) -> str | None:
    """The address a web reader was asked for."""
    url = arguments.get("url")
    return url.strip() if isinstance(url, str) and url.strip() else None


def reader_error(text: str, *, failed: bool) -> ReaderError | None:
    """Read the code of an error; None when the text is anything but one error as a whole.

    Args:
        text: all that the call gave.
        failed: whether the call itself failed.
    """
    text = text.strip()
    if failed:
        text = _FAILING.sub("", text)
    if len(text) > _LONGEST:
        return None
    carried = _TRANSPORT.match(text)
    inner = _without_quotes(text[carried.end() :] if carried else text)
    code = _code_of(inner)
    return ReaderError(code, certain=failed or carried is not None) if code is not None else None


def _without_quotes(text: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text[1:-1].strip()
    return value.strip() if isinstance(value, str) else ""


def _code_of(text: str) -> str | None:
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        # Not JSON: only what stands before any text of others tells the code.
        found = _ENVELOPE.match(text)
        return (found[1] or found[2]) if found else None
    match value:
        case {"error": {"code": str() | int() as code}}:
            return str(code) if re.fullmatch(r"\d{3,5}", str(code)) else None
        case _:
            return None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name stands twice")
    return value
