from __future__ import annotations

import time

from msgspec.structs import replace

from ua_tui.core.claims.changes import compare_claims
from ua_tui.core.claims.records import Claim, Kind, TextQuote


def claim(exact: str, sentence: str, kind: Kind = "figure") -> Claim:
    return Claim(kind=kind, state="found", quote=TextQuote(exact), sentence=sentence)


BEFORE = [
    claim("9 percent", "Contract prices rose by 9 percent in the quarter."),
    claim("41,000", "Halden ordered 41,000 parts at launch."),
    claim("12", "The line in Toivo employs 12 engineers."),
    claim("https://a.example", "See there.", "link"),
]


def test_claims_are_the_same_changed_new_and_gone() -> None:
    after = [
        claim("41,000", "At its launch Halden ordered 41,000 parts."),
        claim("11 percent", "Contract prices rose by 11 percent in the quarter."),
        claim("600", "A rack of 600 kilowatts ran for a month."),
    ]
    changes = compare_claims(BEFORE, after)
    assert [(old.sentence, new.sentence) for old, new in changes.same] == [
        (BEFORE[1].sentence, after[0].sentence)
    ]
    assert [(old.quote.exact, new.quote.exact) for old, new in changes.changed] == [
        ("9 percent", "11 percent")
    ]
    assert [each.quote.exact for each in changes.new] == ["600"]
    assert [each.quote.exact for each in changes.gone] == ["12"]


def test_equal_words_are_matched_before_alike_sentences() -> None:
    row = "Prices of memory and of logic: 5 and 7 percent."
    changes = compare_claims(
        [claim("5", row), claim("7 percent", row)], [claim("7 percent", row), claim("5", row)]
    )
    assert [(old.quote.exact, new.quote.exact) for old, new in changes.same] == [
        ("7 percent", "7 percent"),
        ("5", "5"),
    ]
    assert (changes.changed, changes.new, changes.gone) == ((), (), ())


def test_a_quotation_is_no_figure() -> None:
    changes = compare_claims(
        [claim("nine", "It rose by nine.")], [claim("nine", "It rose by nine.", "quotation")]
    )
    assert (changes.same, len(changes.new), len(changes.gone)) == ((), 1, 1)


def test_equal_words_that_are_judged_otherwise_are_named() -> None:
    now = [replace(each, state="differs") if each.quote.exact == "12" else each for each in BEFORE]
    assert [(old.state, new.state) for old, new in compare_claims(BEFORE, now).judged] == [
        ("found", "differs")
    ]


def test_thousands_of_equal_claims_are_compared_at_once() -> None:
    claims = [claim(str(number), f"Sales of tin: {number}") for number in range(1_500)]
    began = time.process_time()
    assert len(compare_claims(claims, claims).same) == 1_500
    assert time.process_time() - began < 2
