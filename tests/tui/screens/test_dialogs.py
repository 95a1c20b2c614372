from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import segno
from rich.color import Color
from textual.app import App
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Button, Input, Static

from tests.paths import STYLES
from tests.tui.files_host import finished, jobs_of
from tests.waiting import until
from ua_tui.core.agent.permissions.gate import PermissionReply
from ua_tui.core.events.types import (
    AuthRequired,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    ToolCallStarted,
)
from ua_tui.core.provider.setup import ModelSetup
from ua_tui.core.settings.model import Settings
from ua_tui.core.trust_question import FolderQuestion
from ua_tui.core.view.activity import Activity
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.requests.arguments import (
    ArgumentsView,
    argument_lines,
    call_lines,
    reveal,
    thought_of,
)
from ua_tui.tui.screens.requests.auth import AuthScreen
from ua_tui.tui.screens.requests.folder_trust import FolderTrustScreen
from ua_tui.tui.screens.requests.headings import heading_of
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.qr import QrCode
from ua_tui.tui.screens.session.confirm import QuitScreen
from ua_tui.tui.screens.setup.screen import SetupScreen
from ua_tui.tui.theme.themes import DEFAULT_THEME, THEMES
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, TYPING_SECONDS, Box, Dialog

SEND = PermissionAsked(
    request_id="r1",
    tool_name="mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL",
    subjects=["GMAIL_SEND_EMAIL"],
    reason="it sends something to other people",
    input={"tools": [{"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"to": "ann@mail.example"}}]},
)
FOLDER = FolderQuestion(Path("/work"), "undecided", answers=("trusted", "partly", "ignored"))
AUTH = AuthRequired(toolkit="gmail", url="https://connect.example/link/lk_1")


class Stage(App[None]):
    CSS_PATH = STYLES / "dialogs.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.answers: list[object] = []
        self.opened: list[str] = []
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DEFAULT_THEME

    def clock(self) -> float:
        return self.now

    async def ask(self, pilot: Pilot[None], dialog: Dialog[Any], wait: float = QUIET_SECONDS) -> None:
        dialog.clock = self.clock
        self.push_screen(dialog, self.answers.append)
        await pilot.pause()
        # Its quiet time begins only then.
        await until(lambda: dialog.is_drawn)
        # What it draws in a thread makes it larger, and moves its answers.
        await finished(jobs_of(dialog))
        await pilot.pause()
        self.now += wait

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.opened.append(url)

    def shown(self) -> str:
        texts = [str(each.content) for each in self.screen.query(Static).results(Static)]
        rows = [row for view in self.screen.query(ArgumentsView) for row in view._rows]
        labels = [str(button.label) for button in self.screen.query(Button).results(Button)]
        return "\n".join([*texts, *rows, *labels])


def quit_screen() -> QuitScreen:
    """The question before quitting while a query runs."""
    activity = Activity().after(QueryReceived(query_id="q1", text="Research"))
    return QuitScreen(1, lambda: activity, lambda: 1.0)


async def test_keys_typed_before_it_can_be_read_do_not_answer() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        for dialog in (
            PermissionScreen(SEND), AuthScreen(AUTH), ErrorScreen("it died"), quit_screen(),
            SetupScreen(ModelSetup(Settings())), FolderTrustScreen(FOLDER),
        ):  # fmt: skip
            await app.ask(pilot, dialog, wait=QUIET_SECONDS - 0.01)
            await pilot.press(
                "a", "s", "d", "enter", "escape", "r", "q", "y", "n", "o", "1", "5", "t", "p", "i"
            )
            await pilot.pause()
            assert (app.answers, app.opened) == ([], [])
            assert app.screen is dialog
            dialog.withdraw()
            await pilot.pause()
            assert app.answers.pop() is None


async def test_a_dialog_is_not_wider_than_a_terminal_with_few_columns() -> None:
    app = Stage()
    async with app.run_test(size=(24, 12)) as pilot:
        for dialog in (PermissionScreen(SEND), AuthScreen(AUTH), quit_screen(), FolderTrustScreen(FOLDER)):
            await app.ask(pilot, dialog)
            assert dialog.query_one(Box).region.width == 24
            dialog.withdraw()
            await pilot.pause()


async def test_neither_someone_who_types_on_nor_a_click_answers_by_accident() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, PermissionScreen(SEND), wait=0.1)
        for key in "search and send":
            await pilot.press("space" if key == " " else key)
            app.now += 0.15
        await pilot.click("#once")
        assert app.answers == []
        app.now += QUIET_SECONDS
        await pilot.click("#once")
        await pilot.pause()
        assert app.answers == [PermissionReply(allow=True)]
        # Somebody who was typing is given longer.
        app.typed_at = float("inf")  # type: ignore[attr-defined]  # as the application keeps it
        await app.ask(pilot, PermissionScreen(SEND))
        for wait in (0, QUIET_SECONDS, TYPING_SECONDS):
            assert len(app.answers) == 1
            app.now += wait
            await pilot.press("a")
        assert app.answers == [PermissionReply(allow=True)] * 2


async def test_a_permission_names_the_tools_inside_and_shows_every_argument() -> None:
    app = Stage()
    tools = [
        {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"body": "one\ntwo\u202ethree", "n": 3}},
        {"tool_slug": "SLACK_POST", "arguments": {"text": "word " * 200_000 + "END"}},
    ]
    async with app.run_test() as pilot:
        await app.ask(
            pilot,
            PermissionScreen(
                msgspec.structs.replace(
                    SEND, subjects=["GMAIL_SEND_EMAIL", "SLACK_POST"], input={"tools": tools}
                )
            ),
        )
        shown = app.shown()
        assert "GMAIL_SEND_EMAIL, SLACK_POST" in shown
        assert "two‹U+202E›three" in shown
        assert "END" in shown.replace("\n", "")
        assert "COMPOSIO_MULTI_EXECUTE_TOOL (composio)" in shown
        # A megabyte of arguments is laid out whole.
        assert sum(map(len, app.screen.query_one(ArgumentsView)._rows)) >= 1_000_000


async def test_text_from_elsewhere_is_shown_as_it_is() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        text = "[/][@click=app.quit]x[/][$foo]a[0]['x']\\[red][link=file:///x]"
        event = PermissionAsked(
            request_id="r", tool_name=text, reason=text, subjects=[text, "b"],
            input={text: [text, {"k": text}]},
        )  # fmt: skip
        for dialog in (
            PermissionScreen(event),
            AuthScreen(AuthRequired(toolkit=text, url=text)),
            ErrorScreen(text, [text]),
            SetupScreen(ModelSetup(Settings()), text),
        ):
            await app.ask(pilot, dialog)
            assert text in app.shown()
            dialog.withdraw()
            await pilot.pause()


async def test_an_answer_from_elsewhere_closes_the_dialog_even_under_another() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        dialog = PermissionScreen(SEND)
        await app.ask(pilot, dialog)
        app.push_screen(HelpScreen())
        await pilot.pause()
        dialog.withdraw()
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert app.answers == [None]


EXPIRING = AuthRequired(
    toolkit="gmail", url=AUTH.url, expires_at=datetime(2026, 11, 21, 14, 12, 5, tzinfo=UTC)
)


async def test_an_auth_link_counts_down_and_says_when_it_is_over() -> None:
    app = Stage()
    now = datetime(2026, 11, 21, 14, 2, 7, tzinfo=UTC)
    async with app.run_test() as pilot:
        dialog = AuthScreen(EXPIRING, now=lambda: now)
        await app.ask(pilot, dialog)
        assert "Valid    for 9:58" in app.shown()
        now = datetime(2026, 11, 21, 14, 12, 1, tzinfo=UTC)
        await until(lambda: "for 0:04" in app.shown())
        now = datetime(2026, 11, 21, 14, 12, 6, tzinfo=UTC)
        await until(lambda: "ask for a new link" in app.shown())
        await pilot.press("escape")
        await pilot.pause()
    assert app.answers == ["expired"]


async def test_a_code_stands_beside_the_link_where_there_is_room() -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.ask(pilot, AuthScreen(AUTH))
        await finished(app.workers)
        await pilot.pause()
        code = app.screen.query_one(QrCode)
        assert not code.display
        # It comes and goes with the room.
        for size in ((60, 50), (80, 24)):
            await pilot.resize_terminal(120, 40)
            await until(lambda: code.display and code.region.size == code.code_size)
            await until(lambda: app.screen.query_one("#done").region.bottom <= code.screen.size.height)
            await pilot.resize_terminal(*size)
            await until(lambda: not code.display)


async def test_a_code_is_dark_on_light_and_says_the_link_whatever_the_theme() -> None:
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        await app.ask(pilot, AuthScreen(AUTH))
        await finished(app.workers)
        await pilot.pause()
        code = app.screen.query_one(QrCode)
        for theme in ("ua-dark", "ua-light", "ua-ansi"):
            app.theme = theme
            await pilot.pause()
            strips = [code.render_line(y) for y in range(code.region.height)]
            styles = [segment.style for strip in strips for segment in strip]
            colours = {(style.color, style.bgcolor) if style else None for style in styles}
            assert colours == {(Color.from_rgb(0, 0, 0), Color.from_rgb(255, 255, 255))}
    halves = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    drawn = [[halves[cell][half] for cell in strip.text] for strip in strips for half in (0, 1)]
    meant = [list(row) for row in segno.make(AUTH.url, error="l", micro=False).matrix_iter(border=4)]
    assert drawn[: len(meant)] == meant
    assert not any(any(row) for row in [*drawn[:4], *drawn[len(meant) - 4 :]])
    assert not any(any(row[:4]) or any(row[-4:]) for row in drawn)


async def test_a_link_that_is_none_of_the_web_and_one_too_long_have_no_code() -> None:
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        for url in ("https://a.example/" + "x" * 1_000, "vscode://x/y"):
            dialog = AuthScreen(AuthRequired(toolkit="x", url=url))
            await app.ask(pilot, dialog)
            await finished(app.workers)
            assert not app.screen.query(QrCode)
            if url == "vscode://x/y":
                await pilot.press("o")
                assert app.opened == []
                assert "copy only" in app.shown()
            dialog.withdraw()
            await pilot.pause()


async def test_quitting_says_what_runs_and_that_it_is_done() -> None:
    app = Stage()
    activity = Activity()
    query = "Research\x1b[31m the news " + "everywhere " * 20
    activity = activity.after(QueryReceived(query_id="q1", text=query))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("mcp__composio__COMPOSIO_SEARCH_NEWS", {"query": "AI chips"}),
        ("Agent", {"subagent_type": "report-creation-expert"}),
        *[("Bash", {"command": f"sleep {each}"}) for each in range(4)],
    ]
    for number, (name, given) in enumerate(calls):
        began = datetime.fromtimestamp(8, UTC)
        activity = activity.after(
            ToolCallStarted(query_id="q1", tool_use_id=f"t{number}", name=name, input=given, at=began)
        )
    async with app.run_test(size=(120, 40)) as pilot:
        await app.ask(pilot, QuitScreen(0, lambda: activity, lambda: 41.0))
        await until(lambda: "41.0s  Research" in app.shown())
        shown = app.shown()
        assert "\x1b" not in shown
        assert sum("everywhere" in line for line in shown.splitlines()) == 1, "each has one line"
        assert "33.0s  SEARCH_NEWS  AI chips" in shown
        assert "report-creation-expert" in shown
        assert "and 2 more" in shown
        activity = activity.after(QueryFinished(query_id="q1", status="success"))
        await until(lambda: "has finished" in app.shown())
        assert "SEARCH_NEWS" not in app.shown()


