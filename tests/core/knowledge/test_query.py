"""What people type into a search."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from ua_tui.core.knowledge.search.dates import parse_date
from ua_tui.core.knowledge.search.query import MOST_TERMS, SearchQuery, Typed, parse_query, timed

CASES = cases_of(__file__)

NOW = datetime(2026, 11, 23, 15, 30, tzinfo=timezone(timedelta(hours=1)))


def parse(text: str) -> SearchQuery:
    return parse_query(text, NOW)


def words(text: str) -> list[str]:
    return [term.text for term in parse(text).terms]


def filters(query: SearchQuery) -> dict[str, list[object]]:
    return {name: [*values] for name, values in query.filters}


def test_words_phrases_and_exclusions() -> None:
    query = parse('hbm4 "memory  market" -samsung -"price list"')
    assert query.terms == (Typed("hbm4"), Typed("memory  market", phrase=True))
    assert query.without == (Typed("samsung"), Typed("price list", phrase=True))


def test_ordinary_text_stays_text_and_its_last_word_may_be_unfinished() -> None:
    texts = CASES["ordinary_text_stays_text"]
    assert {text: words(text) for text in texts} == texts
    texts = {"hbm mem": 1, "hbm mem ": 0, 'hbm "yield mem': 1, 'hbm "mem"': 0, "mem kind:report": 0}
    assert {text: parse(text).unfinished for text in texts} == texts


def test_filters_take_several_values_and_kinds_are_named_as_people_do() -> None:
    query = parse('kind:article,report SITE:example.com site:"theverge.com" session:chips tool:crawl words')
    assert filters(query) == {
        "kind": ["article", "report"], "site": ["%.example.com.%", "%.theverge.com.%"],
        "session_like": ["%chips%"], "tool_like": ["%crawl%"],
    }  # fmt: skip
    assert words("kind:article words") == ["words"]
    named = {
        "reports": "report",
        "search": "search_row",
        "art": "article",
        "Sandbox": "workbench",
        "s": "search_row",
    }
    assert {value: filters(parse(f"kind:{value}")) for value in named} == {
        a: {"kind": [b]} for a, b in named.items()
    }


def test_what_is_left_out_of_a_query_has_a_notice() -> None:
    query = parse("chips since:banana kind:poem")
    assert words("chips since:banana kind:poem") == ["chips"]
    assert filters(query) == {}
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


def test_words_for_a_time_are_understood_unless_they_are_quoted() -> None:
    understood: dict[str, tuple[list[str], str, str]] = {
        "copper last week": (["copper"], "2026-11-16", "2026-11-22"),
        "what did we find yesterday?": (["what", "did", "we", "find"], "2026-11-22", "2026-11-22"),
        "Kupfer seit März": (["Kupfer"], "2026-03-01", ""),
        "price in December": (["price"], "2025-12-01", "2025-12-31"),
        "price in October 2024 zinc": (["price", "zinc"], "2024-10-01", "2024-10-31"),
        "cuivre semaine dernière": (["cuivre"], "2026-11-16", "2026-11-22"),
        "last month": ([], "2026-10-01", "2026-10-31"),
        "zinc october 2024": (["zinc"], "2024-10-01", "2024-10-31"),
    }
    for text, (words_, first, last) in understood.items():
        query = timed(parse(text), NOW)
        assert query is not None, text
        assert [term.text for term in query.terms] == words_, text
        begin = datetime.fromisoformat(first).replace(tzinfo=NOW.tzinfo)
        end = datetime.fromisoformat(last).replace(tzinfo=NOW.tzinfo) + timedelta(1) if last else None
        until = {"until": [end.timestamp() - 1]} if end else {}
        assert filters(query) == {"since": [begin.timestamp()], **until}, text
        assert first in query.notices[-1]
    for text, days in {
        "copper past week": 7,
        "copper in the last 3 days": 3,
        "copper Past 2 Weeks": 14,
    }.items():
        query = timed(parse(text), NOW)
        assert query is not None, text
        assert filters(query) == {"since": [(NOW - timedelta(days)).timestamp()]}, text
    for text in (
        'copper "last week"',
        "since:3d last week",
        "copper",
        "in 2025",
        "march",
        "last",
    ):
        assert timed(parse(text), NOW) is None, text


def test_days_of_publication() -> None:
    expected = {
        "2026-10..": ("2026-10-01", "9"), "..2026-10": ("", "2026-10-31"),
        "2025..2026-03": ("2025-01-01", "2026-03-31"),
        "2026-02-03": ("2026-02-03", "2026-02-03"), "30d": ("2026-10-24", "9"),
    }  # fmt: skip
    for text, (first, last) in expected.items():
        days = {"published_since": [first], "published_until": [last]}
        assert filters(parse(f"published:{text}")) == days, text
    for text in ("..", "banana", "2026-13..", "..30"):
        query = parse(f"published:{text}")
        assert filters(query) == {}
        assert text in query.notices[0]


@given(st.text() | st.text('"*:-^()\0 kindsite', max_size=60))
def test_any_text_is_a_query(text: str) -> None:
    timed(parse(text), NOW)
