from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from textual.pilot import Pilot

from tests.tui.files_host import Host, finished, hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.viewers.checked_report import HTML, REPORT, claims_in, write_session
from tests.waiting import until
from ua_tui.core.concurrency.cancellation import Stop
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.evidence.files import check_path
from ua_tui.core.evidence.records import Claim, ReportCheck, Verdict
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.files import evidence
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.evidence.marks import MarkedBody
from ua_tui.tui.viewers.evidence.origin import CheckedFile
from ua_tui.tui.viewers.evidence.words import words_of_sentences


@asynccontextmanager
async def reading(
    tmp_path: Path, size: tuple[int, int] = (80, 24), html: str = HTML, claims: list[Claim] | None = None
) -> AsyncIterator[tuple[Host, Pilot[None], ViewerScreen, Path]]:
    """A session's checked report in the viewer, with its marks."""
    session = write_session(tmp_path, html, claims)
    screen = ViewerScreen(session / REPORT, session)
    async with hosted(screen=screen, size=size) as (app, pilot):
        await marks_shown(app, screen)
        yield app, pilot, screen, session


async def marks_shown(app: Host, screen: ViewerScreen) -> None:
    await until(lambda: isinstance(screen.view.body, MarkedBody) and screen.view.is_laid_out)
    await finished(app.workers)


def left_edge(screen: ViewerScreen) -> list[object]:
    """The background of the first cell of each row that is shown."""
    lines = [screen.view.render_line(y) for y in range(screen.view.size.height)]
    return [segment.style.bgcolor if segment.style else None for line in lines for segment in list(line)[:1]]


async def test_keys_go_from_doubt_to_doubt_and_show_the_passage(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, pilot, screen, _):
        await until(lambda: "untraced" in screen_text(app))
        assert "sources disagree on growth of shipments" in " ".join(screen_text(app).split())
        await pilot.press("right_square_bracket")
        assert screen.view.claim == 1
        await pilot.press("enter")
        await until(lambda: "H200 in detail" in screen_text(app))
        assert "↗ in another source" in screen_text(app)
        assert "Sources disagree" in screen_text(app)
        await pilot.press("right_square_bracket")
        await until(lambda: "? untraced" in screen_text(app))
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert screen.view.claim == 6
        assert app.shown_text[-1] == "Last doubtful claim again."
        await pilot.press("right_square_bracket")
        assert app.shown_text[-1] == "First doubtful claim again."
        await pilot.press("right_curly_bracket", "left_curly_bracket", "left_curly_bracket")
        assert screen.view.claim == 0
        await until(lambda: "✓ traced" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "H200 in detail" not in screen_text(app))
        assert app.screen is screen
        await pilot.press("escape")
        assert app.screen is not screen


async def test_the_current_claim_stays_in_view_in_another_form(tmp_path: Path) -> None:
    filler = "".join(f"<p>Sentence {number} of no consequence.</p>" for number in "abcdefghijklmnopqrstuvw")
    html = HTML.replace("<h1>", f"{filler}<h1>", 1)
    async with reading(tmp_path, (120, 24), html=html) as (app, pilot, screen, _):
        await pilot.press("left_square_bracket")
        for key in "mmuu":
            await pilot.press(key)
            await marks_shown(app, screen)
            await pilot.pause()
            row, view = screen.view.claim_row(screen.view.claim), screen.view
            assert 0 <= row - view.scroll_offset.y < view.scrollable_content_region.height


async def test_the_source_opens_at_the_passage(tmp_path: Path) -> None:
    async with reading(tmp_path, (120, 40)) as (app, pilot, screen, session):
        await pilot.press("right_square_bracket", "enter", "enter")
        await until(lambda: app.screen is not screen)
        opened = app.screen
        assert isinstance(opened, ViewerScreen)
        await until(lambda: "shipments grew by 58 percent" in screen_text(app))
        await until(lambda: opened.view.matches[1] == 1)
        marked = opened.view.get_component_rich_style("document--current").bgcolor
        assert marked in left_edge(opened)
        await pilot.resize_terminal(80, 24)
        await finished(app.workers)
        await pilot.pause()
        assert marked not in left_edge(opened)
        await pilot.press("escape", "escape")
        await until(lambda: app.screen is screen)
        (session / "extracted_articles" / "h200.md").unlink()
        await pilot.press("a")
        await until(lambda: app.shown_text and "no longer there" in app.shown_text[-1])
        await pilot.press("right_square_bracket", "a")
        await until(lambda: "no source" in app.shown_text[-1])
        # The signs move into the text where there is no margin.
        await until(lambda: "141 GB✓ of memory" in screen_text(app))
        await pilot.resize_terminal(30, 10)
        await pilot.resize_terminal(120, 40)
        await until(lambda: "141 GB of memory" in screen_text(app))


