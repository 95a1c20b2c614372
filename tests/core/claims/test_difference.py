from __future__ import annotations

import pytest

from ua_tui.core.claims.difference import Piece, passage_pieces, sentence_pieces
from ua_tui.core.claims.records import Claim, Passage, State, TextQuote


def shown(pieces: list[Piece]) -> str:
    return "".join(f"[{piece.text}]" if piece.is_marked else piece.text for piece in pieces)


@pytest.mark.parametrize(("exact", "prefix", "text", "expected"), [
    ("41 %", "", "It is 41 % now.", "It is [41 %] now."),
    ("5", "and ", "5 of 6 and 5 of 7", "5 of 6 and [5] of 7"),
    ("7", "", "It is 41 % now.", "It is 41 % now."),
    ("", "", "a\nb\x1b[31m", "a b\ufffd[31m"),
    ("41", "", f"{'ab ' * 200}41{' cd' * 200}", f"…{'ab ' * 67}[41]{' cd' * 67}…"),
])  # fmt: skip
def test_the_words_that_matter_are_marked_in_what_is_near(
    exact: str, prefix: str, text: str, expected: str
) -> None:
    claim = Claim(kind="figure", state="found", quote=TextQuote(exact, prefix), sentence=text)
    passage = Passage(source=0, text=text, quote=claim.quote)
    assert shown(sentence_pieces(claim)) == shown(passage_pieces(claim, passage)) == expected


@pytest.mark.parametrize(("state", "sentence", "passage"), [
    ("differs", "“Cats [in] smile[ a lot].”", "Cats [always] smile."),
    ("found", "“[Cats in smile a lot.]”", "[Cats always smile.]"),
])  # fmt: skip
def test_of_an_altered_quotation_only_what_differs_is_marked(
    state: State, sentence: str, passage: str
) -> None:
    instead = "Cats always smile."
    claim = Claim(
        kind="quotation", state=state, quote=TextQuote("Cats in smile a lot."), instead=instead,
        sentence="“Cats in smile a lot.”",
    )  # fmt: skip
    assert shown(sentence_pieces(claim)) == sentence
    assert shown(passage_pieces(claim, Passage(source=0, text=instead, quote=TextQuote(instead)))) == passage
