"""Decodes the text of a tool result to values, whatever their wrapping."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from core.events.codec import takes_too_much_memory
from observers.decoding.truncated_json import repair

__all__ = ["MAX_DEPTH", "MAX_TEXT", "Decoded", "decode_bytes", "decode_text", "decode_texts"]

MAX_TEXT = 64 << 20
"""Longest text that is parsed, in characters."""

MAX_DEPTH = 64
"""Deepest nesting that anything downstream walks into."""

_UNREADABLE = "the result looks like JSON but cannot be read"
_MAX_LITERAL = 4 << 20
_MAX_WRAPPINGS = 6
_MAX_ATTEMPTS = 32
_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})
_SOURCED = frozenset({"citations", "url", "link"})
_CUT_NOTICE = re.compile(
    r"[\[(<…]\W*(?:\w+ ){0,4}(?:truncated|cut off|omitted)\b[^\n]{0,120}$|^\W*(?:output|response|results?) "
    r"(?:was |were |is )?truncated\b[^\n]{0,120}$",
    re.IGNORECASE | re.MULTILINE,
)
_OPENING = re.compile(r"[{\[]")
# How documents begin and prose does not: no footnote's "[1]", no link's "[title]", no placeholder's "{name}".
_DOCUMENT = re.compile(
    r"""(?:\[\s*+)*+\{\s*+(?:["']|\w++\s*+:(?!//)|$)|(?:\[\s*+)++(?:"|$)|(?:[\[{]\s*+){4}""", re.ASCII
)
# The line of such a label describes a result; it is not the result.
_QUOTING = re.compile(
    r"^\W{0,8}(?:content|text|description|summary|snippet|highlights|abstract)\W{0,3}:\s?$(?<!\n)",
    re.IGNORECASE | re.MULTILINE,
)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[^\\'\"abfnrtvxuUN0-7\n]|[4-7][0-7]{2})")
_LITERAL_NAMES = re.compile(r"\b(?:None|True|False)\b")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a tool result holds.

    `values` are the JSON documents found, in order; `prose` is the text that is not one. `truncated` says that
    a document was cut off and only its complete part is here; `problem` why text that looks like a document
    could not be read at all.
    """

    values: tuple[Any, ...] = ()
    prose: str = ""
    truncated: bool = False
    problem: str | None = None


def decode_bytes(data: bytes) -> str:
    """Text of a file: UTF-8, or UTF-16 when its mark says so; bytes that are neither become U+FFFD."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            pass
    return data.decode("utf-8-sig", "replace")


def decode_text(text: str, wrappings: int = 0) -> Decoded:
    """Decode one text: JSON, JSON inside JSON, a Python literal, documents within prose, or a cut-off document."""
    if len(text) > MAX_TEXT or takes_too_much_memory(text):
        return Decoded(problem=f"the result is too large to read: {len(text):,} characters")
    body = text.strip("\ufeff \t\r\n\x00")
    if not body:
        return Decoded()
    try:
        if body[0] in '{["':
            try:
                return _unwrap(_strict(body), wrappings)
            except ValueError:
                pass
        return _decode_loosely(body, wrappings)
    except RecursionError:
        return Decoded(problem="the result is nested too deeply to read")


def _strict(body: str) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeEncodeError):
        value, end = _LENIENT.raw_decode(body)
        if body[end:].strip():
            raise ValueError("text follows the document") from None
        return value


def _unwrap(value: Any, wrappings: int) -> Decoded:
    """Open the envelopes that transports put around a result: a JSON string, `{"result": "..."}`, content blocks."""
    if wrappings >= _MAX_WRAPPINGS:
        return Decoded(values=(value,))
    match value:
        case str():
            inner = decode_text(value, wrappings + 1)
            return inner if inner.values or inner.problem else Decoded(prose=value)
        case {"result": str() as text} if len(value) <= 2:
            inner = decode_text(text, wrappings + 1)
            opened = inner.values or inner.problem
            return inner if opened else Decoded(values=(value,), prose=inner.prose or text)
        case [{"type": "text" | "resource"}, *_] if _are_blocks(value):
            return decode_texts([part for block in value if (part := _text_of(block))], wrappings + 1)
        case {"content": [{"type": "text" | "resource"}, *_] as blocks} if _are_blocks(blocks):
            return _unwrap(value.get("structuredContent") or blocks, wrappings + 1)
        case dict() | list():
            return Decoded(values=(value,))
        case _:
            return Decoded(prose=str(value))


def _are_blocks(blocks: list[Any]) -> bool:
    """Whether all of a list are blocks of a tool's result; a model's message also has blocks with sources."""
    return all(
        isinstance(block, dict) and block.get("type") in _BLOCKS and block.keys().isdisjoint(_SOURCED)
        for block in blocks
    ) and any(_text_of(block) for block in blocks)


def _text_of(block: Mapping[str, Any]) -> str | None:
    if isinstance(resource := block.get("resource"), dict):
        block = resource
    text = block.get("text")
    return text if isinstance(text, str) else None


def decode_texts(texts: Sequence[str], wrappings: int = 0) -> Decoded:
    """Decode several text blocks as one result; a document spread over the blocks is read as a whole.

    The blocks were found `wrappings` envelopes deep.
    """
    if len(texts) == 1:
        return decode_text(texts[0], wrappings)
    parts = [decode_text(text, wrappings) for text in texts]
    if any(part.truncated or part.problem for part in parts):
        whole = decode_text("".join(texts), wrappings)
        if (whole.values or whole.prose) and not whole.truncated and not whole.problem:
            return whole
    return Decoded(
        values=tuple(value for part in parts for value in part.values),
        prose="\n".join(part.prose for part in parts if part.prose),
        truncated=any(part.truncated for part in parts),
        problem=next((part.problem for part in parts if part.problem), None),
    )


def _decode_loosely(body: str, wrappings: int) -> Decoded:
    if (literal := _literal(body)) is not None:
        return _unwrap(literal, wrappings)
    if (quoted := _quoted(body)) is not None:
        return replace(decode_text(quoted, wrappings + 1), truncated=True)
    values, prose, rest = _embedded(body)
    truncated = False
    problem: str | None = None
    if rest is not None:
        cut = _salvage(body[rest:])
        if cut is not None:
            inner = _unwrap(cut, wrappings)
            values += inner.values
            truncated = True
        elif not values and rest == 0:
            problem = _UNREADABLE
    elif not values and _begins_as_document(body):
        problem = _UNREADABLE
    opened = [_unwrap(value, wrappings) for value in values] if wrappings < _MAX_WRAPPINGS else []
    return Decoded(
        values=tuple(inner for part in opened for inner in part.values) or tuple(values),
        prose=prose if not problem else body,
        truncated=truncated or any(part.truncated for part in opened) or _ends_in_cut_notice(prose),
        problem=problem,
    )


def _quoted(body: str) -> str | None:
    """What is left of a document that was written as a JSON string and cut off before its closing quote, or None."""
    if body[0] != '"' or body[1:2] not in ("{", "[") or _STRING.match(body) is not None:
        return None
    for end in range(len(body), max(1, len(body) - len(r"\u0000")), -1):
        try:
            text = _LENIENT.decode(f'{body[:end]}"')
        except ValueError:
            continue
        return text if isinstance(text, str) else None
    return None


def _ends_in_cut_notice(prose: str) -> bool:
    """Whether the end of a text is the notice of whoever cut it."""
    return _CUT_NOTICE.search(prose[-200:].rstrip().rpartition("\n")[2]) is not None


def _literal(body: str) -> Any | None:
    """Read a Python literal (`str()` of a dict or list), or None when `body` is not one."""
    if body[0] not in "{[(" or len(body) > _MAX_LITERAL:
        return None
    if "'" not in body and not _LITERAL_NAMES.search(body):
        return None
    if _BAD_ESCAPE.search(body):
        return None
    try:
        value = ast.literal_eval(body)
    except (ValueError, SyntaxError, MemoryError, TypeError):
        return None
    return _as_json(value)


def _as_json(value: Any) -> Any:
    """Tuples and sets as lists, keys as text: what JSON would have made of a Python literal."""
    match value:
        case dict():
            return {str(key): _as_json(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_as_json(item) for item in value]
        case bytes():
            return decode_bytes(value)
        case complex():
            return str(value)
        case _:
            return value


def _embedded(body: str) -> tuple[list[Any], str, int | None]:
    """Find documents within text; returns them, the text around them, and where a cut-off document begins."""
    values: list[Any] = []
    prose: list[str] = []
    cut: int | None = None
    start = position = failures = 0
    address = body.find("://")
    while failures < _MAX_ATTEMPTS:
        found = _OPENING.search(body, position)
        if found is None:
            break
        if 0 <= address < found.start() and _QUOTING.search(body, max(0, found.start() - 40), found.start()):
            position = body.find("\n", found.start())
            if position < 0:
                break
            continue
        try:
            value, end = _LENIENT.raw_decode(body, found.start())
        except json.JSONDecodeError as error:
            if cut is None and _reads_as_document(body, found.start(), error):
                cut = found.start()
                break
            position, failures = found.end(), failures + 1
            continue
        except ValueError:
            position, failures = found.end(), failures + 1
            continue
        if not _is_document(value):
            position, failures = end, failures + 1
            continue
        prose.append(body[start : found.start()])
        values.append(value)
        start = position = end
    prose.append(body[start : len(body) if cut is None else cut])
    return values, "\n".join(part.strip() for part in prose if part.strip()), cut


def _is_document(value: Any) -> bool:
    return bool(value) and (
        isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value[:2]))
    )


def _reads_as_document(body: str, start: int, error: json.JSONDecodeError) -> bool:
    """Whether the text from `start` began well and only then broke, rather than being prose with a bracket in it."""
    opening = body[start : start + 40].replace(" ", "").replace("\n", "").replace("\r", "").replace("\t", "")
    if opening.startswith(('{"', '[{"', "[[", '["')):
        return error.pos - start > 2
    return opening.startswith(("{'", "[{'")) or opening in ("{", "[", "[{")


def _begins_as_document(body: str) -> bool:
    """Whether a text without any document in it was to be one, rather than prose that begins with a bracket."""
    if _DOCUMENT.match(body) is None:
        return False
    try:
        _LENIENT.raw_decode(body)
    except json.JSONDecodeError:
        return True
    return False


def _salvage(text: str) -> Any | None:
    try:
        _LENIENT.raw_decode(text)
    except json.JSONDecodeError as error:
        unfinished = error.msg.startswith(("Unterminated", "Invalid \\"))
        python = text[:40].lstrip("[{ \n\r\t").startswith("'")
        end = len(text) if unfinished or python else error.pos
    except ValueError:
        return None
    else:
        end = len(text)
    repaired = repair(text, end=end)
    if repaired is None:
        return None
    try:
        return _LENIENT.raw_decode(repaired)[0]
    except ValueError:
        return _literal(repaired)


def _whole_number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _finite(text: str) -> float | str:
    number = float(text)
    return number if number - number == 0 else text


_LENIENT = json.JSONDecoder(
    strict=False,
    parse_constant=lambda name: None,
    parse_float=_finite,
    parse_int=_whole_number,
)
