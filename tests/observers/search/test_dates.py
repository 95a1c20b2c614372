from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ua_tui.observers.search.dates import inferred_date, iso_date
from ua_tui.observers.search.rows import normalise

NOW = datetime(2026, 3, 31, 12, 0, 0, tzinfo=timezone(timedelta(hours=1)))


# As they are written: dates that are read, those that are not certain, days of the latest year, and no such days.
WRITTEN = json.loads(Path(__file__).with_name("dates.json").read_text(encoding="utf-8"))
NUMBERS = {
    1_772_817_337: "2026-03-06T18:15:37+01:00", 1_772_817_337_000: "2026-03-06T18:15:37+01:00",
    1_772_817_337_000_000: "2026-03-06T18:15:37+01:00", 20260306: "2026-03-06", 2019: "2019",
}  # fmt: skip


def test_dates_that_providers_write() -> None:
    expected = WRITTEN["read"] | NUMBERS
    assert {given: iso_date(given, NOW) for given in expected} == expected


def test_what_is_not_certain_stays_unknown() -> None:
    others: list[Any] = [None, True, [], 7, -5, 10**30, float("nan")]
    assert [given for given in (*WRITTEN["unknown"], *others) if iso_date(given, NOW) is not None] == []


def test_a_day_without_a_year_is_the_latest_such_day() -> None:
    expected = WRITTEN["latest_such_day"]
    assert {given: inferred_date(given, NOW) for given in expected} == expected
    assert [given for given in expected if iso_date(given, NOW) is not None] == []


def test_no_year_is_inferred_for_anything_else() -> None:
    others: list[Any] = [{"start_date": "Nov 21"}, 1105, None]
    assert [
        given for given in (*WRITTEN["no_year_inferred"], *others) if inferred_date(given, NOW) is not None
    ] == []


def test_a_row_says_that_its_year_is_inferred_and_prefers_a_whole_date() -> None:
    address = "https://one.example/"
    items = [
        {"title": "One", "link": address, "date": "Nov 5"},
        {"title": "Two", "link": address, "date": "Nov 5", "published_at": "2024-11-05"},
    ]
    one, two = normalise(items, "web", NOW)[0]
    assert (one["date"], one["date_inferred"], one["extra"]) == (
        "2025-11-05", True, {"date_original": "Nov 5"},
    )  # fmt: skip
    assert two["date"] == "2024-11-05"
    assert "date_inferred" not in two


def test_hours_count_across_the_change_to_summer_time() -> None:
    morning = datetime(2026, 3, 29, 8, 0, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert (
        iso_date("8 hours ago", morning) == iso_date("vor 8 Stunden", morning) == "2026-03-28T23:00:00+01:00"
    )


def test_a_cached_reading_counts_from_each_present() -> None:
    later = NOW.astimezone(UTC) + timedelta(days=1)
    for text in ("2 hours ago", "hace 2 horas"):
        assert iso_date(text, NOW) == "2026-03-31T10:00:00+01:00"
        assert iso_date(text, later) == "2026-04-01T09:00:00+00:00"


def test_other_languages_are_read_alike_by_many_threads() -> None:
    texts = [shape for day in range(1, 9) for shape in (f"vor {day} Tagen", f"{day} mars 2026", f"{day}天前")]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: iso_date(text, NOW), texts * 4))
    assert None not in together
    assert together == [iso_date(text, NOW) for text in texts] * 4


_WORDS = "3 12 2026 5. 12:30 03/04/2026 ago hace vor mars März mar de il y a am PM Q3 昨天 年 月 日 前 UTC +02:00 , · -"


@given(
    st.one_of(
        st.text(max_size=70),
        st.lists(st.sampled_from(_WORDS.split()), max_size=8).map(" ".join),
        st.integers(),
        st.floats(),
        st.from_regex(r"\d{1,4}[-/.]\d{1,2}[-/., ]\d{1,4}"),
        st.datetimes().map(str),
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_value_is_a_date_or_unknown(value: Any) -> None:
    found = iso_date(value, NOW) or inferred_date(value, NOW)
    if found is not None:
        whole = {4: f"{found}-01-01", 7: f"{found}-01"}.get(len(found), found)
        assert datetime.fromisoformat(whole).year >= 1
