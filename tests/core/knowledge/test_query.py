"""What people type into a search."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from core.knowledge.query import MOST_TERMS, Query, Term, parse_date, parse_query

NOW = datetime(2026, 11, 23, 15, 30, tzinfo=timezone(timedelta(hours=1)))


def parse(text: str) -> Query:
    return parse_query(text, NOW)


def words(text: str) -> list[str]:
    return [term.text for term in parse(text).terms]


def test_words_phrases_and_exclusions() -> None:
    query = parse('hbm4 "memory  market" -samsung -"price list"')
    assert query.terms == (Term("hbm4"), Term("memory  market", phrase=True))
    assert query.without == (Term("samsung"), Term("price list", phrase=True))


def test_ordinary_text_stays_text() -> None:
    texts = {
        "re:invent": ["re:invent"], "https://example.com/a": ["https://example.com/a"], "--max-age": ["--max-age"],
        "foo-bar": ["foo-bar"], 'open "quote never closed': ["open", "quote never closed"], '""': [], "site:": [],
        "“curly quotes” too": ["curly quotes", "too"], "naïve": ["naïve"],
        "東京のメモリ市場": ["東京", "メモリ", "市場"], "ですか": ["ですか"], '"東京のメモリ"': ["東京のメモリ"],
    }  # fmt: skip
    assert {text: words(text) for text in texts} == texts


def test_filters_take_several_values_and_kinds_are_named_as_people_do() -> None:
    query = parse('kind:article,report SITE:example.com site:"theverge.com" session:chips tool:crawl words')
    assert query.kinds == ("article", "report")
    assert query.sites == ("example.com", "theverge.com")
    assert (query.sessions, query.tools) == (("chips",), ("crawl",))
    assert words("kind:article words") == ["words"]
    named = {"reports": "report", "row": "search_row", "art": "article", "Log": "workbench"}
    assert {value: parse(f"kind:{value}").kinds for value in named} == {a: (b,) for a, b in named.items()}


def test_a_filter_that_cannot_be_read_is_left_out_with_a_notice() -> None:
    query = parse("chips since:banana kind:poem")
    assert words("chips since:banana kind:poem") == ["chips"]
    assert (query.since, query.kinds) == (None, ())
    assert "banana" in " ".join(query.notices)
    assert "poem" in " ".join(query.notices)


def test_dates() -> None:
    def day(year: int, month: int, number: int) -> float:
        return datetime(year, month, number, tzinfo=NOW.tzinfo).timestamp()

    dates = {
        "2026-11-03": (day(2026, 11, 3), day(2026, 11, 4) - 1),
        "2026-02": (day(2026, 2, 1), day(2026, 3, 1) - 1),
        "2025": (day(2025, 1, 1), day(2026, 1, 1) - 1),
        "today": (day(2026, 11, 23), day(2026, 11, 24) - 1),
        "yesterday": (day(2026, 11, 22), day(2026, 11, 23) - 1),
        "2w": ((NOW - timedelta(days=14)).timestamp(),) * 2,
        "9mo": (NOW.replace(month=2).timestamp(),) * 2,
        "1y": (NOW.replace(year=2025).timestamp(),) * 2,
    }
    assert {text: (parse_date(text, NOW), parse_date(text, NOW, end=True)) for text in dates} == dates
    for text in ("", "banana", "2026-13-01", "2026-02-30", "9999y", "0000", "30", "-3d"):
        assert parse_date(text, NOW) is None
    # A month before the 31st ends with the month.
    now = NOW.replace(month=10, day=31)
    assert parse_date("1mo", now) == now.replace(month=9, day=30).timestamp()


def test_the_number_of_words_is_bounded() -> None:
    query = parse(" ".join(f"word{n}" for n in range(500)))
    assert len(query.terms) == MOST_TERMS
    assert query.notices


def test_the_last_word_may_be_unfinished() -> None:
    texts = {"hbm mem": 1, "hbm mem ": 0, 'hbm "yield mem': 1, 'hbm "mem"': 0, "mem kind:report": 0}
    assert {text: parse(text).unfinished for text in texts} == texts


@given(st.text() | st.text('"*:-^()\0 kindsite', max_size=60))
def test_any_text_is_a_query(text: str) -> None:
    parse(text)
