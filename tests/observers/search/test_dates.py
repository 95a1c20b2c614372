from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from observers.search.dates.parse import inferred_date, iso_date
from observers.search.rows import normalise

NOW = datetime(2026, 3, 31, 12, 0, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2 hours ago", "2026-03-31T10:00:00+01:00"),
        ("1 hour ago", "2026-03-31T11:00:00+01:00"),
        ("an hour ago", "2026-03-31T11:00:00+01:00"),
        ("45 mins ago", "2026-03-31T11:15:00+01:00"),
        ("5m", "2026-03-31T11:55:00+01:00"),
        ("3 days ago", "2026-03-28"),
        ("1 week ago", "2026-03-24"),
        ("1 month ago", "2026-02-28"),
        ("2 years ago", "2024-03-31"),
        ("a day ago", "2026-03-30"),
        ("Yesterday", "2026-03-30"),
        ("Posted 3 days ago", "2026-03-28"),
        ("2026-03-06 17:15:37 UTC", "2026-03-06T18:15:37+01:00"),
        ("2026-03-06T17:15:37.5Z", "2026-03-06T18:15:37.500000+01:00"),
        ("2026-03-06T17:15:37+02:00", "2026-03-06T16:15:37+01:00"),
        ("2026-03-06T17:15:37", "2026-03-06T17:15:37"),
        ("2026-03-06", "2026-03-06"),
        ("2017-08-08T00:00:00.000Z", "2017-08-08T01:00:00+01:00"),
        ("Jan 29, 2023", "2023-01-29"),
        ("January 29 2023", "2023-01-29"),
        ("29 Jan 2023", "2023-01-29"),
        ("Sept. 3rd, 2024", "2024-09-03"),
        ("Mar 2025", "2025-03"),
        ("10/07/2025, 01:06 PM, +0000 UTC", "2025-10-07T14:06:00+01:00"),
        ("25/12/2025", "2025-12-25"),
        ("Tue, 10 Mar 2026 09:00:00 GMT", "2026-03-10T10:00:00+01:00"),
        ("Tuesday, March 10, 2026", "2026-03-10"),
        ("20260306T101500Z", "2026-03-06T11:15:00+01:00"),
        ("20260306", "2026-03-06"),
        (1_772_817_337, "2026-03-06T18:15:37+01:00"),
        (1_772_817_337_000, "2026-03-06T18:15:37+01:00"),
        ("1772817337", "2026-03-06T18:15:37+01:00"),
        (1_772_817_337_000_000, "2026-03-06T18:15:37+01:00"),
        (20260306, "2026-03-06"),
        ("20260306101500", "2026-03-06T10:15:00"),
        ("3 hours ago · Wire", "2026-03-31T09:00:00+01:00"),
        ("Wire · 3 days ago", "2026-03-28"),
        ("Updated: Nov 21, 2025", "2025-11-21"),
        ("21 Nov 2025 07:41 GMT", "2025-11-21T08:41:00+01:00"),
        ("21 Nov 2025 07:41 EST", "2025-11-21T13:41:00+01:00"),
        ("Tue Mar 10 09:00:00 +0000 2026", "2026-03-10T10:00:00+01:00"),
        ("Tuesday, 10-Mar-26 09:00:00 GMT", "2026-03-10T10:00:00+01:00"),
        ("1 hr. ago", "2026-03-31T11:00:00+01:00"),
        ("2 days, 3 hours ago", "2026-03-29T09:00:00+01:00"),
        ("Yesterday at 3pm", "2026-03-30T15:00:00"),
        ("in 3 days", "2026-04-03"),
        ("last month", "2026-02"),
        ("2026-02", "2026-02"),
        ("2026/03/06 17:15", "2026-03-06T17:15:00"),
        ("2026-03-06 5:15 PM", "2026-03-06T17:15:00"),
        ("٢٠٢٦-٠٣-٠٦", "2026-03-06"),
        (2019, "2019"),
        ("2019", "2019"),
    ],
)
def test_dates_providers_write(given: Any, expected: str) -> None:
    assert iso_date(given, NOW) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "soon",
        "03/04/2026",
        "2026-02-30",
        "13/13/2026",
        "99999999 years ago",
        "30+ days ago",
        "Mar 5",
        "Monday",
        "Monday 12:30",
        "March",
        "12:30",
        "13:00 PM",
        "3",
        "Chapter 4",
        "Q3 2026",
        "last week",
        "2011-12",
        "0001-01-01T00:00:00Z",
        "Top 10 of 2025",
        "5 min read · 2 min",
        None,
        True,
        [],
        7,
        -5,
        10**30,
        float("nan"),
    ],
)
def test_what_is_not_certain_stays_unknown(given: Any) -> None:
    assert iso_date(given, NOW) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("hace 3 horas", "2026-03-31T09:00:00+01:00"),
        ("Publicado hace 3 horas", "2026-03-31T09:00:00+01:00"),
        ("hace un mes", "2026-02-28"),
        ("vor 2 Tagen", "2026-03-29"),
        ("vor 3 Jahren", "2023-03-31"),
        ("il y a 5 minutes", "2026-03-31T11:55:00+01:00"),
        ("3 дня назад", "2026-03-28"),
        ("2 dagen geleden", "2026-03-29"),
        ("há 2 dias", "2026-03-29"),
        ("2 giorni fa", "2026-03-29"),
        ("3 saat önce", "2026-03-31T09:00:00+01:00"),
        ("منذ 3 ساعات", "2026-03-31T09:00:00+01:00"),
        ("3時間前", "2026-03-31T09:00:00+01:00"),
        ("2天前", "2026-03-29"),
        ("3시간 전", "2026-03-31T09:00:00+01:00"),
        ("昨天", "2026-03-30"),
        ("gestern", "2026-03-30"),
        ("gestern um 15:30", "2026-03-30T15:30:00"),
        ("5. März 2026", "2026-03-05"),
        ("12 mars 2026", "2026-03-12"),
        ("12 mars 2026 10:15 CET", "2026-03-12T10:15:00+01:00"),
        ("15 de enero de 2026", "2026-01-15"),
        ("2026年3月5日", "2026-03-05"),
        ("2026年3月5日 14:30", "2026-03-05T14:30:00"),
        ("2026. 3. 5.", "2026-03-05"),
        ("marzo 2026", "2026-03"),
        ("le 03/04/2026", "2026-04-03"),
        ("2 小時前", "2026-03-31T10:00:00+01:00"),
        ("20 listopada 2025", "2025-11-20"),
        ("20. listopada 2025.", "2025-10-20"),
        ("2026年3月", "2026-03"),
        ("2025. november 13., csütörtök", "2025-11-13"),
        ("13.01.2025 г.", "2025-01-13"),
        ("vor 3 Std.", "2026-03-31T09:00:00+01:00"),
        ("1時間30分前", "2026-03-31T10:30:00+01:00"),
    ],
)
def test_dates_in_other_languages(given: str, expected: str) -> None:
    assert iso_date(given, NOW) == expected


