"""Notifications are one short sentence: at every place where the program's own texts become one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.paths import PROJECT
from ua_tui.tui.render.format import first_sentence

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


def notifications(path: Path, calls: Callable[[str], bool] = CALLS.__contains__) -> Iterator[tuple[str, str]]:
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
                if calls(name):
                    for text in texts(node.args[0], named):
                        yield f"{path.relative_to(PROJECT)}:{node.lineno}", text


def test_every_notification_is_one_short_sentence() -> None:
    found = [each for path in sorted((PROJECT / "tui").rglob("*.py")) for each in notifications(path)]
    assert len(found) > 50
    assert [each for each in found if SECOND.search(each[1]) or len(each[1]) > MOST] == []


@pytest.mark.slow
def test_the_first_sentence_of_every_error_is_short() -> None:
    def is_error(name: str) -> bool:
        return name.endswith(("Error", "Refused", "Unviewable", "Unavailable", "Gone"))

    paths = [*(PROJECT / "core").rglob("*.py"), *(PROJECT / "tui").rglob("*.py")]
    found = [each for path in sorted(paths) for each in notifications(path, is_error)]
    assert len([text for _, text in found if SECOND.search(text)]) > 20
    shown = [(place, first_sentence(text)) for place, text in found]
    assert [each for each in shown if SECOND.search(each[1]) or len(each[1]) > 2 * MOST] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot delete 'My. Notes; 2.txt': Permission denied; check its permissions",
         "cannot delete 'My. Notes; 2.txt': Permission denied."),
        ("the folder's name is 2.5 times too long. Rename it", "the folder's name is 2.5 times too long."),
        ("The editor exited with code 1. The text is unchanged.", "The editor exited with code 1."),
        ("“Is it? Yes.” is no name", "“Is it? Yes.” is no name"),
        ("Not found:\n[b]x", "Not found: [b]x"),
        ("such as `a; b`, e.g. this", "such as `a; b`, e.g. this"),
        ("", ""),
        ("; odd", "; odd"),
    ],
)  # fmt: skip
def test_a_sentence_ends_with_a_full_stop_or_a_semicolon(text: str, shown: str) -> None:
    assert first_sentence(text) == shown