def test_hidden_characters_are_written_out() -> None:
    assert reveal("a\u202eb\x1b[2J\u200b\U000e0041") == "a‹U+202E›b‹U+001B›[2J‹U+200B›‹U+E0041›"
    assert reveal("tab\tline\r\nend ⚠\ufe0f") == "tab\tline\nend ⚠\ufe0f"
    assert reveal("a\ufe0f") == "a‹U+FE0F›"


def test_arguments_are_complete_and_readable() -> None:
    value = {"a": [1, {"b": None, "c": True}], "empty": {}, "none": [], "text": "one\ntwo", "blank": ""}
    assert argument_lines(value) == [
        "a:", "  - 1", "  -", "    b: null", "    c: true", "empty: {}", "none: []", "text:", "  one", "  two",
        'blank: ""',
    ]  # fmt: skip
    assert argument_lines({}) == ["(none)"]


async def test_a_long_value_continues_under_its_own_indent_and_nothing_is_lost() -> None:
    words = [f"word{number}" for number in range(90)]
    asked = msgspec.structs.replace(
        SEND, input={"tools": {"to": " ".join(words), "n": "ä" * 300, "c": "漢字" * 200}}
    )
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.ask(pilot, PermissionScreen(asked))
        rows = app.screen.query_one(ArgumentsView)._rows
        width = app.screen.query_one(ArgumentsView).scrollable_content_region.width
    first = ("  to: ", "  n: ", "  c: ")
    assert [row for row in rows if not row.startswith("    ")] == [
        "tools:", *(row for begin in first for row in rows if row.startswith(begin))
    ]  # fmt: skip
    assert max(Content(row).cell_length for row in rows) <= width
    assert " ".join(rows).split()[:93] == ["tools:", "to:", *words, "n:"], "lines are broken between words"
    assert ["".join(rows).count(letter) for letter in "ä漢字"] == [300, 200, 200]


