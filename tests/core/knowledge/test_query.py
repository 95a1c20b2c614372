"""What people type into a search."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from ua_tui.core.knowledge.search.query import MOST_TERMS, SearchQuery, Term, parse_date, parse_query

CASES = cases_of(__file__)

NOW = datetime(2026, 11, 23, 15, 30, tzinfo=timezone(timedelta(hours=1)))


def parse(text: str) -> SearchQuery:
    return parse_query(text, NOW)


def words(text: str) -> list[str]:
    return [term.text for term in parse(text).terms]


def test_words_phrases_and_exclusions() -> None:
    query = parse('hbm4 "memory  market" -samsung -"price list"')
    assert query.terms == (Term("hbm4"), Term("memory  market", phrase=True))
    assert query.without == (Term("samsung"), Term("price list", phrase=True))


def test_ordinary_text_stays_text_and_its_last_word_may_be_unfinished() -> None:
    texts = CASES["ordinary_text_stays_text"]
    assert {text: words(text) for text in texts} == texts
    texts = {"hbm mem": 1, "hbm mem ": 0, 'hbm "yield mem': 1, 'hbm "mem"': 0, "mem kind:report": 0}
    assert {text: parse(text).unfinished for text in texts} == texts


def test_filters_take_several_values_and_kinds_are_named_as_people_do() -> None:
    query = parse('kind:article,report SITE:example.com site:"theverge.com" session:chips tool:crawl words')
    assert query.kinds == ("article", "report")
    assert query.sites == ("example.com", "theverge.com")
    assert (query.sessions, query.tools) == (("chips",), ("crawl",))
    assert words("kind:article words") == ["words"]
    named = {"reports": "report", "row": "search_row", "art": "article", "Log": "workbench"}
    assert {value: parse(f"kind:{value}").kinds for value in named} == {a: (b,) for a, b in named.items()}


def test_what_is_left_out_of_a_query_has_a_notice() -> None:
    query = parse("chips since:banana kind:poem")
    assert words("chips since:banana kind:poem") == ["chips"]
    assert (query.since, query.kinds) == (None, ())
    assert "banana" in " ".join(query.notices)
    assert "poem" in " ".join(query.notices)
    query = parse(" ".join(f"word{n}" for n in range(500)))
    assert len(query.terms) == MOST_TERMS
    assert query.notices


def test_dates() -> None:
    for text, days in CASES["dates"].items():
        begin, end = (datetime.fromisoformat(day).replace(tzinfo=NOW.tzinfo).timestamp() for day in days)
        assert (parse_date(text, NOW), parse_date(text, NOW, end=True)) == (begin, end - 1), text
    for text, at in {
        "2w": NOW - timedelta(14),
        "9mo": NOW.replace(month=2),
        "1y": NOW.replace(year=2025),
    }.items():
        assert parse_date(text, NOW) == parse_date(text, NOW, end=True) == at.timestamp(), text
    for text in ("", "banana", "2026-13-01", "2026-02-30", "9999y", "0000", "30", "-3d"):
        assert parse_date(text, NOW) is None
    # A month before the 31st ends with the month.
    now = NOW.replace(month=10, day=31)
    assert parse_date("1mo", now) == now.replace(month=9, day=30).timestamp()


@given(st.text() | st.text('"*:-^()\0 kindsite', max_size=60))
def test_any_text_is_a_query(text: str) -> None:
    parse(text)