@pytest.mark.parametrize(
    "given",
    [
        "martes",
        "marzo",
        "15 de enero",
        "12:30 Uhr",
        "3 Tage",
        "la semana pasada",
        "05.03.2026",
        "Top 10 de 2026",
        "5 มีนาคม 2569",
        "5 de mayo de 26",
        "31 de febrero de 2026",
        "7 mejores cosas de Madrid",
        "el mes pasado",
        "上周",
        "2026 Tage",
    ],
)
def test_nothing_is_filled_in_for_other_languages(given: str) -> None:
    assert iso_date(given, NOW) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Nov 5", "2025-11-05"),
        ("5 November", "2025-11-05"),
        ("the 5th of November", "2025-11-05"),
        ("Posted Mar 31", "2026-03-31"),
        ("Wire · Nov 5", "2025-11-05"),
        ("Apr 1", "2026-04-01"),  # today where the clocks are ahead
        ("Apr 2", "2025-04-02"),
        ("Feb 29", "2024-02-29"),
        ("Fri, Nov 21", "2025-11-21"),
        ("Nov 5, 3:30 PM", "2025-11-05T15:30:00"),
        ("Nov 5, 10:15 GMT", "2025-11-05T11:15:00+01:00"),
        ("15 de enero", "2026-01-15"),
        ("5. März", "2026-03-05"),
        ("5 марта", "2026-03-05"),
        ("11月5日", "2025-11-05"),
        ("3월 5일", "2026-03-05"),
    ],
)
def test_a_day_without_a_year_is_the_latest_such_day(given: str, expected: str) -> None:
    assert inferred_date(given, NOW) == expected
    assert iso_date(given, NOW) is None


@pytest.mark.parametrize(
    "given",
    [
        "11/5",
        "Feb 30",
        "March",
        "Sat, Nov 21",  # a Friday in 2025, so that it lies ahead
        "20 listopada",  # November in Polish, October in Croatian
        "Nov 21 - 23",
        "2026-03-06",
        "2 hours ago",
        {"start_date": "Nov 21"},
        1105,
        None,
    ],
)
def test_no_year_is_inferred_for_anything_else(given: Any) -> None:
    assert inferred_date(given, NOW) is None


def test_a_row_says_that_its_year_is_inferred_and_prefers_a_whole_date() -> None:
    address = "https://one.example/"
    items = [
        {"title": "One", "link": address, "date": "Nov 5"},
        {"title": "Two", "link": address, "date": "Nov 5", "published_at": "2024-11-05"},
    ]
    one, two = normalise(items, "web", NOW).rows
    assert (one["date"], one["date_inferred"], one["extra"]) == (
        "2025-11-05",
        True,
        {"date_original": "Nov 5"},
    )
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