def test_what_the_tools_of_a_call_get_comes_before_what_is_around_them() -> None:
    tools = [
        {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"body": "Hi\nAnn", "subject": "News", "to": "ann"}},
        {"tool_slug": "WAIT", "arguments": {}, "when": "later"},
        {"tool_slug": "BAD\nto: bob", "arguments": {"x": 1}},
        "odd",
    ]
    call: dict[str, Any] = {"thought": "send it", "tools": tools}
    assert thought_of(call) == "send it"
    assert call_lines(call) == [
        "GMAIL_SEND_EMAIL:", "  to: ann", "  subject: News", "  body:", "    Hi", "    Ann",
        "WAIT:", "  (none)",
        "the rest of the call:", "  tools:", "    -", "      tool_slug: WAIT",
        "      when: later", "    -", "      tool_slug:", "        BAD", "        to: bob", "      arguments:",
        "        x: 1", "    - odd",
    ]  # fmt: skip
    assert call_lines({"tools": tools[:1], "x": 1}) == [
        "to: ann", "subject: News", "body:", "  Hi", "  Ann", "the rest of the call:", "  x: 1",
    ]  # fmt: skip
    assert call_lines({"command": "ls", "tools": "x"}) == ["command: ls", "tools: x"]
    assert thought_of({"command": "ls", "thought": "x"}) == ""
    assert call_lines({"thought": "x"}) == ["thought: x"]
    assert call_lines({}) == ["(none)"]


