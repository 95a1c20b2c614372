from __future__ import annotations

import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ua_tui.tui.render.format import artifact_name, clock, middle_cut, name_cut, tail_cut


@pytest.mark.parametrize(("zone", "first", "now", "last"), [
    ("UTC", "00:00", "14:02", "23:00"), ("EAST-9", "09:00", "23:02", "--:--"), ("WEST5", "--:--", "09:02", "18:00"),
])  # fmt: skip
def test_the_clock_shows_the_time_of_its_zone_within_all_calendars(
    zone: str, first: str, now: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    times = "0001-01-01T00:00Z", "2026-11-21T14:02Z", "9999-12-31T23:00Z"
    assert [clock(datetime.fromisoformat(each)) for each in times] == [first, now, last]


@given(st.text(max_size=60), st.integers(0, 30))
def test_cuts_fit_and_keep_what_fits(text: str, width: int) -> None:
    for cut in (middle_cut(text, width), tail_cut(text, width)):
        assert cell_len(cut) <= max(width, 0)
    if cell_len(text) <= width:
        assert middle_cut(text, width) == tail_cut(text, width) == text


def test_a_middle_cut_keeps_both_ends() -> None:
    assert middle_cut("composio_search_news_140214.json", 15) == "composi…14.json"
    assert middle_cut("中文字符很长", 7) == "中文…长"


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("composio_search_news_140214_k3x9q2.json", 40, "search_news_140214….json"),
        ("composio_search_news_140214_k3x9q2.json", 24, "search_news_140214….json"),
        ("composio_search_news_140214_k3x9q2.json", 15, "search_…14.json"),
        ("composio_notes.json", 40, "composio_notes.json"),
        ("report.html", 8, "rep…html"),
    ],
)
def test_the_name_of_an_artifact_has_no_random_part_and_one_ellipsis(
    name: str, width: int, shown: str
) -> None:
    assert name_cut(artifact_name(name), width) == shown
