"""A paste is text, and so is what follows Esc: no control character of it reaches what looks for keys."""

from __future__ import annotations

import pytest
from textual import events
from textual.drivers import linux_driver

from ua_tui.tui.terminal.driver import PasteGuard, guard_pastes

START, END = "\x1b[200~", "\x1b[201~"
EVIL = "one\x1b]0;x\x07 two\x1bOP\tthree\r\nfour\x9b31m\x03"
CLEAN = "one]0;x twoOP\tthree\r\nfour31m"


def test_wherever_the_pieces_are_cut() -> None:
    whole = f"k\x1b{START}{EVIL}{END}\x1b[A{START}\x1b[200~{END}\x1b"
    expected = PasteGuard()(whole)
    assert expected == f"k\x1b{START}{CLEAN}{END}\x1b[A{START}[200~{END}\x1b"
    for first in range(len(whole)):
        for second in range(first, len(whole)):
            guard = PasteGuard()
            pieces = (whole[:first], whole[first:second], whole[second:])
            assert "".join(guard(piece) for piece in pieces) == expected


def test_keys_never_wait_and_what_is_no_end_of_a_paste_is_given_back() -> None:
    for key in ("\x1b", "\x1b[", "\x1b[20", "x"):
        assert PasteGuard()(key) == key
    guard = PasteGuard()
    assert guard(f"{START}x\x1b[20") + guard("7~y") + guard(END) == f"{START}x[207~y{END}"


@pytest.mark.parametrize(
    ("pieces", "keys"),
    [
        (["\x1bthe newest of all prices of chips in the world"], ["escape", *"the"]),
        (["\x1bPlease"], ["escape", *"Ple"]),
        (["\x1b", "be"], ["escape", *"be"]),
        (["\x1b", "b", "e"], ["escape", *"be"]),
        (["\x1b", "[A", "be"], ["up", *"be"]),
        (["\x1bb\x1bb", "e"], ["ctrl+left", "ctrl+left", "e"]),
        (["\x1b\x1bbe"], ["escape", "escape", *"be"]),
        (["\x1bOP"], ["f1"]),
    ],
)
def test_text_behind_esc_is_text(pieces: list[str], keys: list[str]) -> None:
    guard_pastes()
    parser = linux_driver.XTermParser()  # type: ignore[attr-defined]
    seen = [message for piece in pieces for message in parser.feed(piece)]
    assert [message.key for message in seen if isinstance(message, events.Key)][: len(keys)] == keys


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
