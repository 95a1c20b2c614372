from __future__ import annotations

from decimal import Decimal

import pytest

from ua_tui.observers.evidence.figures.find import find_figures
from ua_tui.observers.evidence.figures.look_alikes import HAS_INVISIBLE, HAS_LOOK_ALIKE, fold


@pytest.mark.parametrize(
    ("text", "value", "remark"),
    [
        ("sold 1\u200b234 of them", 1234, HAS_INVISIBLE), ("sold 1,\u2060234 of them", 1234, HAS_INVISIBLE),
        ("sold 58\u00ad71 of them", 5871, HAS_INVISIBLE), ("sold 12\u202e34 of them", 1234, HAS_INVISIBLE),
        ("sold 12О5 of them", 1205, HAS_LOOK_ALIKE), ("sold 1O5 of them", 105, HAS_LOOK_ALIKE),
        ("sold 3l5 of them", 315, HAS_LOOK_ALIKE), ("sold １２３ of them", 123, HAS_LOOK_ALIKE),
        ("sold ٣٤ of them", 34, HAS_LOOK_ALIKE), ("sold \U0001d7db\U0001d7dc of them", 34, HAS_LOOK_ALIKE),
    ],
)  # fmt: skip
def test_reads_what_a_reader_sees(text: str, value: int, remark: str) -> None:
    (figure,) = find_figures(text)
    assert figure.value == value
    assert figure.remarks == (remark,)
    assert figure.text == text[figure.start : figure.end]
    assert text[figure.end :] == " of them"


@pytest.mark.parametrize(
    "text", ["5 litres, 1l, 5l", "Al2O3 and H2O", "10 Oranges", "a soft\u00adhyphen and 5 of them"]
)
def test_remarks_on_nothing_else(text: str) -> None:
    assert not [remark for figure in find_figures(text) for remark in figure.remarks]


def test_common_spaces_dashes_and_quotes_are_not_suspicious() -> None:
    (figure,) = find_figures("1\u202f234\u00a0567 km")
    assert (figure.value, figure.remarks) == (Decimal(1_234_567_000), ())


def test_places_are_those_of_the_original_text_in_a_long_one() -> None:
    text = "word " * 20_000 + "\u200b" + "word " * 20_000 + "sold 77 of them"
    (figure,) = find_figures(text)
    assert (text[figure.start : figure.end], figure.remarks) == ("77", ())


def test_folding_keeps_a_plain_text() -> None:
    assert fold("plain 5 text") == ("plain 5 text", None)
