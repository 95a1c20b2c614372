"""The web reader's own errors: how they are recognised, what they mean, and what the agent should do.

1214    the reader rejected the request: it cannot read this address
1234    the reader lost its network or ran out of time: a retry may work

They are recognised by their form, never by the text of a page.

The real texts look like `MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"..."}}"`,
which is not JSON as a whole, because the inner quotes are not escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ua_tui.core.errors import Advice, advise

REFUSED = "1214"
TIMED_OUT = "1234"

MOST_RETRIES = 2

_MEANINGS = {TIMED_OUT: "timed out", REFUSED: "rejected the request"}
# For the agent: by code, for the first failure on a page, the second, and all others.
_ADVICE = {REFUSED: ("refused",), TIMED_OUT: ("late", "late_again", "always_late")}

_LONGEST = 8_000
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# The prefixes that clients and servers add to the error of a tool.
_FAILING = re.compile(r"\A(?:Error: )?(?:Error executing tool [A-Za-z0-9_-]{1,64}: )?")
_TRANSPORT = re.compile(r"MCP error -?\d{1,6}: (?:[1-5]\d\d [A-Za-z][A-Za-z -]{0,40}: )?")
_ENVELOPE = re.compile(r'\{\s*"error"\s*:\s*\{\s*"code"\s*:\s*(?:"(\d{3,5})"|(\d{3,5}))\s*[,}]')


class ReaderError(msgspec.Struct, frozen=True):
    """An error of the reader: its code, and whether it certainly comes from the reader.

    Only a `certain` one may count against a site. Any other is a bare error document in a successful call, which could
    also be the text of a page.
    """

    code: str
    certain: bool

    @property
    def meaning(self) -> str:
        """What the code means, as a predicate of "the web reader"."""
        return _MEANINGS.get(self.code, "failed")


def reader_advice(code: str, failures: int = 1) -> Advice | None:
    """The advice for the agent after so many failures on a page; None for a code without advice."""
    entries = _ADVICE.get(code)
    return advise(f"web_reader.{entries[min(failures, len(entries)) - 1]}") if entries else None


def is_web_reader(tool: str) -> bool:
    """Whether a tool is a web reader, by its name without the name of its server."""
    own = tool.rsplit("__", 1)[-1] if tool.startswith("mcp__") else tool
    return {"web", "reader"} <= {word.lower() for word in _WORDS.findall(own)}


def page_of(arguments: Mapping[str, Any]) -> str | None:
    """The address in a call of a web reader."""
    url = arguments.get("url")
    return url.strip() if isinstance(url, str) and url.strip() else None


def reader_error(text: str, *, failed: bool) -> ReaderError | None:
    """Parse an error of the reader; None when the text is anything other than one error.

    Args:
        text: the full result of the call.
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
        # Not JSON: only the part before any foreign text can be trusted.
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
        raise ValueError("duplicate name")
    return value
