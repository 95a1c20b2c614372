from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.trusted import TRUSTED
from tests.tui.fakes import FakeSession, FakeWorkspace, make_app, make_session
from tests.tui.files_host import Host, finished, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.viewers.claims.checked_report import (
    CLAIMS,
    HTML,
    REPORT,
    decide,
    decisions_in,
    write_session,
)
from tests.waiting import until
from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import ReportCheck, check_path, ledger_path
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.records import Check, Claim, Passage, TextQuote
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import ClaimsDecided, Event
from ua_tui.core.history.versions import TextOrigin
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.files import evidence
from ua_tui.tui.screens.files.claims import ClaimsScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.claims.checked import FoundCheck, find_check
from ua_tui.tui.viewers.claims.marks import MarkedBody


@asynccontextmanager
async def reading(
    tmp_path: Path,
    size: tuple[int, int] = (80, 24),
    report: str = HTML,
    claims: Sequence[Claim] = CLAIMS,
) -> AsyncIterator[tuple[Host, Pilot[None], ViewerScreen, Path]]:
    """A session's checked report in the viewer, with its marks."""
    session = write_session(tmp_path, report, claims)
    screen = ViewerScreen(session / REPORT, session)
    async with hosted(screen=screen, size=size) as (app, pilot):
        await marks_shown(app, screen)
        await pilot.pause()
        yield app, pilot, screen, session


async def marks_shown(app: Host, screen: ViewerScreen) -> None:
    await until(lambda: isinstance(screen.view.body, MarkedBody) and screen.view.is_laid_out)
    await finished(app.workers)


def flat(app: Host) -> str:
    return " ".join(screen_text(app).split())


async def test_the_keys_of_claims_come_first_and_fit_80_columns(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, _, __, ___):
        keys = "Enter evidence  } next  ] doubtful  Tab claims  a accept  x reject  ? keys"
        assert screen_text(app).splitlines()[-1].strip() == keys


async def test_enter_shows_the_first_doubtful_claim_on_the_screen_and_then_its_source(tmp_path: Path) -> None:
    async with reading(tmp_path, (120, 40)) as (app, pilot, screen, session):
        await pilot.press("enter")
        await until(lambda: "✗ differs · figure  The source says nine percent." in screen_text(app))
        assert screen.view.claim == 1
        await pilot.press("enter")
        await until(lambda: app.screen is not screen)
        opened = app.screen
        assert isinstance(opened, ViewerScreen)
        await until(lambda: "shipments grew by nine percent" in screen_text(app))
        await until(lambda: opened.view.matches[1] == 1)
        await pilot.press("escape", "escape")
        await until(lambda: app.screen is screen)
        (session / "extracted_articles" / "h200.md").unlink()
        await pilot.press("enter")
        await until(lambda: app.shown_text and "no longer exists" in app.shown_text[-1])
        await pilot.press("right_square_bracket")
        await until(lambda: "No page that was read mentions 71 percent." in screen_text(app))
        await pilot.press("enter")
        await until(lambda: "no source" in app.shown_text[-1])


async def test_enter_after_scrolling_shows_a_claim_that_is_on_the_screen(tmp_path: Path) -> None:
    filler = "".join(f"<p>Sentence {number} of no consequence.</p>" for number in "abcdefghijklmnopqrstuvw")
    html = HTML.replace("<table>", f"{filler}<table>", 1)
    async with reading(tmp_path, report=html) as (_, pilot, screen, __):
        await pilot.press("right_square_bracket")
        assert screen.view.claim == 1
        await pilot.press("end", "enter")
        await until(lambda: screen.panel.display)
        assert screen.view.claim == 6


