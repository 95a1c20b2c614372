from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tui.app_host import at_work, shown
from tests.tui.pane_host import PaneHost, finished, handle_events, hosted, rows, started
from tests.tui.viewers.claims.checked_report import REPORT as CHECKED
from tests.tui.viewers.claims.checked_report import decide, write_session
from tests.waiting import until
from ua_tui.core.claims.files import ledger_path
from ua_tui.core.events.types import (
    ArtifactChanged,
    ArtifactSaved,
    ClaimsDecided,
    ErrorRaised,
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    ReportChecked,
    SessionRewound,
    SubagentStarted,
)
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.conversation.blocks import Card
from ua_tui.tui.panes.conversation.page import FileLinks
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.conversation.results import Result, Results, describe_file
from ua_tui.tui.render.markdown.renderer import MarkdownTheme, render_markdown
from ua_tui.tui.screens.files.viewer import ViewerScreen

REPORT = "work_products/ai-chip-news.html"
PAGE = """<html><head><title>AI chips &amp; memory</title></head><body><h1>Other</h1>
<a href="https://a.example/1">one</a> <a href='https://a.example/1/'>again</a> <a href="https://b.example/2">two</a>"""


def saved(path: str = REPORT, kind: str = "work_product", **given: Any) -> ArtifactSaved:
    return ArtifactSaved(path=path, kind=kind, size=10_047, sha256="0", observer="o", **given)


def answered(*during: Event, query: str = "q1") -> list[Event]:
    return [
        QueryReceived(query_id=query, text="Write it"),
        *during,
        MessageFinished(query_id=query, message_id=f"m-{query}", text="It is written."),
        QueryFinished(query_id=query, status="success"),
    ]


def test_a_page_that_a_server_returned_is_a_file_and_no_report() -> None:
    results = Results()
    results.handle_event(saved(), SessionView())
    given = results.handle_event(saved("downloads/report.html", "file"), SessionView())
    assert given is not None
    assert given.kind == "file"
    assert results.newest() == results.handle_event(saved(), SessionView())


def cards(view: ConversationPane) -> list[Result]:
    return [block.result for block in view.entries if isinstance(block, Card)]


