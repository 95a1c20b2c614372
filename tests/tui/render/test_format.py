from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ua_tui.tui.render.format import artifact_name, clock, middle_cut, name_cut, tail_cut


def test_the_clock_shows_the_time_of_its_zone_within_all_calendars() -> None:
    at = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)
    assert clock(at, UTC) == "14:02"
    assert clock(at, timezone(timedelta(hours=2))) == "16:02"
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert clock(first, timezone(timedelta(hours=-5))) == "--:--"
    assert clock(last, timezone(timedelta(hours=9))) == "--:--"


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