READ = PermissionAsked(
    request_id="r2",
    tool_name="mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL",
    subjects=["NOTION_GET_PAGE"],
    reason="ua-tui cannot tell whether this tool only reads",
    input={"tools": [{"tool_slug": "NOTION_GET_PAGE", "arguments": {"page_id": "p1"}}]},
)


async def test_a_session_is_allowed_by_a_pattern_that_can_be_edited_and_names_what_it_covers() -> None:
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        for edited, pattern in ((False, "NOTION_GET_PAGE"), (True, "NOTION_*")):
            await app.ask(pilot, PermissionScreen(READ))
            await pilot.press("s")
            line = app.screen.query_one("#patterns Input", Input)
            assert (line.value, line.has_focus) == ("NOTION_GET_PAGE", True)
            assert "only this tool" in app.shown()
            if edited:
                await pilot.press(*["backspace"] * len("GET_PAGE"), "*")
                await pilot.pause()
                assert "NOTION_GET_PAGE, and other matching tools" in app.shown()
            assert app.answers == []
            await pilot.press("enter")
            await pilot.pause()
            assert app.answers.pop() == PermissionReply(True, "session", patterns=(pattern,))


async def test_a_pattern_that_is_too_wide_is_not_taken() -> None:
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        await app.ask(pilot, PermissionScreen(READ))
        await pilot.press("s", "ctrl+u", "*", "enter")
        await pilot.pause()
        assert app.answers == []
        assert "* is too broad: begin it with NOTION_." in app.shown()
        # The first Esc leaves the line, the second denies.
        await pilot.press("escape")
        await pilot.pause()
        assert app.answers == []
        assert app.screen.query_one("#deny").has_focus
        await pilot.press("escape")
        await pilot.pause()
        assert app.answers.pop() == PermissionReply(allow=False)
        # A tool with a hidden character in its name is allowed only once.
        await app.ask(pilot, PermissionScreen(msgspec.structs.replace(READ, subjects=["NOTION_\u202eGET"])))
        assert "session" not in app.shown()
        await pilot.press("s")
        assert app.answers == []


