"""Reads JSON that is not strict, and Python literals: what `str()` and `repr()` make of lists and objects."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
"""A string of JSON in double quotes."""

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
    """Read a Python literal as JSON would have it, or None if `body` is not one."""
    if body[0] not in "{[(" or len(body) > (4 << 20):
        return None
    if not _PYTHON_ONLY.search(body) or _BAD_ESCAPE.search(body):
        return None
    try:
        text = json.dumps(
            ast.literal_eval(_Calls().visit(ast.parse(body, mode="eval"))),
            default=lambda value: sorted(map(str, value)) if isinstance(value, set) else str(value),
        )
    except (ValueError, SyntaxError, MemoryError, TypeError, RecursionError):
        return None
    return JSON.decode(text)


class _Calls(ast.NodeTransformer):
    """Replaces an object that is written as a call, such as `Document(page_content='…')`, by its fields."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Make a dictionary of the keywords of a call without other arguments."""
        if node.args or not all(each.arg for each in node.keywords):
            return node
        values = [self.visit(each.value) for each in node.keywords]
        return ast.Dict([ast.Constant(each.arg) for each in node.keywords], values)


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
