from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.core.cases import cases_of
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.web_reader import BLACKLIST, FIRST_LIFETIME, LIFETIME, Blacklist, host_of

CASES = cases_of(__file__)

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
PAGE = "https://www.Papers.example/one?id=1"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def blacklist(tmp_path: Path, clock: Clock) -> Blacklist:
    return Blacklist(tmp_path, now=clock)


def listed(blacklist: Blacklist, url: str = PAGE, count: int = 3, prefix: str = "t") -> None:
    for number in range(count):
        blacklist.strike(url, "1214", f"{prefix}{number}")


def test_a_site_has_one_spelling() -> None:
    for url, host in CASES["a_site_has_one_spelling"]:
        assert host_of(url) == host


def test_a_strike_lists_a_site_for_a_day_and_three_for_a_month(blacklist: Blacklist, clock: Clock) -> None:
    for call in ("t1", "t1", "t2", "t2", "t1"):
        blacklist.strike(PAGE, "1214", call)
    (entry,) = blacklist.entries()
    assert (len(entry.strikes), entry.expires) == (2, NOW + FIRST_LIFETIME)
    assert blacklist.find(PAGE)
    clock.now += FIRST_LIFETIME
    assert not blacklist.find(PAGE)
    assert [(len(entry.strikes), entry.listed) for entry in blacklist.entries()] == [(2, False)]
    standing = blacklist.strike("http://papers.example/three", "1214", "t3")
    assert standing is not None
    assert standing.expires == clock.now + LIFETIME
    assert blacklist.find("https://papers.example/another")
    assert not blacklist.find("https://blog.papers.example/")
    found = blacklist.find(PAGE)
    assert found is not None
    assert "2026-04-10, after 3 errors" in found.reason
    assert "ua-tui blacklist clear papers.example" in found.reason


def test_strikes_and_listings_end_after_their_time(blacklist: Blacklist, clock: Clock) -> None:
    listed(blacklist, count=2)
    clock.now += LIFETIME
    assert blacklist.entries() == []
    blacklist.strike(PAGE, "1214", "late")
    assert len(blacklist.entries()[0].strikes) == 1
    listed(blacklist, prefix="new", count=2)
    assert blacklist.find(PAGE)
    clock.now += LIFETIME
    assert not blacklist.find(PAGE)
    assert blacklist.entries() == []


def test_what_was_cleared_is_not_counted_again(blacklist: Blacklist, clock: Clock) -> None:
    listed(blacklist)
    listed(blacklist, "https://other.example/")
    clock.now += timedelta(hours=1)
    assert blacklist.clear("https://WWW.papers.example/x") == ["papers.example"]
    assert blacklist.clear("papers.example") == []
    for number in range(3):
        assert blacklist.strike(PAGE, "1214", f"t{number}", NOW) is None
    assert [entry.host for entry in blacklist.entries()] == ["other.example"]
    clock.now += timedelta(seconds=1)
    assert blacklist.strike(PAGE, "1214", "t9") is not None
    assert blacklist.clear() == ["other.example", "papers.example"]
    assert blacklist.entries() == []


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    blacklist = Blacklist(tmp_path / "none")
    assert blacklist.entries() == []
    assert blacklist.clear() == []
    assert blacklist.find(PAGE) is None
    assert not (tmp_path / "none").exists()
    there = Blacklist(tmp_path)
    assert there.entries() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"[]", b'{"domains": {}}', b'{"hosts": {"a.example": {"strikes": []}}}',
        b'{"hosts": {"a.example": {"strikes": [{"at": "2026-03-10T12:00:00", "code": "1", "url": "",'
         b' "tool_use_id": ""}]}}}',
    ],
)  # fmt: skip
def test_a_damaged_list_is_set_aside_and_begins_again(
    blacklist: Blacklist, tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / BLACKLIST).write_bytes(content)
    assert not blacklist.find(PAGE)
    listed(blacklist)
    assert blacklist.find(PAGE)
    (aside,) = tmp_path.glob(f"{BLACKLIST}.corrupt-*")
    assert aside.read_bytes() == content
    assert "damaged" in caplog.text


def test_a_list_that_cannot_be_locked_is_reported_and_ignored(
    blacklist: Blacklist, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".webReader_blacklist.lock").symlink_to(tmp_path / "elsewhere")
    (tmp_path / BLACKLIST).write_text("{")
    with pytest.raises(WorkspaceError, match="cannot lock"):
        blacklist.entries()
    assert blacklist.find(PAGE) is None
    assert "is not used" in caplog.text


def test_a_change_by_another_program_is_seen(tmp_path: Path, clock: Clock) -> None:
    mine, theirs = Blacklist(tmp_path, now=clock), Blacklist(tmp_path, now=clock)
    assert not mine.find(PAGE)
    listed(theirs)
    assert mine.find(PAGE)
    theirs.clear("papers.example")
    assert not mine.find(PAGE)


def test_hostile_text_and_secrets_do_not_stay(tmp_path: Path, clock: Clock) -> None:
    blacklist = Blacklist(tmp_path, Redactor(["hunter2hunter2"]), clock)
    blacklist.strike("https://a.example/\x1b[2J\udcff?key=hunter2hunter2", "1214\n", "t\x1b\udc80")
    (strike,) = blacklist.entries()[0].strikes
    shown = (tmp_path / BLACKLIST).read_text()
    assert "hunter2" not in shown
    assert "\x1b" not in strike.url + strike.code + strike.tool_use_id
    assert (tmp_path / BLACKLIST).stat().st_mode & 0o777 == 0o600


def test_the_list_lies_beside_the_sessions(tmp_path: Path) -> None:
    session = Workspace.create(tmp_path, NOW)
    other = Workspace.open(tmp_path / "elsewhere")
    assert Blacklist.for_session(session).path == tmp_path / "AGENT_RUN_WORKSPACES" / BLACKLIST
    assert Blacklist.for_session(other).path == tmp_path / "elsewhere" / BLACKLIST
