"""A paste is text: no control character of it reaches what looks for keys, wherever its bytes are cut."""

from __future__ import annotations

import pytest
from textual import events
from textual.drivers import linux_driver

from tui.terminal.paste import PasteGuard, guard_pastes

START, END = "\x1b[200~", "\x1b[201~"
EVIL = "one\x1b]0;x\x07 two\x1bOP\tthree\r\nfour\x9b31m\x03"
CLEAN = "one]0;x twoOP\tthree\r\nfour31m"


def test_controls_go_and_the_lines_stay() -> None:
    assert PasteGuard()(f"a{START}{EVIL}{END}\x1bOP") == f"a{START}{CLEAN}{END}\x1bOP"


def test_wherever_the_pieces_are_cut() -> None:
    whole = f"k\x1b{START}{EVIL}{END}\x1b[A{START}\x1b[200~{END}\x1b"
    expected = PasteGuard()(whole)
    assert expected == f"k\x1b{START}{CLEAN}{END}\x1b[A{START}[200~{END}\x1b"
    for first in range(len(whole)):
        for second in range(first, len(whole)):
            guard = PasteGuard()
            pieces = (whole[:first], whole[first:second], whole[second:])
            assert "".join(guard(piece) for piece in pieces) == expected


@pytest.mark.parametrize("key", ["\x1b", "\x1b[", "\x1b[20", "x"])
def test_keys_never_wait(key: str) -> None:
    assert PasteGuard()(key) == key


def test_what_looks_like_the_end_is_given_back_when_it_is_none() -> None:
    guard = PasteGuard()
    assert guard(f"{START}x\x1b[20") + guard("7~y") + guard(END) == f"{START}x[207~y{END}"


def test_the_terminal_is_read_with_it() -> None:
    guard_pastes()
    parser = linux_driver.XTermParser()  # type: ignore[attr-defined]
    seen = [message for cut in (f"{START}a\x1bO", "Pb\x1b[20", "1~\x1bOP") for message in parser.feed(cut)]
    assert [type(message) for message in seen] == [events.Paste, events.Key]
    pasted, pressed = seen
    assert isinstance(pasted, events.Paste)
    assert pasted.text == "aOPb"
    assert isinstance(pressed, events.Key)
    assert pressed.key == "f1"