async def test_keys_go_from_doubt_to_doubt_with_the_evidence(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, pilot, screen, _):
        await pilot.press("right_square_bracket", "enter")
        await until(lambda: "H200 in detail" in screen_text(app))
        await pilot.press("left_square_bracket")
        assert screen.view.claim == 6
        await pilot.press("right_square_bracket")
        assert screen.view.claim < 6
        await pilot.press("right_curly_bracket", "left_curly_bracket", "left_curly_bracket")
        assert screen.view.claim == 0
        await until(lambda: "· found · figure" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "H200 in detail" not in screen_text(app))
        assert app.screen is screen
        await pilot.press("escape")
        assert app.screen is not screen


async def test_claims_that_the_rendering_does_not_show_are_passed_in_their_order(tmp_path: Path) -> None:
    unseen = Claim(kind="figure", state="not found", quote=TextQuote("71 km"), sentence="Staging: 71 km")
    async with reading(tmp_path, claims=(*CLAIMS[:2], unseen, *CLAIMS[2:])) as (app, pilot, screen, _):
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert screen.view.claim == 2
        await until(lambda: "Staging: 71 km" in screen_text(app))
        await pilot.press("right_square_bracket")
        assert screen.view.claim == 3
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert screen.view.claim == 1


async def test_the_evidence_is_beside_the_report_or_below_it_and_scrolls(tmp_path: Path) -> None:
    async with reading(tmp_path, (120, 30)) as (app, pilot, screen, _):
        await pilot.press("enter")
        await until(lambda: "│ In the source" in screen_text(app))
        await pilot.resize_terminal(80, 24)
        await until(lambda: "│ In the source" not in screen_text(app) and "In the source" in screen_text(app))
        await pilot.resize_terminal(60, 14)
        await until(lambda: "news.example" not in screen_text(app))
        for _ in range(4):
            await pilot.press("shift+down")
        await until(lambda: "news.example" in screen_text(app))
        assert screen.view.claim == 1


async def test_the_current_claim_stays_in_view_in_another_form(tmp_path: Path) -> None:
    filler = "".join(f"<p>Sentence {number} of no consequence.</p>" for number in "abcdefghijklmnopqrstuvw")
    html = HTML.replace("<h1>", f"{filler}<h1>", 1)
    async with reading(tmp_path, (120, 24), report=html) as (app, pilot, screen, _):
        await pilot.press("left_square_bracket")
        for key in "mm":
            await pilot.press(key)
            await marks_shown(app, screen)
            await pilot.pause()
            row, view = screen.view.claim_row(screen.view.claim), screen.view
            assert 0 <= row - view.scroll_offset.y < view.scrollable_content_region.height


async def test_signs_and_claims_can_be_clicked(tmp_path: Path) -> None:
    async with reading(tmp_path, (120, 40)) as (app, pilot, screen, _):
        for what, claim in (("=", 7), ("141 GB", 0)):
            lines = screen_text(app).splitlines()
            (y,) = [y for y, line in enumerate(lines) if what in line and y > 3]
            await pilot.click(offset=(lines[y].index(what), y))
            await until(lambda claim=claim: screen.view.claim == claim and screen.panel.display)  # type: ignore[misc]
            await pilot.press("escape")
            await until(lambda: not screen.panel.display)
            await finished(app.workers)
            await pilot.pause()


# Decisions


async def test_a_claim_is_seen_before_it_is_accepted_and_the_next_one_follows(tmp_path: Path) -> None:
    async with reading(tmp_path, (120, 40)) as (app, pilot, screen, session):
        await pilot.press("a")
        await until(lambda: screen.panel.display and screen.view.claim == 1)
        assert app.shown_text[-1] == "Press the key again to accept this claim."
        assert decisions_in(session)[1] == (None, "")
        await pilot.press("a", "x")
        await until(
            lambda: (
                [answer for answer, _ in decisions_in(session)[:4]] == [None, "accepted", "rejected", None]
            )
        )
        assert screen.view.claim == 3
        await until(lambda: "Signed: 1 of 8 accepted, 1 rejected, 6 open" in flat(app))
        await pilot.press("x", "x", "x")
        await until(lambda: app.shown_text[-1] == "No doubtful claim is left: Tab lists all claims.")
        await until(lambda: "Signed: 1 of 8 accepted, 4 rejected, 3 open" in flat(app))
        await until(lambda: "Rejected by" in screen_text(app))
        # The same answer again changes nothing.
        await pilot.press("x")
        await finished(app.workers)
        assert decisions_in(session)[6][0] == "rejected"
        # What was said does not cover the title of the claims; this host only notes what is said.
        App.notify(app, "This was said.", timeout=60.0)
        await until(lambda: len([*app._notifications]) == 1)
        await pilot.press("tab")
        await until(lambda: isinstance(app.screen, ClaimsScreen))
        await pilot.pause()
        assert [*app._notifications] == []


