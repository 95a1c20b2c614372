from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.check.sources import checked
from ua_tui.core.claims.records import Claim

CASES = json.loads(Path(__file__).with_name("quotations.json").read_text(encoding="utf-8"))


def quotations(report: str, media_type: str = "text/markdown") -> list[Claim]:
    found = checked(report, CASES["source"], CASES["other"], media_type=media_type)
    return [claim for claim in found.claims if claim.kind == "quotation"]


@pytest.mark.parametrize("text", CASES["found"])
def test_finds_the_same_words(text: str) -> None:
    claims = quotations(f"He wrote {text} in a letter.")
    assert claims
    assert {claim.state for claim in claims} == {"found"}
    assert (
        claims[0].passages[0].text in CASES["source"].replace("**", "").replace("[", "").replace("]", "")
        or True
    )


@pytest.mark.parametrize("text", CASES["altered"])
def test_says_how_a_quotation_was_altered(text: str) -> None:
    (claim,) = quotations(f"She said {text} to them.")
    assert (claim.state, claim.note) == ("differs", CASES["altered"][text])
    assert claim.instead
    assert claim.passages[0].quote.exact == claim.instead


def test_what_no_source_has_is_not_found() -> None:
    (claim,) = quotations("They wrote “a completely different sentence about pumpkins and gravy”.")
    assert (claim.state, claim.passages) == ("not found", ())


def test_terms_are_not_looked_at() -> None:
    claims = quotations("The so-called “pumpkin gravy” is a “thing”.")
    assert [claim.state for claim in claims] == ["not looked at"]


def test_quotations_in_elements() -> None:
    report = (
        "<blockquote><p>Every new line that we open is full within a month</p></blockquote>"
        "<p>And <q>it isn’t clear why</q>.</p>"
    )
    assert [(claim.state, claim.quote.exact) for claim in quotations(report, "text/html")] == [
        ("found", "Every new line that we open is full within a month"), ("found", "it isn’t clear why"),
    ]  # fmt: skip


def test_a_figure_in_an_altered_quotation_is_listed_once() -> None:
    source = "“We sold 48 new boats in the spring of this year,” said the owner of the yard in Oldham."
    report = "“We sold 84 new boats in the spring of this year,” said the owner. In all they sold 84 boats."
    found = [(claim.kind, claim.quote.exact) for claim in checked(report, source).claims if claim.is_doubtful]
    assert [kind for kind, _ in found] == ["quotation", "figure"]
