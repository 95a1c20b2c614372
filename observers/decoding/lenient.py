"""Reads JSON that is not strict, and Python literals: what `str()` and `repr()` make of lists and objects."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
"""A string of JSON in double quotes."""

_MAX_LITERAL = 4 << 20
_BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[^\\'\"abfnrtvxuUN0-7\n]|[4-7][0-7]{2})")
_PYTHON_ONLY = re.compile(r"'|\b(?:None|True|False)\b")


def decode_bytes(data: bytes) -> str:
    """Text of a file: UTF-8, or UTF-16 when its mark says so; bytes that are neither become U+FFFD."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            pass
    return data.decode("utf-8-sig", "replace")


def read_literal(body: str) -> Any | None:
    """Read a Python literal, or None if `body` is not one; `Name(field=value)` is read as an object."""
    if body[0] not in "{[(" or len(body) > _MAX_LITERAL:
        return None
    if not _PYTHON_ONLY.search(body) or _BAD_ESCAPE.search(body):
        return None
    try:
        value = ast.literal_eval(_Objects().visit(ast.parse(body, mode="eval")))
    except (ValueError, SyntaxError, MemoryError, TypeError):
        return None
    return _as_json(value)


class _Objects(ast.NodeTransformer):
    """Replaces calls such as `Result(title='A')`, the `repr()` of objects, by their fields."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The fields of an object; an argument without a name is left out."""
        self.generic_visit(node)
        named = [keyword for keyword in node.keywords if keyword.arg is not None]
        keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in named]
        return ast.Dict(keys=keys, values=[keyword.value for keyword in named])


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


def _whole_number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _finite(text: str) -> float | str:
    number = float(text)
    return number if number - number == 0 else text


JSON = json.JSONDecoder(
    strict=False,
    parse_constant=lambda name: None,
    parse_float=_finite,
    parse_int=_whole_number,
)
"""Accepts line breaks in strings, and reads numbers that JSON does not have as null or text."""