async def test_a_claim_stays_the_current_one_if_it_is_gone_to_before_the_evidence_is_drawn(
    tmp_path: Path,
) -> None:
    async with reading(tmp_path, (120, 40)) as (_, pilot, screen, __):
        screen.action_open_claim()
        screen.action_claim(1)
        await pilot.pause()
        assert (screen.panel.display, screen.view.claim) == (True, 2)


@pytest.mark.parametrize("is_own", [True, False])
async def test_a_decision_is_an_event_of_the_session_that_runs_and_of_no_other(
    tmp_path: Path, is_own: bool
) -> None:
    folder = write_session(tmp_path)
    session = FakeSession(FakeWorkspace(folder)) if is_own else make_session(tmp_path)
    events: list[Event] = []
    session.bus.subscribe(events.append)
    app = make_app(tmp_path, session, folder=TRUSTED)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.state == "idle")
        screen = ViewerScreen(folder / REPORT, folder, read_only=not is_own)
        await app.push_screen(screen)
        await until(lambda: isinstance(screen.view.body, MarkedBody) and screen.view.is_laid_out)
        await pilot.press("enter", "x", "a")
        await until(lambda: [answer for answer, _ in decisions_in(folder)[1:3]] == ["rejected", "accepted"])
        await until(lambda: "Signed: 1 of 8 accepted, 1 rejected" in screen_text(app))
    decided = [event for event in events if isinstance(event, ClaimsDecided)]
    assert [(each.accepted, each.rejected, each.open) for each in decided] == [(0, 1, 7), (1, 1, 6)] * is_own
    assert all(each.report == REPORT and each.by for each in decided)