@pytest.mark.parametrize(
    ("path", "kind", "content", "title", "sources"),
    [
        (REPORT, "report", PAGE, "AI chips & memory", 2),
        ("work_products/note_20261123_033028.md", "report", "in\n\n# The **week**\n<https://a.example>", "The week", 1),
        ("work_products/plain.txt", "report", "nothing else", "Plain", 0),
        ("expanded_corpus.json", "corpus", '{\n  "saved_at": "x",\n  "count": 8,\n', "Corpus of articles", 8),
        ("downloads/paper.html", "document", "<title>A paper</title>", "A paper", 0),
        ("downloads/monthly_revenue.png", "chart", "\x89PNG", "Monthly revenue", 0),
        ("work_products/media/clip.mp4", "video", "x", "Clip", 0),
        ("downloads/table.csv", "data", "a,b", "Table", 0),
        ("downloads/tool.bin", "file", "x", "Tool", 0),
        ("work_products/bad.html", "report", "<title>a\x1b]0;b</title>", "a\N{REPLACEMENT CHARACTER}]0;b", 0),
    ],
)  # fmt: skip
def test_a_result_says_what_it_is(
    tmp_path: Path, path: str, kind: str, content: str, title: str, sources: int
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(content)
    saved_as = {"corpus": "corpus", "report": "work_product"}.get(kind, "download")
    result = Results().handle_event(saved(path, saved_as), SessionView())
    assert result is not None
    described = describe_file(tmp_path, result)
    assert (described.kind, described.title, described.sources) == (kind, title, sources)
    assert described.size == (tmp_path / path).stat().st_size
    # A file that is gone, or a link out of the folder, leaves what the event said.
    (tmp_path / path).unlink()
    assert describe_file(tmp_path, result) == result


def test_the_newest_report_is_found_and_versions_are_kept() -> None:
    results, view = Results(), SessionView()
    assert results.newest() is None
    for event in (
        saved(copied_to="/r/1.html", tool_use_id="t1"),
        saved("search_results/a.json", "search_results"),
        saved(copied_to="/r/2.html", tool_use_id="t2"),
        saved("downloads/chart.png", "download"),
        started("t3", "mcp__local_toolkit__save_corpus"),
        finished("t3"),
    ):
        view.add(event)
        results.handle_event(event, view)
    newest = results.newest()
    assert newest is not None
    assert (newest.path, newest.copies, newest.tool_use_id) == (REPORT, ("/r/1.html", "/r/2.html"), "t2")
    corpus = results.newest("corpus")
    assert corpus is not None
    assert corpus.path == "expanded_corpus.json"


def checked(summary: str = "2 figures: 1 found, 1 differs", **given: Any) -> ReportChecked:
    return ReportChecked(report=REPORT, check="report_checks/a.json", sha256="0", summary=summary, **given)


def test_a_file_that_is_gone_since_the_session_went_back_is_not_the_newest() -> None:
    results = Results()
    first = results.handle_event(saved("work_products/first.md"), SessionView())
    results.handle_event(saved(), SessionView())
    back = SessionRewound(query_id="q2", provider_session_id="c2", removed=[REPORT])
    results.handle_event(back, SessionView())
    assert results.newest() == first


def test_a_check_belongs_to_the_version_of_the_report_that_it_read() -> None:
    results = Results()
    assert results.handle_event(checked(), SessionView()) is None
    results.handle_event(saved(tool_use_id="t1"), SessionView())
    found = results.handle_event(checked(), SessionView())
    assert found is not None
    assert found.check == checked()
    assert results.newest() == found
    later = results.handle_event(saved(tool_use_id="t2"), SessionView())
    assert later is not None
    assert later.check is None


async def test_a_card_says_how_much_of_a_report_is_signed(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    decide(session, [0, 1], "accepted")
    view = ConversationPane()
    async with PaneHost(view).run_test(size=(80, 24)):
        view.files.folder = session
        checks = ReportChecked(report=CHECKED, check="c", sha256="0", summary="6 figures", red=2)
        handle_events(view, answered(saved(CHECKED), checks))
        await until(lambda: any("Signed: 2 of 8 accepted, 6 open" in row for row in rows(view)))
        decide(session, [2], "rejected")
        handle_events(view, [ClaimsDecided(report=CHECKED, accepted=2, rejected=1, open=5)])
        await until(lambda: any("Signed: 2 of 8 accepted, 1 rejected, 5 open" in row for row in rows(view)))
        # Below a later query, the decision is on the card of the one that made the report.
        handle_events(view, answered(query="q2"))
        decide(session, [3], "rejected")
        handle_events(view, [ClaimsDecided(report=CHECKED, accepted=2, rejected=2, open=4)])
        await until(lambda: any("Signed: 2 of 8 accepted, 2 rejected, 4 open" in row for row in rows(view)))
        assert len(cards(view)) == 1
        # What a person decided is not about the file as somebody has changed it.
        handle_events(view, [ArtifactChanged(path=CHECKED, kind="work_product", size=9, sha256="1")])
        await until(lambda: not any("Signed" in row for row in rows(view)))
        (session / ledger_path(CHECKED)).write_text("{")
        handle_events(view, [saved(CHECKED, tool_use_id="t2"), checks])
        await until(lambda: any("6 figures" in row for row in rows(view)))


async def test_a_card_says_what_the_check_found(tmp_path: Path) -> None:
    (tmp_path / REPORT).parent.mkdir()
    (tmp_path / REPORT).write_text(PAGE)
    view = ConversationPane()
    host = PaneHost(view)
    async with host.run_test(size=(40, 24)) as pilot:
        view.files.folder = tmp_path
        found = checked("61 figures: 58 found, 3 differ · 9 quotations verbatim", red=3)
        handle_events(view, answered(saved(), found))
        await until(lambda: cards(view)[0].title == "AI chips & memory")
        await until(lambda: any("61 figures" in row for row in rows(view)))
        lines = [row.strip(" ▌") for row in rows(view) if row.strip(" ▌")]
        assert lines[-3:] == ["✗ 61 figures: 58 found, 3", "differ · 9 quotations", "verbatim"]
        await pilot.press("enter")
        assert host.opened == [REPORT]
        # A check that ends after the answer changes the card in its place.
        handle_events(view, [saved(tool_use_id="t2"), checked("61 figures: 61 found")])
        await until(lambda: any("· 61 figures: 61 found" in row for row in rows(view)))
        assert len(cards(view)) == 1
        # What the check found is not of the file as somebody has changed it.
        changed = ArtifactChanged(path=REPORT, kind="work_product", size=9_000, sha256="1")
        handle_events(view, [changed])
        await until(lambda: not any("61 figures" in row for row in rows(view)))
        assert len(cards(view)) == 1


async def test_an_answer_ends_in_a_card_that_opens_its_file(tmp_path: Path) -> None:
    (tmp_path / REPORT).parent.mkdir()
    (tmp_path / REPORT).write_text(PAGE)
    view = ConversationPane()
    host = PaneHost(view)
    async with host.run_test(size=(80, 24)) as pilot:
        view.files.folder = tmp_path
        handle_events(view, answered(saved()))
        await until(lambda: cards(view)[0].title == "AI chips & memory")
        *_, title, facts = [row.strip(" ▌") for row in rows(view) if row.strip(" ▌")]
        assert title.split() == ["◆", "AI", "chips", "&", "memory", "Ctrl+O"]
        assert facts == f"Report · 192B · 2 sources · {REPORT}"
        await pilot.press("enter")
        await pilot.click(ConversationPane, offset=(12, 8))
        assert host.opened == [REPORT, REPORT]
        # What is saved after the end belongs to the same answer; a new version replaces its card.
        handle_events(view, [saved(tool_use_id="t2"), saved("downloads/chart.png", "download")])
        assert [card.path for card in cards(view)] == [REPORT, "downloads/chart.png"]
        # A later query shows what it has changed in a card of its own.
        handle_events(view, answered(saved(), query="q2"))
        assert [card.path for card in cards(view)] == [REPORT, "downloads/chart.png", REPORT]
        assert sum("Ctrl+O" in row for row in rows(view)) == 1


async def test_the_corpus_of_a_report_is_a_link_on_its_card() -> None:
    async with hosted(ConversationPane(), 100, 24) as (view, pilot):
        handle_events(view, answered(saved("expanded_corpus.json", "corpus"), saved()))
        await pilot.pause()
        assert [card.path for card in cards(view)] == [REPORT]
        word = "corpus"
        place = next((row.index(word), y) for y, row in enumerate(rows(view)) if word in row)
        await pilot.press("enter")
        await pilot.click(ConversationPane, offset=(place[0] + 2, place[1] + 1))
        host = view.app
        assert isinstance(host, PaneHost)
        assert host.opened == [REPORT, "expanded_corpus.json"]


async def test_the_card_of_a_rewritten_report_leads_to_its_versions() -> None:
    async with hosted(ConversationPane(), 80, 24) as (view, pilot):
        await pilot.press("v")
        handle_events(
            view, answered(saved(copied_to="/r/1.html"), saved(copied_to="/r/2.html", tool_use_id="t2"))
        )
        await pilot.pause()
        place = next((row.index("2 versions"), y) for y, row in enumerate(rows(view)) if "2 versions" in row)
        await pilot.press("v")
        await pilot.click(ConversationPane, offset=(place[0] + 2, place[1] + 1))
        host = view.app
        assert isinstance(host, PaneHost)
        assert host.opened == [f"compare {REPORT}"] * 2


async def test_a_query_with_many_files_shows_the_most_important_ones() -> None:
    async with hosted(ConversationPane(), 80, 30) as (view, _):
        files = [saved(f"downloads/{number}.bin", "download") for number in range(9)]
        handle_events(view, answered(*files, saved()))
        assert len(cards(view)) == 5
        assert cards(view)[-1].path == REPORT
        assert any("5 more files in the workspace." in row for row in rows(view))


async def test_a_key_opens_the_newest_report_from_anywhere(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.press("ctrl+o")
        (note,) = [each.message for each in app._notifications]
        assert note == "This session has no report yet."
        path = session.workspace.path / REPORT
        path.parent.mkdir()
        path.write_text(PAGE)
        session.bus.publish(saved())
        session.finish()
        await shown(app, pilot)
        await pilot.press("ctrl+o")
        await until(lambda: isinstance(app.screen, ViewerScreen))


def session_folder(base: Path) -> Path:
    folder = base / "AGENT_RUN_WORKSPACES" / "session_1"
    for path in (REPORT, "search_results/crawl_a.md", "downloads/monthly revenue.png", "big.json.zst"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")
    (base / "SAVED_REPORTS").mkdir()
    (base / "SAVED_REPORTS" / "old_1.html").write_text("x")
    (base / "secret.txt").write_text("x")
    (folder / "out.txt").symlink_to(base / "secret.txt")
    (folder / "away").symlink_to(base)
    return folder


def test_only_files_of_the_session_and_its_reports_are_found(tmp_path: Path) -> None:
    links = FileLinks()
    assert links.find(REPORT) is None
    links.folder = folder = session_folder(tmp_path)
    report, old = str(folder / REPORT), str(tmp_path / "SAVED_REPORTS" / "old_1.html")
    for word in (REPORT, f"./{REPORT}", report, "ai-chip-news.html"):
        assert links.find(word) == report
    assert links.find("old_1.html") == links.find("SAVED_REPORTS/old_1.html") == links.find(old) == old
    assert links.find("big.json") == str(folder / "big.json")
    for word in (
        "out.txt",
        "away/secret.txt",
        "../../secret.txt",
        "/etc/passwd",
        "work_products",
        "a\0.b",
        "3.5",
        "",
    ):
        assert links.find(word) is None
    # A file that comes later is found once there was work that may have made it.
    (folder / "late.md").write_text("x")
    assert links.find("crawl_a.md") is links.find("new.md") is None
    links.handle_event(saved("search_results/crawl_a.md"))
    assert links.find("crawl_a.md") == str(folder / "search_results/crawl_a.md")
    assert links.find("late.md") == str(folder / "late.md")


NOTES, JAPANESE, SPACED = "notes.md", "work_products/日本語.md", "downloads/monthly revenue.png"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see notes.md:12, ./notes.md:3:7.", [("notes.md:12", NOTES, 12), ("./notes.md:3:7", NOTES, 3)]),
        (
            "notes.md#L5-L9 notes.md:0 notes.md:x",
            [("notes.md#L5-L9", NOTES, 5), (NOTES, NOTES), (NOTES, NOTES)],
        ),
        ("[a](notes.md:4) [b](notes.md#L6)", [("a", NOTES, 4), ("b", NOTES, 6)]),
        (f"`{NOTES}:7`", [("notes.md:7", NOTES, 7)]),
        (f"`{SPACED}` or “{SPACED}” here", [(SPACED, SPACED), (SPACED, SPACED)]),
        ('"my notes.md" is not notes.md', [("my notes.md", "my notes.md"), (NOTES, NOTES)]),
        ("見てnotes.mdです、「notes.md」🎉notes.md🎉", [(NOTES, NOTES)] * 3),
        (f"これは{JAPANESE}。", [(JAPANESE, JAPANESE)]),
        ("anotes.md notes.mdx x@notes.md notes.md/x", []),
    ],
)
def test_names_with_lines_spaces_and_wide_characters_are_links(
    text: str, links: list[tuple[Any, ...]]
) -> None:
    known = (NOTES, f"./{NOTES}", JAPANESE, SPACED, "my notes.md")

    def find(word: str) -> str | None:
        return word.removeprefix("./") if word in known else None

    lines = render_markdown(text, 100, MarkdownTheme(), find_file=find)
    metas = [
        (part.text, part.style.meta) for line in lines for part in line if part.style and part.style.meta
    ]
    assert [(text, *meta.values()) for text, meta in metas if "file" in meta] == links


async def test_each_file_that_the_conversation_names_is_a_link(tmp_path: Path) -> None:
    view = ConversationPane()
    host = PaneHost(view)
    folder = session_folder(tmp_path)
    text = (
        f"See `{REPORT}`, ai-chip-news.html; [the chart](downloads/monthly%20revenue.png), not e.g. away.html.\n\n"
        f"| file |\n|---|\n| crawl: search_results/crawl_a.md |\n\n```\n{REPORT}\n```\n\nhttps://x.example/{REPORT}"
    )
    async with host.run_test(size=(100, 40)) as pilot:
        view.files.folder = folder
        question = QueryReceived(query_id="q1", text=f"Read @{REPORT}")
        failed = ErrorRaised(where="observers", message=f"{REPORT}: it broke")
        expert = SubagentStarted(task_id="k", tool_use_id="t9", name="expert", description=f"Read {REPORT}")
        handle_events(
            view, [question, MessageFinished(query_id="q1", message_id="m", text=text), failed, expert]
        )
        metas = [
            (segment.text, segment.style.meta)
            for y in range(view.size.height)
            for segment in view.render_line(y)
            if segment.style is not None and segment.style.meta
        ]
        files = [(text, meta["file"]) for text, meta in metas if "file" in meta]
        report, crawl = str(folder / REPORT), str(folder / "search_results/crawl_a.md")
        assert files == [
            (REPORT, report), (REPORT, report), ("ai-chip-news.html", report),
            ("the chart", str(folder / "downloads/monthly revenue.png")), ("search_results/crawl_a.md", crawl),
            (REPORT, report), (REPORT, report), (REPORT, report),
        ]  # fmt: skip
        assert [meta["url"] for _, meta in metas if "url" in meta] == [f"https://x.example/{REPORT}"]
        await pilot.click(ConversationPane, offset=(12, 2))
        await pilot.press("home", "o")
        await pilot.pause()
        assert host.opened == [report, report]
        # What is named before it exists becomes a link at the end of the query.
        handle_events(view, [MessageFinished(query_id="q1", message_id="o", text="Then none.md")])
        (folder / "none.md").write_text("x")
        handle_events(view, [finished("t1"), QueryFinished(query_id="q1", status="success")])
        await pilot.press("end", "o")
        await pilot.pause()
        assert host.opened[-1] == str(folder / "none.md")