async def test_the_answers_and_the_line_to_write_in_stay_in_sight_on_a_small_screen() -> None:
    app = Stage()
    event = msgspec.structs.replace(READ, input={"command": "echo\n" * 200})
    async with app.run_test(size=(80, 24)) as pilot:
        await app.ask(pilot, PermissionScreen(event))
        await pilot.press("end")
        await until(lambda: not app.screen.query_one("#session").disabled)
        steps = (((), "#answers"), (("s",), "#patterns"), (("escape", "r"), "#reasoning"))
        for keys, where in steps:
            await pilot.press(*keys)
            await pilot.pause()
            for each in app.screen.query(f"{where} Input, {where} Button"):
                assert app.screen.get_widget_at(*each.region.offset)[0] is each
                assert each.region.bottom <= 24
        await pilot.press("escape", "home")
        await pilot.pause()
        assert app.screen.query_one(Box).scroll_offset.y == 0
        await pilot.press("pagedown", "down")
        assert app.screen.query_one(Box).scroll_offset.y > 0


LONG = msgspec.structs.replace(
    SEND,
    scopes=["session"],
    input={
        "tools": [{"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"body": "row\n" * 25, "to": "a@b.example"}}]
    },
)


@pytest.mark.parametrize("size", [(60, 16), (80, 24)])
async def test_nothing_allows_a_call_before_the_end_of_what_it_does_was_in_view(
    size: tuple[int, int],
) -> None:
    app = Stage()
    async with app.run_test(size=size) as pilot:
        for down in (["end"], ["down"] * 25, ["space"] * 4):
            dialog = PermissionScreen(LONG)
            await app.ask(pilot, dialog)
            await until(lambda: app.screen.query_one("#once").disabled)
            assert app.screen.query_one(ArgumentsView).region.y < 7, "what the call does is first"
            assert "to: a@b.example" in app.screen.query_one(ArgumentsView)._rows[0]
            assert app.shown().startswith("Send this e-mail?")
            assert "↓ to read the rest" in str(app.screen.query_one(Box).border_subtitle)
            await pilot.press("a", "s", "c")
            await pilot.click("#once")
            assert app.screen is dialog
            assert not app.screen.has_class("-changing")
            assert app.answers == []
            for key in down:
                await pilot.press(key)
            await until(lambda: not app.screen.query_one("#once").disabled)
            assert "read on" not in str(app.screen.query_one(Box).border_subtitle)
            await pilot.press("home", "a")
            await pilot.pause()
            assert app.answers.pop() == PermissionReply(allow=True), "once read is enough"
        await app.ask(pilot, PermissionScreen(LONG))
        await pilot.press("d")
        await pilot.pause()
        assert app.answers == [PermissionReply(allow=False)]


@pytest.mark.parametrize(
    ("tool", "given", "question"),
    [
        ("Bash", {"command": "ls"}, "Run this command?"),
        ("Write", {"file_path": "a\n\u202eb.html"}, "Write a⏎‹U+202E›b.html?"),
        ("Write", {}, "Call Write?"),
        ("mcp__local_toolkit__write_local_file", {"path": "report.html"}, "Write report.html?"),
        ("mcp__composio__GMAIL_SEND_EMAIL", {"to": "x"}, "Send this e-mail?"),
        (SEND.tool_name, SEND.input, "Send this e-mail?"),
        (SEND.tool_name, {"tools": [*SEND.input["tools"]] * 2}, "Call A and 1 more on composio?"),
        # Anybody may call a tool of theirs like this.
        ("mcp__mine__GMAIL_SEND_EMAIL", {"to": "x"}, "Call A and 1 more on mine?"),
    ],
)
def test_the_heading_says_what_a_call_does(tool: str, given: dict[str, Any], question: str) -> None:
    assert heading_of(tool, given, [] if "Write" in question else ["A", "B"]) == question
