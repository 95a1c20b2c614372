from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.files_host import Host, finished, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.theme.test_contrast import quiet_colours, unreadable
from tests.tui.viewers.claims.checked_report import CLAIMS, REPORT, decisions_in, write_session
from tests.waiting import until
from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.opinion import Opinions, questions_about, read_reply
from ua_tui.core.claims.records import Claim, TextQuote
from ua_tui.core.errors import SettingsError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session import opinion as session_opinion
from ua_tui.core.settings.model import Settings
from ua_tui.tui.screens.files.claims import ClaimsScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.theme.themes import THEMES


@pytest.fixture(autouse=True)
def _quick(monkeypatch: Patch) -> None:
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


@asynccontextmanager
async def claims_table(
    tmp_path: Path, size: tuple[int, int] = (120, 30), claims: Sequence[Claim] = CLAIMS
) -> AsyncIterator[tuple[Host, Pilot[None], ViewerScreen, Path]]:
    session = write_session(tmp_path, claims=claims)
    viewer = ViewerScreen(session / REPORT, session)
    async with hosted(screen=viewer, size=size) as (app, pilot):
        await until(lambda: viewer.check is not None and viewer.view.is_laid_out)
        await pilot.press("tab")
        await until(lambda: isinstance(app.screen, ClaimsScreen) and "none decided" in screen_text(app))
        yield app, pilot, viewer, session


def answers(session: Path) -> list[str | None]:
    return [answer for answer, _ in decisions_in(session)]


def cursor(app: Host) -> int | None:
    assert isinstance(app.screen, ClaimsScreen)
    return app.screen.table.cursor if app.screen.table.entries else None


async def test_the_riskiest_come_first_and_an_answer_leads_to_the_next_open_one(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, _, session):
        table = screen_text(app)
        words = ("23 percent", "Customers", "the supply report", "192", "51 GB", "141 GB")
        assert sorted(words, key=table.index) == list(words)
        await pilot.press("x", "a")
        await until(lambda: answers(session)[:4] == [None, "rejected", None, "accepted"])
        await until(lambda: "Signed: 1 of 8 accepted, 1 rejected, 6 open" in screen_text(app))
        assert cursor(app) == 2
        await pilot.press("home", "x")
        assert cursor(app) == 2
        await pilot.press(*"aaaaaa")
        assert app.shown_text[-1] == "No claim is open."
        await until(lambda: "Signed: 7 of 8 accepted, 1 rejected" in screen_text(app))
        # Keys that are held too long undo nothing.
        await pilot.press("a", "o")
        await until(lambda: "Signed: 6 of 8 accepted, 1 rejected, 1 open" in screen_text(app))