async def test_signs_and_claims_can_be_clicked(tmp_path: Path) -> None:
    async with reading(tmp_path, (120, 40)) as (app, pilot, screen, _):
        width = screen.view.size.width
        for what, claim in (("≠", 3), ("141 GB", 0)):
            await until(lambda what=what: what in screen_text(app))  # type: ignore[misc]
            lines = screen_text(app).splitlines()
            (y,) = [y for y, line in enumerate(lines) if what in line and y > 3]
            await pilot.click(offset=(lines[y].index(what), y))
            await until(lambda claim=claim: screen.view.claim == claim and screen.evidence.is_open)  # type: ignore[misc]
            await pilot.press("escape")
            await until(lambda: screen.view.size.width == width)
            await finished(app.workers)
            await pilot.pause()


async def test_only_doubtful_claims_are_shown_and_everything_again(tmp_path: Path) -> None:
    html = HTML + "".join(f"<p>Paragraph {number} is long.</p>\n" for number in range(40))
    async with reading(tmp_path, html=html) as (app, pilot, screen, _):
        rows = screen.view.row_count
        await pilot.press("u")
        await until(lambda: screen.view.row_count < rows and "⋯" in screen_text(app))
        await pilot.press("m")
        await until(lambda: "raw" in screen_text(app) and screen.view.is_laid_out)
        await pilot.press("m", "right_square_bracket")
        assert screen.view.claim == 1
        await pilot.press("escape")
        await until(lambda: screen.view.row_count == rows)
        assert app.screen is screen


async def test_without_a_check_keys_say_what_to_do(tmp_path: Path, monkeypatch: Patch) -> None:
    session = write_session(tmp_path)
    other = session / "work_products" / "other.md"
    other.write_text("# Other\n\nIt grew by 58 percent.\n", encoding="utf-8")
    screen = ViewerScreen(other, session)

    def check(path: Path, known: CheckedFile, stop: Stop, *, knowledge: Path | None) -> CheckedFile:
        assert path == other
        if not done:
            done.append(True)
            raise WorkspaceError("the disk [red]is gone[/]")
        start = other.read_text(encoding="utf-8").index("58 percent")
        claim = Claim(
            kind="figure", verdict=Verdict.UNTRACED, text="58 percent", start=start, end=start + 10, at=11,
            sentence="It grew by 58 percent.",
        )  # fmt: skip
        found = ReportCheck(report=known.report, sha256="", claims=(claim,))
        words = words_of_sentences((claim,))
        return CheckedFile(known.session, known.report, found, True, words, words)

    done: list[bool] = []
    monkeypatch.setattr(evidence, "check_again", check)
    async with hosted(screen=screen, size=(120, 40)) as (app, pilot):
        await until(lambda: screen.evidence.can_check)
        await pilot.press("right_square_bracket", "u", "enter")
        assert app.shown_text[-1] == "This report has not been checked. Press C to check it."
        await pilot.press("C")
        await until(lambda: "the disk [red]is gone[/]" in app.shown_text[-1])
        await pilot.press("C")
        await until(lambda: app.shown_text[-1] == "Checked: 1 doubtful claim.")
        await until(lambda: "? It grew by 58 percent." in screen_text(app))
        assert not (session / check_path("work_products/other.md")).exists()