async def test_decisions_of_an_unchanged_sentence_survive_the_next_version(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    decide(session, [0, 1, 2], "accepted")
    html = HTML.replace("Nothing to check", "Little to check").replace("has <b>141", "got <b>141")
    changed = msgspec.structs.replace(CLAIMS[0], sentence="The H200 got 141 GB of memory.")
    async with reading(tmp_path, (120, 40), html, (changed, *CLAIMS[1:])) as (app, _, screen, __):
        await until(lambda: "Signed: 2 of 8 accepted, 6 open" in flat(app))
        assert [screen.signing.next_open([number], -1) for number in range(3)] == [0, None, None]


async def test_decisions_of_somebody_else_sign_nothing_and_stay_as_they_are(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    decide(session, [1], "accepted")
    file = session / ledger_path(REPORT)
    file.write_text(file.read_text().replace("accepted", "rejected"))
    planted = file.read_bytes()
    async with reading(tmp_path, (120, 40)) as (app, pilot, _, __):
        await until(lambda: "its decisions do not count until `ua-tui trust adopt" in flat(app))
        assert "Signed" not in screen_text(app)
        await pilot.press("enter", "a")
        await until(lambda: app.shown_text and app.shown_text[-1].startswith("Not stored: "))
        await pilot.press("tab")
        await until(lambda: "none decided" in screen_text(app))
        assert "`ua-tui trust adopt" in flat(app)
        assert file.read_bytes() == planted


# Other files and versions


async def test_without_a_check_keys_say_what_to_do(tmp_path: Path, monkeypatch: Patch) -> None:
    session = write_session(tmp_path)
    other = session / "work_products" / "other.md"
    other.write_text("# Other\n\nIt grew by 58 percent.\n", encoding="utf-8")
    screen = ViewerScreen(other, session)

    def check(path: Path, origin: TextOrigin, knowledge: Path | None) -> FoundCheck:
        assert path == other
        if not done:
            done.append(True)
            raise WorkspaceError("the disk [red]is gone[/]")
        claim = Claim(kind="figure", state="not found", quote=TextQuote("58 percent"))
        found = ReportCheck(report=origin.source, sha256="", check=Check(claims=(claim,)))
        return FoundCheck(origin, CheckedReport.of(found, Ledger(None, origin.source)))

    done: list[bool] = []
    monkeypatch.setattr(evidence, "check_again", check)
    async with hosted(screen=screen, size=(120, 40)) as (app, pilot):
        await until(lambda: bool(screen.claim_keys()))
        for key in ("right_square_bracket", "a", "x", "tab"):
            app.shown_text.clear()
            await pilot.press(key)
            assert app.shown_text == ["This report has not been checked. Press R to check it."], key
        await pilot.press("R")
        await until(lambda: "the disk [red]is gone[/]" in app.shown_text[-1])
        await pilot.press("R")
        await until(lambda: app.shown_text[-1] == "Checked: 1 doubtful claim.")
        await until(lambda: "? It grew by 58 percent." in screen_text(app))
        assert not (session / check_path("work_products/other.md")).exists()


async def test_keys_that_come_before_the_check_is_read_are_told_so(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    goes_on, session = threading.Event(), write_session(tmp_path)

    def find(path: Path) -> FoundCheck | None:
        goes_on.wait(10)
        return find_check(path)

    monkeypatch.setattr(evidence, "find_check", find)
    viewer = ViewerScreen(session / REPORT, session)
    async with hosted(screen=viewer, size=(120, 40)) as (app, pilot):
        await until(lambda: viewer.view.is_laid_out)
        await pilot.press("tab", "a", "R")
        assert app.shown_text
        assert all("still being read" in text for text in app.shown_text), app.shown_text
        goes_on.set()
        await until(lambda: viewer.check is not None)


async def test_nothing_is_decided_while_the_report_is_checked_again(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    started, goes_on = threading.Event(), threading.Event()

    def check(path: Path, origin: TextOrigin, knowledge: Path | None) -> FoundCheck:
        started.set()
        goes_on.wait(10)
        claim = Claim(kind="figure", state="not found", quote=TextQuote("58 percent"))
        found = ReportCheck(report=origin.source, sha256="", check=Check(claims=(claim,)))
        return FoundCheck(origin, CheckedReport.of(found, Ledger(None, origin.source)))

    monkeypatch.setattr(evidence, "check_again", check)
    async with reading(tmp_path, (120, 40)) as (app, pilot, _, __):
        viewer = app.screen
        await pilot.press("enter", "R")
        await until(started.is_set)
        await pilot.press("a", "tab")
        assert app.screen is viewer
        goes_on.set()
        await until(lambda: app.shown_text[-1:] == ["Checked: 1 doubtful claim."])
        await pilot.press("tab")
        await until(lambda: "1 claim, none decided" in screen_text(app))


async def test_other_files_and_versions_have_no_check(tmp_path: Path) -> None:
    session, pane = write_session(tmp_path), PreviewPane()
    decide(session, [1], "accepted")
    async with hosted(pane, size=(100, 30)) as (app, pilot):
        pane.show_path(session / REPORT)
        await until(lambda: "Signed: 1 of 8 accepted, 7 open" in flat(app))
        assert "✗ 6 figures:" in screen_text(app)
        assert "The H200 has 141 GB" in screen_text(app)
        for path, keys, reason in (
            (session / "data.json", ("right_square_bracket", "R", "a", "x", "tab"), "Only HTML"),
            (
                tmp_path / "alone.md",
                ("right_square_bracket", "R"),
                "is not in a session, or it is part of a replay",
            ),
            (session / REPORT, ("right_square_bracket", "x", "tab"), "another version"),
        ):
            path.write_text(f'{{"a": 1}} {HTML}', encoding="utf-8")
            screen = ViewerScreen(path, session)
            await app.push_screen(screen)
            await until(lambda: screen.view.is_laid_out)  # noqa: B023
            await finished(app.workers)
            app.shown_text.clear()
            await pilot.press(*keys)
            assert app.shown_text
            assert all(reason in text for text in app.shown_text), app.shown_text
            assert screen.query_one("#viewer-check").display == (reason == "another version")
            assert not isinstance(screen.view.body, MarkedBody)
            screen.dismiss()
            await pilot.pause()


@pytest.mark.slow
async def test_two_thousand_claims_are_stepped_through(tmp_path: Path) -> None:
    lines = "".join(f"<p>In year {year} it was {year * 7 % 997} units.</p>\n" for year in range(2_000))
    claims = [
        Claim(
            kind="figure",
            state="not found" if year % 2 else "found",
            quote=TextQuote(f"{year * 7 % 997} units", f"In year {year} it was ", "."),
        )
        for year in range(2_000)
    ]
    async with reading(tmp_path, report=lines, claims=claims) as (app, pilot, screen, _):
        await pilot.press("end", "left_square_bracket")
        await until(lambda: screen.view.claim > 1_900)
        await until(lambda: f"In year {screen.view.claim} it was" in screen_text(app))


async def test_a_hostile_check_is_shown_and_its_sources_are_not_opened(tmp_path: Path) -> None:
    evil = "\x1b]0;PWNED\x07\u202e[@click=app.quit]x[/]\0"
    sources = [
        {"kind": "article", "title": evil, "url": evil, "path": path, "session": session, "read_at": at}
        for path, session, at in (
            ("../../../etc/passwd", "", "0001-01-01T00:00:00+14:00"),
            ("/etc/passwd", "..", "9999-12-31T23:59:59-14:00"),
            (evil, evil, "0001-01-01T00:00:00"),
            ("extracted_articles/gone.md", "/etc", None),
        )
    ]
    texts = dict.fromkeys(("sentence", "section", "note", "url", "instead", "formula"), evil)
    planted = [
        msgspec.to_builtins(
            msgspec.structs.replace(
                claim,
                passages=(Passage(source=number % 4, text=evil, quote=TextQuote(evil), headers=evil),),
            )
        )
        | texts
        for number, claim in enumerate(CLAIMS)
    ]
    session = write_session(tmp_path)
    file = session / check_path(REPORT)
    stored = msgspec.json.decode(file.read_bytes())
    stored |= {"check": {"claims": planted, "notices": [evil] * 3}, "sources": sources}
    file.write_bytes(msgspec.json.encode(stored))
    screen = ViewerScreen(session / REPORT, session)
    async with hosted(screen=screen, size=(120, 40)) as (app, pilot):
        await marks_shown(app, screen)
        for _ in CLAIMS:
            await pilot.press("right_curly_bracket", "enter")
            await until(lambda: "PWNED" in screen_text(app))
            await pilot.press("enter")
            await finished(app.workers)
            assert app.screen is screen
            assert not set(screen_text(app)) & set("\x1b\x07\u202e\0")
            await pilot.press("escape")
        await pilot.press("right_square_bracket", "left_square_bracket", "tab")
        await until(lambda: app.screen is not screen and "PWNED" in screen_text(app))
        assert not set(screen_text(app)) & set("\x1b\x07\u202e\0")


async def test_the_screen_may_close_while_a_decision_is_stored(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, pilot, screen, session):
        await pilot.press("enter", "a", "q")
        await until(lambda: app.screen is not screen)
        await until(lambda: decisions_in(session)[1][0] == "accepted")
        await finished(app.workers)
        await asyncio.sleep(0)
