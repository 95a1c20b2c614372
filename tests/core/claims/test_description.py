from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from ua_tui.core.claims.description import ClaimDescription, TextPart, describe_claim
from ua_tui.core.claims.ledger import Decision, ListedClaim
from ua_tui.core.claims.records import Passage, Source, State, TextQuote


def shown(pieces: Sequence[TextPart]) -> str:
    return "".join(f"[{piece.text}]" if piece.is_marked else piece.text for piece in pieces)


def described(text: str, claim: ListedClaim, quote: TextQuote) -> ClaimDescription:
    passage = Passage(source=0, text=text, quote=quote)
    return describe_claim(msgspec.structs.replace(claim, passages=(passage,)), [Source(kind="article")])


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
    claim = ListedClaim(kind="figure", state="found", quote=TextQuote(exact, prefix), sentence=text)
    told = described(text, claim, claim.quote)
    assert shown(told.said) == shown(told.passages[0].pieces) == expected


@pytest.mark.parametrize(("state", "sentence", "passage"), [
    ("differs", "“Cats [in] smile[ a lot].”", "Cats [always] smile."),
    ("found", "“[Cats in smile a lot.]”", "[Cats always smile.]"),
])  # fmt: skip
def test_of_an_altered_quotation_only_what_differs_is_marked(
    state: State, sentence: str, passage: str
) -> None:
    instead = "Cats always smile."
    claim = ListedClaim(
        kind="quotation", state=state, quote=TextQuote("Cats in smile a lot."), instead=instead,
        sentence="“Cats in smile a lot.”",
    )  # fmt: skip
    told = described(instead, claim, TextQuote(instead))
    assert shown(told.said) == sentence
    assert shown(told.passages[0].pieces) == passage


def test_a_claim_is_described_with_what_the_source_has_and_who_decided() -> None:
    at = datetime(2035, 5, 6, 7, 8, tzinfo=UTC)
    quote = TextQuote("23 percent")
    claim = ListedClaim(
        kind="figure", state="differs", quote=quote, instead="9 percent", formula="14 − 5 = 9",
        passages=(Passage(source=0, text="It was 9 percent.", quote=TextQuote("9 percent"), headers="Share"),),
        decision=Decision(quote=quote, sentence="", state="differs", at=at, by="Kim", answer="rejected", note="No."),
    )  # fmt: skip
    source = Source(kind="run", title="A run", published="2034-01-02T03:04", read_at=at)
    told = describe_claim(claim, [source])
    assert told.why == "The source says 9 percent. 14 − 5 = 9"
    assert told.judged == ["Rejected by Kim, 2035-05-06 07:08 UTC: No."]
    (passage,) = told.passages
    assert (passage.text, passage.headers, passage.title) == ("It was 9 percent.", "Share", "A run")
    assert passage.facts == ["workbench run", "published 2034-01-02", "made 2035-05-06 07:08 UTC"]
