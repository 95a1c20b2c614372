"""Decodes the text of a tool result to values, whatever their wrapping."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.events.codec import takes_too_much_memory
from ua_tui.core.json_values import JsonMapping
from ua_tui.observers.decoding.lenient import JSON, STRING, read_literal
from ua_tui.observers.decoding.truncated_json import repair, without_half_escape

_OPENING = re.compile(r"[{\[]")
# The line of such a label describes a result; it is not the result.
_QUOTING = re.compile(
    r"^\W{0,8}(?:content|text|description|summary|snippet|highlights|abstract)\W{0,3}:\s?$(?<!\n)",
    re.IGNORECASE | re.MULTILINE,
)
# What a cut leaves at the end of a line; a line break within a string would else be written as an escape.
_CUT_MARK = re.compile(r"(?:\.\.\.|…)(?:[ \[(][^\"\n]{0,40})?+(?=\r?\n)")


class Documents(msgspec.Struct):
    """The documents of a text in order, and the text around them.

    `truncated` says that one was cut off and only its complete part is here; `unreadable` that the text begins
    with one of which nothing can be read.
    """

    values: list[Any] = []
    prose: str = ""
    truncated: bool = False
    unreadable: bool = False


def find_documents(body: str) -> Documents:
    """Find every document in a text. One that was cut off ends at the mark of the cut, if there is one."""
    found = Documents()
    prose: list[str] = []
    start = position = failures = cuts = 0
    address = body.find("://")
    while failures < 32 and cuts < 1_000:
        opening = _OPENING.search(body, position)
        if opening is None:
            break
        first = opening.start()
        if 0 <= address < first and _QUOTING.search(body, max(0, first - 40), first):
            position = body.find("\n", first)
            if position < 0:
                break
            continue
        try:
            value, end = JSON.raw_decode(body, first)
        except json.JSONDecodeError as error:
            if not _reads_as_document(body, first, error):
                position, failures = opening.end(), failures + 1
                continue
            value, end, is_whole = _salvage(body, first, error)
            if value is None:
                found.unreadable = found.unreadable or first == 0
                failures += 1
            else:
                found.truncated = found.truncated or not is_whole
                cuts += 1
        else:
            is_list = isinstance(value, list) and any(isinstance(item, dict | list) for item in value[:2])
            if not value or not (is_list or isinstance(value, dict)):
                position, failures = end, failures + 1
                continue
        position = end
        if value is not None:
            prose.append(body[start:first])
            found.values.append(value)
            start = end
    prose.append(body[start:])
    found.prose = "\n".join(part.strip() for part in prose if part.strip())
    return found


def _reads_as_document(body: str, start: int, error: json.JSONDecodeError) -> bool:
    """Whether the text from `start` began well and only then broke, rather than being prose with a bracket in it."""
    opening = body[start : start + 40].replace(" ", "").replace("\n", "").replace("\r", "").replace("\t", "")
    if opening.startswith(('{"', '[{"', "[[", '["')):
        return error.pos - start > 2
    return opening.startswith(("{'", "[{'")) or opening in ("{", "[", "[{")


def _salvage(body: str, start: int, error: json.JSONDecodeError) -> tuple[Any | None, int, bool]:
    """What is left of a document that cannot be read on: the value, where it ends, and whether it is complete."""
    is_python = body[start : start + 40].lstrip("[{ \n\r\t").startswith("'")
    goes_on = is_python or error.msg.startswith(("Unterminated", "Invalid \\"))
    end = len(body) if goes_on else error.pos
    if not is_python and (mark := _CUT_MARK.search(body, start, end)):
        end = mark.start()
    text = body[start:end]
    repaired = repair(text)
    if repaired is None:
        return None, end, False
    if is_whole := text.startswith(repaired):
        end = start + len(repaired)
    elif mark := _CUT_MARK.match(body, end):
        end = mark.end()
    try:
        return JSON.raw_decode(repaired)[0], end, is_whole
    except ValueError:
        return read_literal(repaired), end, is_whole


MAX_TEXT = 64 << 20
"""Longest text that is parsed, in characters."""

MAX_DEPTH = 64
"""Deepest nesting that anything downstream walks into."""

_UNREADABLE = "the result looks like JSON but cannot be read"
_MAX_WRAPPINGS = 6
_DOCUMENTS = ('{"', "{'", "[{")
"""How documents begin and prose does not: no footnote's "[1]", no link's "[title]", no placeholder's "{name}"."""
_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})
_SOURCED = frozenset({"citations", "url", "link"})
_CUT_NOTICE = re.compile(
    r"[\[(<…]\W*(?:\w+ ){0,4}(?:truncated|cut off|omitted)\b[^\n]{0,120}$|^\W*(?:output|response|results?) "
    r"(?:was |were |is )?truncated\b[^\n]{0,120}$",
    re.IGNORECASE | re.MULTILINE,
)


class Decoded(msgspec.Struct, frozen=True):
    """What a tool result holds.

    `values` are the JSON documents found, in order; `prose` is the text that is not one. `truncated` says that
    a document was cut off and only its complete part is here; `problem` why text that looks like a document
    could not be read at all.
    """

    values: tuple[Any, ...] = ()
    prose: str = ""
    truncated: bool = False
    problem: str | None = None


def decode_text(text: str, wrappings: int = 0) -> Decoded:
    """Decode one text: JSON, JSON inside JSON, a Python literal, documents within prose, or a cut-off document."""
    if len(text) > MAX_TEXT or takes_too_much_memory(text):
        return Decoded(problem=f"the result is too large to read: {len(text):,} characters")
    body = text.strip("\ufeff \t\r\n\x00")
    if not body:
        return Decoded()
    try:
        if body[0] in '{["':
            with suppress(ValueError):
                try:
                    value = msgspec.json.decode(body)
                except (msgspec.DecodeError, UnicodeEncodeError):
                    value = JSON.decode(body)
                return _unwrap(value, wrappings)
        return _decode_loosely(body, wrappings)
    except RecursionError:
        return Decoded(problem="the result is nested too deeply to read")


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


def _text_of(block: JsonMapping) -> str | None:
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
    if (literal := read_literal(body)) is not None:
        return _unwrap(literal, wrappings)
    if (quoted := _quoted(body)) is not None:
        return replace(decode_text(quoted, wrappings + 1), truncated=True)
    found = find_documents(body)
    problem = None
    if not found.values and (found.unreadable or body.startswith(_DOCUMENTS)):
        problem = _UNREADABLE
    opened = [_unwrap(value, wrappings) for value in found.values] if wrappings < _MAX_WRAPPINGS else []
    return Decoded(
        values=tuple(inner for part in opened for inner in part.values) or tuple(found.values),
        prose=body if problem else found.prose,
        truncated=found.truncated
        or any(part.truncated for part in opened)
        or _CUT_NOTICE.search(found.prose[-200:].rstrip().rpartition("\n")[2]) is not None,
        problem=problem,
    )


def _quoted(body: str) -> str | None:
    """What is left of a document that was written as a JSON string and cut off before its closing quote, or None."""
    if body[0] != '"' or body[1:2] not in ("{", "[") or STRING.match(body) is not None:
        return None
    with suppress(ValueError):
        return str(JSON.decode(f'{without_half_escape(body)}"'))
    return None