async def test_claims_can_be_decided_when_the_report_was_changed_meanwhile(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (_, pilot, viewer, session):
        (session / REPORT).write_text("<p>Another version.", encoding="utf-8")
        await viewer.read_check()
        assert viewer.check is None
        await pilot.press("a")
        await until(lambda: "accepted" in answers(session))


async def test_several_are_decided_at_once(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, _, session):
        await pilot.press("space", "shift+down", "a")
        await until(lambda: answers(session)[1:4] == ["accepted", None, "accepted"])
        assert cursor(app) == 2
        await pilot.press("end", "shift+up", "space", "escape")
        assert isinstance(app.screen, ClaimsScreen)
        await pilot.press("x")
        await until(lambda: answers(session).count("rejected") == 1)


async def test_a_note_is_written_and_escape_leaves_it_out(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, _, session):
        await pilot.press("a", "home", "n", "o", "l", "d", "escape")
        await pilot.press("n", *"asked", "enter")
        await until(lambda: decisions_in(session)[1] == ("accepted", "asked"))
        await until(lambda: "accepted +" in screen_text(app) and "asked" in screen_text(app))
        await pilot.press("n")
        assert app.screen.query_one(Input).value == "asked"
        await pilot.press("ctrl+u", "enter")
        await until(lambda: decisions_in(session)[1] == ("accepted", ""))


async def test_tab_in_the_line_neither_closes_the_table_nor_loses_the_note(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, viewer, session):
        table = app.screen
        await pilot.press("n", *"my note", "tab")
        assert app.screen is table
        await pilot.press("enter")
        await until(lambda: decisions_in(session)[1] == (None, "my note"))
        await pilot.press("tab")
        await until(lambda: app.screen is viewer)


async def test_chosen_claims_that_a_filter_hides_stay_chosen(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, _, session):
        table = app.screen.table  # type: ignore[attr-defined]
        await pilot.press("space", "space")
        await until(lambda: "2 selected" in screen_text(app))
        await pilot.press("f", *"grew", "enter")
        await until(lambda: table.entries == 2)
        await pilot.press("x")
        await until(lambda: answers(session).count("rejected") == 1 and "1 selected" in screen_text(app))
        await pilot.press("f", "ctrl+u", "enter")
        await until(lambda: table.entries == 8)
        await pilot.press("a")
        await until(lambda: [answers(session)[place] for place in (1, 3)] == ["rejected", "accepted"])
        assert answers(session).count(None) == 6
        await until(lambda: "selected" not in screen_text(app))


async def test_the_exported_claims_have_their_whole_texts_and_no_signs(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = f"It grew by 23 percent{' and more' * 90}."
    claims = [Claim(kind="figure", state="differs", quote=TextQuote("23 percent"), sentence=sentence)]
    async with claims_table(tmp_path, claims=claims) as (app, pilot, _, session):
        await pilot.press("a", "n", *"asked", "enter")
        await until(lambda: decisions_in(session, claims) == [("accepted", "asked")])
        await until(lambda: "accepted +" in screen_text(app))
        await pilot.press("space", "X")
        saved = tmp_path / "SAVED_REPORTS"
        await until(lambda: any(path.stat().st_size for path in saved.glob("claims*.csv")))
        (path,) = saved.glob("claims*.csv")
        rows = list(csv.reader(path.read_text("utf-8-sig").splitlines()))
        assert rows[0][:4] == ["state", "claim", "decision", "sentence"]
        assert rows[1][:4] == ["differs", "23 percent", "accepted: asked", sentence]


async def test_decided_claims_are_passed_over_and_one_is_shown_in_the_report(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, viewer, session):
        await pilot.press("a")
        await until(lambda: answers(session)[1] == "accepted")
        await pilot.press("end", "right_square_bracket", "enter")
        await until(lambda: app.screen is viewer and viewer.panel.display)
        assert viewer.view.claim == 3
        await pilot.press("tab")
        await until(lambda: isinstance(app.screen, ClaimsScreen) and cursor(app) == 1)
        await pilot.press("end", "tab")
        await until(lambda: app.screen is viewer)
        assert viewer.view.claim == 3


@pytest.mark.parametrize(
    ("width", "present", "absent"),
    [
        (60, ("state", "decision", "23 percent"), ("kind", "sentence")),
        (80, ("sentence", "In the source"), ("kind  ", "│ In the source")),
        (120, ("kind", "│ In the source"), ("2026-11-20  open",)),
        (160, ("H200 in detail", "2026-11-20", "decision"), ()),
    ],
)
async def test_columns_that_fit_are_shown(
    tmp_path: Path, width: int, present: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    async with claims_table(tmp_path, (width, 30)) as (app, _, __, ___):
        await until(lambda: all(text in screen_text(app) for text in present))
        assert not [text for text in absent if text in screen_text(app)]
        assert max(len(line) for line in screen_text(app).splitlines()) <= width


async def test_a_hundred_claims_are_decided_by_a_hundred_keys(tmp_path: Path) -> None:
    claims = [
        Claim(kind="figure", state="not found", quote=TextQuote(f"{number}"), sentence=f"It was {number}.")
        for number in range(100)
    ]
    async with claims_table(tmp_path, claims=claims) as (app, pilot, _, __):
        for number in range(100):
            await pilot.press("x" if number % 10 == 3 else "a")
        await until(lambda: "Signed: 90 of 100 accepted, 10 rejected" in screen_text(app))
        await finished(app.workers)


async def test_the_table_is_sorted_filtered_copied_and_exported_as_any_table(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with claims_table(tmp_path) as (app, pilot, _, session):
        table = app.screen.table  # type: ignore[attr-defined]
        await pilot.press("right", "s")
        await until(lambda: table.sorted_by == 1 and "by claim" in screen_text(app))
        assert [table.records[place][1] for place in table.order][:3] == ["141", "192", "141 GB"]
        await pilot.press("S", "slash", *"percent", "enter")
        await until(lambda: table.entries == 2 and "2 with “percent”" in screen_text(app))
        assert table.records[table.order[0]][1] == "71 percent"
        await pilot.press("end", "c", "x")
        assert app.copied == ["23 percent"]
        await until(lambda: answers(session).count("rejected") == 1)
        await pilot.press("X")
        await until(lambda: list((tmp_path / "SAVED_REPORTS").glob("claims*.csv")))
        await pilot.press("escape")
        await until(lambda: table.entries == 8)


async def test_a_report_without_claims_has_nothing_to_decide(tmp_path: Path) -> None:
    async with claims_table(tmp_path, claims=()) as (app, pilot, _, session):
        await pilot.press(*"axno", "space", "right_square_bracket", "shift+up", "enter")
        assert "The report has no figures, quotations or links." in screen_text(app)
        assert isinstance(app.screen, ClaimsScreen)
        assert decisions_in(session, ()) == []


async def test_a_second_opinion_is_asked_for_its_price_and_changes_no_state(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    outcomes = [False, True, True]

    @asynccontextmanager
    async def terms(*given: object) -> AsyncIterator[None]:
        yield None

    async def ask(
        terms: object, report: CheckedReport, agrees: Callable[[str], Awaitable[bool]]
    ) -> Ledger | None:
        if not outcomes.pop(0):
            raise SettingsError("no claim has a passage")
        if not await agrees("Ask small about 3 claims in 1 request, for about $0.01?"):
            return None
        assert "asking the model" in screen_text(app)
        (question,) = questions_about(report.claims, Redactor())
        reply = [{"id": number, "opinion": "not in the passage"} for number in question.passages]
        found = read_reply(question, report.claims, json.dumps({"opinions": reply}))
        ledger = Ledger(None, REPORT)
        ledger.add(
            Opinions(at=datetime.now(UTC), model="small", cost_usd=0.01, opinions=tuple(found)), Redactor()
        )
        return ledger

    monkeypatch.setattr(session_opinion, "terms_of_past_session", terms)
    monkeypatch.setattr(session_opinion, "ask_opinion", ask)
    monkeypatch.setattr(Host, "settings", Settings(), raising=False)
    async with claims_table(tmp_path) as (app, pilot, viewer, _):
        table = app.screen
        await pilot.press("m")
        await until(lambda: app.shown_text and "no claim has a passage" in app.shown_text[-1])
        await pilot.press("m")
        await until(lambda: "about $0.01?" in screen_text(app) and not app.screen.has_class("-quiet"))
        assert "the model…" not in screen_text(app)
        await pilot.press("n")
        await until(lambda: app.screen is table)
        assert viewer.signing.report.second_opinion == ""
        await pilot.press("m")
        await until(lambda: "about $0.01?" in screen_text(app) and not app.screen.has_class("-quiet"))
        await pilot.press("y")
        await until(lambda: "Second opinion from small ($0.01): 3 not in the passage" in screen_text(app))
        assert "not in it" in screen_text(app)
        assert "Second opinion: not in the passage" in screen_text(app)
        assert "none decided" in screen_text(app)
        assert isinstance(table, ClaimsScreen)
        assert [table.table.records[number][0] for number in table.table.order[:2]] == ["✗ differs"] * 2


async def test_the_claims_are_legible_in_every_theme(tmp_path: Path) -> None:
    async with claims_table(tmp_path) as (app, pilot, viewer, session):
        await pilot.press("x", "a")
        await until(lambda: answers(session).count(None) == 6)
        for screen in (app.screen, viewer):
            for theme in THEMES:
                app.theme = theme.name
                await pilot.pause()
                assert unreadable(app, quiet_colours(app)) == {}, (theme.name, screen)
            if app.screen is not viewer:
                await pilot.press("enter")
                await until(lambda: app.screen is viewer and "│ In the" in screen_text(app))
