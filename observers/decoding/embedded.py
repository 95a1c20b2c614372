"""Finds the JSON documents and Python literals within a text, complete or cut off."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from ua_tui.observers.decoding.lenient import JSON, read_literal
from ua_tui.observers.decoding.truncated_json import repair

_MAX_FAILURES = 32
_MAX_CUT = 1_000
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

    values: list[Any] = msgspec.field(default_factory=list)
    prose: str = ""
    truncated: bool = False
    unreadable: bool = False


def find_documents(body: str) -> Documents:
    """Find every document in a text. One that was cut off ends at the mark of the cut, if there is one."""
    found = Documents()
    prose: list[str] = []
    start = position = failures = cuts = 0
    address = body.find("://")
    while failures < _MAX_FAILURES and cuts < _MAX_CUT:
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
            if not _is_document(value):
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


def _salvage(body: str, start: int, error: json.JSONDecodeError) -> tuple[Any | None, int, bool]:
    """What is left of a document that cannot be read on: the value, where it ends, and whether it is complete."""
    end = _end_of_document(body, start, error)
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


def _end_of_document(body: str, start: int, error: json.JSONDecodeError) -> int:
    """Where a document that cannot be read on ends: at the mark of a cut, or where other text begins."""
    is_python = body[start : start + 40].lstrip("[{ \n\r\t").startswith("'")
    goes_on = is_python or error.msg.startswith(("Unterminated", "Invalid \\"))
    end = len(body) if goes_on else error.pos
    mark = None if is_python else _CUT_MARK.search(body, start, end)
    return mark.start() if mark else end