async def test_other_files_and_versions_have_no_check(tmp_path: Path) -> None:
    session, pane = write_session(tmp_path), PreviewPane()
    async with hosted(pane, size=(100, 30)) as (app, pilot):
        pane.show_path(session / REPORT)
        await until(lambda: "figures:" in screen_text(app))
        assert "The H200 has 141 GB" in screen_text(app)
        for path, keys, reason in (
            (session / "data.json", ("right_square_bracket", "C", "u"), "Only HTML"),
            (tmp_path / "alone.md", ("right_square_bracket", "C", "u"), "belongs to no session"),
            (session / REPORT, ("right_square_bracket",), "another version"),
        ):
            path.write_text(f'{{"a": 1}} {HTML}', encoding="utf-8")
            screen = ViewerScreen(path, session)
            await app.push_screen(screen)
            await until(lambda: screen.view.is_laid_out)  # noqa: B023
            await finished(app.workers)
            app.shown_text.clear()
            await pilot.press(*keys)
            assert app.shown_text
            assert all(reason in text for text in app.shown_text)
            assert screen.query_one("#viewer-check").display == (reason == "another version")
            assert not isinstance(screen.view.body, MarkedBody)
            screen.dismiss()
            await pilot.pause()


async def test_two_thousand_claims_are_stepped_through(tmp_path: Path) -> None:
    lines = "".join(f"<p>In year {year} it was {year * 7 % 997} units.</p>\n" for year in range(2_000))
    start = 0
    claims = []
    for year in range(2_000):
        text = f"{year * 7 % 997} units"
        start = lines.index(text, lines.index(f"year {year} ", start))
        verdict = Verdict.UNTRACED if year % 2 else Verdict.TRACED
        claims.append(Claim(id=year + 1, kind="figure", verdict=verdict, text=text, start=start, end=start + len(text),
                            sentence=f"In year {year} it was {text}.", at=len(f"In year {year} it was ")))  # fmt: skip
    async with reading(tmp_path, html=lines, claims=claims) as (app, pilot, screen, _):
        await pilot.press("end", "left_square_bracket")
        await until(lambda: screen.view.claim > 1_900)
        await until(lambda: f"In year {screen.view.claim} it was" in screen_text(app))


async def test_a_hostile_check_is_shown_and_its_sources_are_not_opened(tmp_path: Path) -> None:
    evil = "\x1b]0;PWNED\x07\u202e[@click=app.quit]x[/]\0"
    far = 1 << 62
    claims = claims_in(HTML)
    sources = [
        {"kind": "article", "title": evil, "url": evil, "path": path, "session": session, "read_at": at}
        for path, session, at in (
            ("../../../etc/passwd", "", "0001-01-01T00:00:00+14:00"),
            ("/etc/passwd", "..", "9999-12-31T23:59:59-14:00"),
            (evil, evil, "0001-01-01T00:00:00"),
            ("extracted_articles/gone.md", "/etc", None),
        )
    ]
    texts = {"text": evil, "sentence": evil, "section": evil, "note": evil, "remarks": [evil], "url": evil}
    passages = [{"source": far, "passage": evil}, {"source": -1}]
    planted = [
        msgspec.to_builtins(claim) | texts | {
            "at": -far, "start": -far if number % 2 else far, "end": far,
            "evidence": [
                {"source": number % 4, "start": -far, "end": far, "passage": evil, "marks": [[-1, far], [0, 3]]},
                *passages,
            ],
        }
        for number, claim in enumerate(claims)
    ]  # fmt: skip
    doubted = {"evidence": [{"source": far}, {"source": 1}], "claims": [1, far]}
    disagreement = {"subject": evil, "values": [evil] * 3, **doubted}
    session = write_session(tmp_path)
    file = session / check_path(REPORT)
    changed = {"claims": planted, "sources": sources, "notices": [evil] * 3, "disagreements": [disagreement]}
    file.write_bytes(msgspec.json.encode(msgspec.json.decode(file.read_bytes()) | changed))
    screen = ViewerScreen(session / REPORT, session)
    async with hosted(screen=screen, size=(120, 40)) as (app, pilot):
        await marks_shown(app, screen)
        for _ in claims:
            await pilot.press("right_curly_bracket", "enter")
            await until(lambda: "PWNED" in screen_text(app))
            await pilot.press("a")
            await finished(app.workers)
            assert app.screen is screen
            assert not set(screen_text(app)) & set("\x1b\x07\u202e\0")
            await pilot.press("escape")
        await pilot.press("u", "right_square_bracket", "left_square_bracket")
        assert app.screen is screen
