"""Notifications are one short sentence: at every place where the program's own texts become one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.paths import PROJECT

MOST = 80
CALLS = {"notify", "warn", "_report", "_notify_unopened", "NoProgram", "NoDesktop"}
"""What shows a notification, and errors that are shown as one."""
# Stands for a value, such as the name of a file.
VALUE = "Xxxxxxxx"
SECOND = re.compile(r"[.!?;] +\S")


def texts(node: ast.expr, named: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Every text that an expression may be, as far as it is written there or assigned in the same function."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            parts = (part.value if isinstance(part, ast.Constant) else VALUE for part in values)
            yield "".join(str(part) for part in parts)
        case ast.IfExp(body=body, orelse=orelse):
            yield from texts(body, named)
            yield from texts(orelse, named)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (one + other for one in texts(left, named) for other in texts(right, named))
        case ast.Name(id=name):
            for value in named.get(name, ()):
                yield from texts(value, {})
        case _:
            return


def notifications(path: Path) -> Iterator[tuple[str, str]]:
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        named: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named.setdefault(node.targets[0].id, []).append(node.value)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and node.args:
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                if name in CALLS:
                    for text in texts(node.args[0], named):
                        yield f"{path.relative_to(PROJECT)}:{node.lineno}", text


def test_every_notification_is_one_short_sentence() -> None:
    found = [each for path in sorted((PROJECT / "tui").rglob("*.py")) for each in notifications(path)]
    assert len(found) > 50
    assert [each for each in found if SECOND.search(each[1]) or len(each[1]) > MOST] == []
