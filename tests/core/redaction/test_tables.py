"""Secrets in every syntax and ordinary texts: what must not be left, and what must stay."""

from __future__ import annotations

import json

import pytest

from tests.core.redaction.tables import INNOCENT, TABLES, Planted, halves, ordinary_files, planted
from ua_tui.core.redaction.redactor import Redactor, StreamRedactor
from ua_tui.core.redaction.values import names_given_secret

HALVES = halves(planted())
PIECE = 5


def left_in(text: str, secrets: tuple[str, ...]) -> list[str]:
    """The secrets of which the text has five characters or more."""
    return [
        each
        for each in secrets
        if any(each[at : at + PIECE] in text for at in range(max(len(each) - PIECE + 1, 1)))
    ]


def in_pieces(text: str) -> str:
    stream = StreamRedactor(Redactor())
    return "".join([stream.feed(text[at : at + PIECE]) for at in range(0, len(text), PIECE)]) + stream.end()


@pytest.mark.parametrize("rows", HALVES, ids=["first half", "second half"])
def test_of_a_planted_secret_nothing_is_left(rows: list[Planted]) -> None:
    redactor = Redactor()
    left: list[tuple[str, str]] = []
    for text, secrets in rows:
        event = json.dumps({"text": f"It says:\n{text}\nand more"}, ensure_ascii=False)
        shown = {
            "text": redactor.redact(text),
            "JSON": redactor.redact(event),
            "value": redactor.redact_value({"text": text})["text"],
            "pieces": in_pieces(f"It says:\n{text}\nand more.\n"),
        }
        left += [(where, text) for where, each in shown.items() if left_in(each, secrets)]
        json.loads(shown["JSON"])
        if redactor.finds_nothing(event.encode()):
            left.append(("finds_nothing", text))
    assert left == []


def test_a_line_without_a_secret_stays_as_it_is() -> None:
    redactor = Redactor()
    changed = [
        line
        for line in INNOCENT
        if redactor.redact(line) != line
        or in_pieces(line) != line
        or redactor.redact(encoded := json.dumps({"text": f"a\n{line}\nb"})) != encoded
    ]
    assert len(INNOCENT) > 400
    assert changed == []
    assert redactor.redact("\n".join(INNOCENT)) == "\n".join(INNOCENT)


def test_in_the_files_of_ordinary_packages_nothing_is_masked() -> None:
    redactor = Redactor()
    lines = 0
    for name, text in ordinary_files():
        lines += text.count("\n")
        shown = redactor.redact(text)
        changed = [
            pair for pair in zip(text.splitlines(), shown.splitlines(), strict=False) if len(set(pair)) > 1
        ]
        assert (name, changed) == (name, [])
    assert lines > 10_000


def test_a_variable_is_secret_if_its_name_says_so() -> None:
    assert [each for each in TABLES["variables"].split() if not names_given_secret(each)] == []
    assert [each for each in TABLES["plain_variables"].split() if names_given_secret(each)] == []
