from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observers.search.dates import iso_date

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


@given(
    st.one_of(
        st.text(max_size=40), st.integers(), st.floats(), st.from_regex(r"\d{1,4}[-/.]\d{1,2}[-/., ]\d{1,4}")
    )
)
def test_never_raises(value: Any) -> None:
    found = iso_date(value, NOW)
    assert found is None or found[0].isdigit()
