from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual.widgets import Button, OptionList, Static

from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Output, Patch
from tests.tui.screens.test_dialogs import Stage
from tests.waiting import until
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.web_reader import BLACKLIST, Blacklist
from ua_tui.tui.cli import main
from ua_tui.tui.screens.services.blacklist import BlacklistScreen
from ua_tui.tui.widgets.dialog import Choice

BRIGHT_BLACK = 8


@pytest.fixture
def base(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("UA_WORKSPACE_BASE", raising=False)
    assert load_settings({}).workspace_base.resolve() == tmp_path
    return tmp_path


def fill(base: Path, *sites: tuple[str, int]) -> Blacklist:
    blacklist = Blacklist(base / "AGENT_RUN_WORKSPACES")
    now = datetime.now(UTC) - timedelta(days=2)
    for site, count in sites:
        for number in range(count):
            at = now + timedelta(minutes=number)
            blacklist.strike(f"https://{site}/{number}", "1214", f"toolu_{number}", at)
    return blacklist


def command(*arguments: str) -> int:
    return main(["blacklist", *arguments])


def test_the_list_is_shown_aligned(base: Path, capsys: Output) -> None:
    assert command() == 0
    assert capsys.readouterr().out == "nothing is on the blacklist\n"
    assert not (base / "AGENT_RUN_WORKSPACES").exists()
    fill(base, ("few.example", 1))
    assert command() == 0
    assert "nothing is on the blacklist now" in capsys.readouterr().out
    fill(base, ("a-long-name.papers.example", 3))
    assert command("--workspace", str(base)) == 0
    header, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("a-long-name.papers.example  3 ")
    assert second.startswith("few.example                 1 ")
    assert "rejected the request (1214)" in first
    assert first[header.index("UNTIL") :].startswith("20")
    assert second.endswith("-")


def test_the_list_as_json(base: Path, capsys: Output) -> None:
    fill(base, ("papers.example", 4))
    assert command("--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["host"], entry["listed"], entry["strikes"]) == ("papers.example", True, 4)
    assert (entry["codes"], entry["url"]) == (["1214"], "https://papers.example/3")
    assert entry["first"] < entry["last"] < entry["expires"]


def test_sites_are_cleared_by_name_and_all_at_once(base: Path, capsys: Output) -> None:
    blacklist = fill(base, ("a.example", 3), ("b.example", 3), ("c.example", 1))
    assert command("clear", "https://www.A.example/x", "never.example\x1b[2J") == 2
    reported = capsys.readouterr()
    assert reported.out == "cleared a.example\n"
    assert "not on the blacklist: never.example" in reported.err
    assert "\x1b" not in reported.err
    assert [entry.host for entry in blacklist.entries()] == ["b.example", "c.example"]
    assert command("clear", "--all", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"cleared": ["b.example", "c.example"]}
    assert command("clear", "--all") == 0
    assert blacklist.entries() == []


@pytest.mark.parametrize("arguments", [["--all"], ["clear"], ["clear", "a.example", "--all"]])
def test_wrong_usage_changes_nothing(base: Path, capsys: Output, arguments: list[str]) -> None:
    blacklist = fill(base, ("a.example", 3))
    assert command(*arguments) == 2
    assert capsys.readouterr().err.startswith("ua-tui blacklist: ")
    assert blacklist.find("https://a.example/")


def test_a_list_that_cannot_be_locked_is_an_error_in_words(base: Path, capsys: Output) -> None:
    fill(base, ("a.example", 3))
    lock = base / "AGENT_RUN_WORKSPACES" / ".webReader_blacklist.lock"
    lock.unlink()
    lock.mkdir()
    assert command("clear", "--all") == 1
    assert "cannot lock" in capsys.readouterr().err


async def test_the_dialog_lists_and_clears(tmp_path: Path) -> None:
    blacklist = fill(tmp_path, ("papers.example", 3), ("daily.example", 4), ("few.example", 1))
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.ask(pilot, BlacklistScreen(blacklist), wait=0.0)
        sites = app.screen.query_one(OptionList)
        await until(lambda: sites.option_count == 3)
        shown = screen_text(app)
        parts = ("papers.example", "no longer skipped", "4 errors, last: rejected", "until 20")
        assert [part for part in parts if part not in shown] == []
        # The wish to clear everything passes when one moves on.
        await pilot.press("a", "down", "a")
        await pilot.pause()
        assert len(blacklist.entries()) == 3
        await pilot.press("up", "down", "d")
        await until(lambda: sites.option_count == 2)
        kept = [entry.host for entry in blacklist.entries()]
        assert len(kept) == 2
        await pilot.press("a")
        await pilot.pause()
        assert "a again" in screen_text(app)
        assert len(blacklist.entries()) == 2
        await pilot.press("a")
        await until(lambda: sites.option_count == 0)
        assert blacklist.entries() == []
        await until(lambda: "No sites are listed" in screen_text(app))
        assert all(app.screen.query_one(f"#{name}", Button).disabled for name in ("clear", "clear-all"))
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, BlacklistScreen)


async def test_in_sixteen_colours_an_answer_that_cannot_be_chosen_is_grey_and_its_key_too(
    tmp_path: Path,
) -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        app.theme = "ua-ansi"
        await app.ask(pilot, BlacklistScreen(Blacklist(tmp_path)))
        await until(lambda: app.screen.query_one("#close").has_focus)
        await until(lambda: not app.screen.has_class("-quiet"))
        await pilot.pause()
        clear, close = (app.screen.query_one(which, Choice) for which in ("#clear", "#close"))
        assert clear.disabled
        assert colours_of(clear) == {BRIGHT_BLACK}
        assert BRIGHT_BLACK not in colours_of(close)


def colours_of(choice: Choice) -> set[int | None]:
    strips = choice.screen._compositor.render_strips()
    (row,) = [strips[choice.region.y].crop(choice.region.x, choice.region.right)]
    return {each.style.color.number for each in row if each.text.strip() and each.style and each.style.color}


async def test_a_damaged_list_is_shown_as_empty_and_one_without_lock_as_an_error(tmp_path: Path) -> None:
    blacklist = fill(tmp_path, ("papers.example", 3))
    (blacklist.path.parent / ".webReader_blacklist.lock").unlink()
    (blacklist.path.parent / ".webReader_blacklist.lock").mkdir()
    blacklist.path.write_text("{")
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.ask(pilot, BlacklistScreen(blacklist))
        what = app.screen.query_one("#blacklist-what", Static)
        await until(lambda: "annot lock" in str(what.content))
        (blacklist.path.parent / ".webReader_blacklist.lock").rmdir()
        app.screen.dismiss(None)
        await app.ask(pilot, BlacklistScreen(blacklist))
        await until(lambda: "No sites are listed" in screen_text(app))
        assert list(blacklist.path.parent.glob(f"{BLACKLIST}.corrupt-*"))
