from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.app_host import opened, settled
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import finished, screen_text
from tests.tui.panes.test_prompt import PromptApp
from tests.waiting import PATIENCE, until
from ua_tui.core.agent.attachments.places import AttachmentPlaces
from ua_tui.core.agent.definitions.commands import CustomCommand
from ua_tui.core.storage.folders import SAVED_REPORTS, WORKSPACES
from ua_tui.tui.app.commands import commands_of
from ua_tui.tui.panes.prompt.completion import CompletionList, sought_at
from ua_tui.tui.panes.prompt.file_index import FileIndex, FoundFile, search, search_files
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.services.connections import ConnectionsScreen
from ua_tui.tui.screens.session.mode import ModeScreen
from ua_tui.tui.widgets.command import Command, command_problem, commands_for, typed_command

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def no_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """List all files at the first time, however long a busy machine takes for it."""
    monkeypatch.setattr("ua_tui.tui.panes.prompt.file_index._MOST_SECONDS", PATIENCE)


def session_folder(base: Path) -> Path:
    folder = base / WORKSPACES / "session_20261121_140200"
    folder.mkdir(parents=True)
    return folder


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def offers(app: PromptApp) -> list[str]:
    found = app.query(CompletionList)
    return (
        [line.rstrip() for line in str(found.first().render()).splitlines()]
        if found and found.first().is_open
        else []
    )


async def offered(app: PromptApp, pilot: Pilot[None]) -> list[str]:
    """Wait for the files to be listed."""
    await pilot.pause()
    await finished(app.workers)
    await pilot.pause()
    return offers(app)


def listed(index: FileIndex, typed: str = "") -> list[FoundFile]:
    return [file for each in index.refresh(typed) for file in each]


def found(*paths: str) -> list[FoundFile]:
    return [FoundFile(path, path.casefold(), f"/{path}", path) for path in paths]


@pytest.mark.parametrize(("row", "before", "kind", "text", "column"), TABLES["written"])
def test_what_is_being_written_is_seen(row: int, before: str, kind: str, text: str, column: int) -> None:
    sought = sought_at(row, before)
    assert sought is not None
    assert (sought.kind, sought.text, sought.column) == (kind, text, column)


@pytest.mark.parametrize(("row", "before"), TABLES["ordinary"])
def test_ordinary_text_offers_nothing(row: int, before: str) -> None:
    assert sought_at(row, before) is None


def test_the_nearest_name_is_first() -> None:
    files = found("reports/old.txt", "notes/my_report.md", "r/e/p/o/r.txt", "report.md", "else.txt")
    assert [file.shown for file in search("report", files, 9)] == [
        "report.md",
        "notes/my_report.md",
        "reports/old.txt",
    ]
    assert [file.shown for file in search("MY_R", files, 9)] == ["notes/my_report.md"]
    assert search("zzz", files, 9) == []
    assert [file.shown for file in search("", files, 2)] == ["reports/old.txt", "notes/my_report.md"]


def test_an_index_finds_files_reports_and_what_changed_since(tmp_path: Path) -> None:
    folder = session_folder(tmp_path)
    put(folder, "work_products/report.html", "run.log", ".hidden", "a/b/c.txt")
    put(tmp_path / SAVED_REPORTS, "old.html")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "away").symlink_to(tmp_path)
    index = FileIndex(AttachmentPlaces(folder), tmp_path / SAVED_REPORTS)
    first = {file.shown: file.mention(index.places) for file in listed(index)}
    assert first == {
        "work_products/report.html": "@work_products/report.html",
        "a/b/c.txt": "@a/b/c.txt",
        "run.log": "@run.log",
        f"{SAVED_REPORTS}/old.html": f"@{tmp_path}/{SAVED_REPORTS}/old.html",
    }
    assert listed(index)[-1].shown == "run.log"
    put(folder, "a/b/new file.txt")
    (folder / "work_products/report.html").unlink()
    second = {file.shown: file.mention(index.places) for file in listed(index)}
    assert second["a/b/new file.txt"] == '@"a/b/new file.txt"'
    assert "work_products/report.html" not in second


def start_folder(base: Path) -> AttachmentPlaces:
    """A start folder and a session, with files that have the same and other names."""
    places = AttachmentPlaces(session_folder(base / "elsewhere"), base / "start")
    put(
        base / "start",
        "data.csv",
        "data_old.csv",
        "my data.csv",
        "notes.md",
        "my docs/plan a.md",
        "docs/x/deep.md",
        ".env",
    )
    put(base / "start", "node_modules/data.js", f"{WORKSPACES}/session_1/data.md", "attachments/own.txt")
    put(places.session, "notes.md", "work/data.json", "attachments/own.txt")
    put(base, "up.txt")
    return places


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("data", ["@data.csv", "@work/data.json", "@data_old.csv", '@"my data.csv"']),
        ("DATA.C", ["@data.csv", '@"my data.csv"']),
        ("deep", ["@docs/x/deep.md"]),
        ("my docs/", ['@"my docs/plan a.md"']),
        ("docs/", ["@docs/x/"]),
        ("docs/x/d", ["@docs/x/deep.md"]),
        ("./not", ["@./notes.md", "@{session}/notes.md"]),
        ("notes", ["@notes.md", "@{session}/notes.md"]),
        ("attachments/", ["@attachments/own.txt", "@./attachments/own.txt"]),
        ("../up", ["@../up.txt"]),
        ("~/", ["@~/elsewhere/", "@~/start/", "@~/up.txt"]),
        ("{base}/up", ["@{base}/up.txt"]),
        (".e", ["@.env"]),
        ("env", []),
        ("gone/", []),
    ],
)
def test_names_are_offered_from_the_start_folder_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    index = FileIndex(start_folder(tmp_path))
    here = {"base": str(tmp_path), "session": str(index.places.session)}
    typed = typed.format_map(here)
    found = search_files(typed, index.refresh(typed), 9)
    assert [each.mention(index.places) for each in found] == [
        mention[:-1] if mention.endswith('/"') else mention
        for mention in (each.format_map(here) for each in offered)
    ]


def test_nothing_typed_offers_the_start_folder_then_the_session(tmp_path: Path) -> None:
    index = FileIndex(start_folder(tmp_path))
    offered = [each.name for each in search_files("", index.refresh(), 50)]
    own = [
        "attachments/",
        "data.csv",
        "data_old.csv",
        "docs/",
        "my data.csv",
        "my docs/",
        "node_modules/",
        "notes.md",
    ]
    assert offered[:8] == own
    assert set(offered[8:11]) == {"work/data.json", "notes.md", "attachments/own.txt"}
    # A long start folder leaves room for the session.
    put(tmp_path / "start", *(f"a{number}" for number in range(60)))
    offered = [each.path for each in search_files("", index.refresh(), 50)]
    assert len([each for each in offered if each.startswith(str(index.places.session))]) == 3


def test_the_exact_name_is_found_among_more_files_than_can_be_ranked() -> None:
    files = found(*(f"data_{number:05}.txt" for number in range(25_000)), "zdata", "data.csv", "d/a/t/a")
    files.sort(key=lambda each: each.folded)
    offered = [each.shown for each in search_files("data", [files], 50)]
    assert (offered[0], len(offered)) == ("data.csv", 50)
    assert [each.shown for each in search_files("zda", [files], 50)] == ["zdata"]


async def test_a_chosen_folder_continues_inside_it(tmp_path: Path) -> None:
    places = start_folder(tmp_path)
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(places)
        await pilot.press(*"see @doc")
        assert (await offered(app, pilot))[0] == "docs/"
        await pilot.press("enter")
        assert app.prompt.text == "see @docs/"
        assert [each.split("  ")[0] for each in await offered(app, pilot)] == ["docs/", "docs/x/"]
        await pilot.press("down", "tab")
        assert (await offered(app, pilot))[1] == "docs/x/deep.md"
        await pilot.press("down", "enter")
        assert app.prompt.text == "see @docs/x/deep.md "
        app.prompt.put("")
        await pilot.press("@", *'"my do')
        await offered(app, pilot)
        await pilot.press("enter")
        assert app.prompt.text == '@"my docs/'
        await offered(app, pilot)
        await pilot.press("p", "enter")
        assert app.prompt.text == '@"my docs/plan a.md" '
        assert app.sent == []


async def test_enter_sends_nothing_while_files_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_list = threading.Event()
    refresh = FileIndex.refresh
    monkeypatch.setattr(FileIndex, "refresh", lambda *given: may_list.wait(PATIENCE) and refresh(*given))
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(start_folder(tmp_path))
        try:
            await pilot.press(*"@dat", "enter")
            assert (offers(app), app.prompt.text) == (["Searching files…"], "@dat")
            await pilot.press(*"a_", "enter")
        finally:
            may_list.set()
        assert (await offered(app, pilot))[0] == "data_old.csv"
        await pilot.press("enter")
        assert (app.prompt.text, app.sent) == ("@data_old.csv ", [])


def test_a_folder_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    index = FileIndex(AttachmentPlaces(tmp_path / "nowhere"), tmp_path / "neither")
    assert listed(index) == []


@pytest.mark.parametrize("name", ["a\x1b]0;x\x07b", "line\nbreak", "right\u202eleft", 'quo"te'])
def test_a_hostile_name_is_shown_harmless_and_never_written(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    (file,) = listed(FileIndex(places := AttachmentPlaces(tmp_path)))
    assert file.mention(places) is None
    assert file.shown.isprintable()


def test_a_name_that_is_no_text_is_never_written(tmp_path: Path) -> None:
    try:
        with open(os.path.join(os.fsencode(tmp_path), b"caf\xe9"), "wb"):
            pass
    except OSError:
        return
    (file,) = listed(FileIndex(places := AttachmentPlaces(tmp_path)))
    assert file.mention(places) is None
    assert file.shown.encode()


async def test_tab_and_enter_write_the_file_that_is_pointed_at(tmp_path: Path) -> None:
    folder = session_folder(tmp_path)
    put(folder, "notes/one.txt", "notes/one_two.txt", "other.md")
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(AttachmentPlaces(folder))
        await pilot.press("s", "e", "e", "space", "@", "o", "n", "e")
        assert len(await offered(app, pilot)) == 2
        await pilot.press("down", "up", "tab")
        assert app.prompt.text in ("see @notes/one.txt ", "see @notes/one_two.txt ")
        first = app.prompt.text
        assert offers(app) == []
        app.prompt.put("")
        await pilot.press("s", "e", "e", "space", "@", "o", "n", "e")
        assert len(await offered(app, pilot)) == 2
        await pilot.press("down", "enter")
        assert app.prompt.text not in (first, "see @one")
        assert app.sent == []
        await pilot.press("enter")
        await until(lambda: len(app.sent) == 1)


async def test_escape_closes_the_offers_until_another_name_is_begun(tmp_path: Path) -> None:
    folder = session_folder(tmp_path)
    put(folder, "one.txt")
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(AttachmentPlaces(folder))
        await pilot.press("@")
        assert len(await offered(app, pilot)) == 1
        await pilot.press("escape", "o")
        assert offers(app) == []
        await pilot.press("space", "@")
        assert len(await offered(app, pilot)) == 1
        await pilot.press("left", "left")
        assert offers(app) == []
        await pilot.press("enter")
        await until(lambda: app.sent)
        assert app.sent == ["@o @"]


async def test_files_that_come_while_names_are_offered_are_offered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.tui.panes.prompt.completer._FRESH_SECONDS", 0.05)
    folder = session_folder(tmp_path)
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(AttachmentPlaces(folder))
        await pilot.press("@", "l")
        assert await offered(app, pilot) == ["No matching file."]
        put(folder, "late.txt")
        await until(lambda: [each.split()[0] for each in offers(app)] == ["late.txt"])


async def test_a_file_whose_name_cannot_be_written_says_so(tmp_path: Path) -> None:
    folder = session_folder(tmp_path)
    put(folder, "bad\x1b[2Jname.txt")
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(AttachmentPlaces(folder))
        await pilot.press("@", "b", "a", "d")
        (line,) = await offered(app, pilot)
        assert "cannot be typed" in line
        assert "\x1b" not in line
        await pilot.press("tab")
        assert app.prompt.text == "@bad"


async def test_a_click_takes_a_file_and_the_prompt_keeps_the_focus(tmp_path: Path) -> None:
    folder = session_folder(tmp_path)
    put(folder, "one.txt")
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.offer_files(AttachmentPlaces(folder))
        await pilot.press(*["ctrl+j"] * 6, "@")
        await offered(app, pilot)
        assert await pilot.click(CompletionList, offset=(3, 1))
        assert app.prompt.text.strip() == "@one.txt"
        assert app.prompt.has_focus


async def test_a_command_is_found_run_and_never_sent(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        names = [command.name for command in commands_of(app)]
        assert len(set(names)) == len(names)
        await pilot.press("/", "k", "e", "enter")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.press("/", *"trace", "enter")
        await pilot.pause()
        assert app.focused is not None
        assert app.focused.id == "trace"
        assert app.frame.prompt.text == ""
        assert session.submitted == []


async def test_the_exact_name_of_a_command_runs_it(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    session.custom_commands = tuple(
        CustomCommand(name, "", "user", "x.md", "", "x") for name in ("mod", "models", "git:fix", "fixed")
    )
    session.commands = ("mo", "compact", "clear")
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await settled(app, pilot)
        prompt, commands = app.frame.prompt, commands_of(app)
        await until(lambda: len(prompt._completer.commands) == len(commands))
        for command in commands:
            for name in command.names:
                prompt.put("")
                prompt.insert(f"/{name}")
                offer = prompt._completer.list.offer
                assert offer is not None
                assert (offer.command is not None and offer.command.name) == command.name, name
        # What was pointed at while less was typed does not count, and a command of the agent is sent.
        prompt.put("")
        await pilot.press(*"/mod", "down", "e", "enter")
        await until(lambda: isinstance(app.screen, ModeScreen))
        await pilot.press("escape")
        await pilot.press(*"/mo", "enter")
        assert session.submitted == ["/mo"]


async def test_a_command_that_is_a_query_is_sent_with_its_arguments(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    nasty = "Compare [/nope] [@click=app.quit]x[/]"
    session.custom_commands = (CustomCommand("work:compare", nasty, "user", "x.md", "[two]", "Compare $1"),)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await settled(app, pilot)
        listed = {each.name: each.help for each in commands_of(app)}
        assert listed["work:compare"] == "[two] · yours"
        # One that takes arguments waits for them, and another one is sent at once.
        await pilot.press(*"/work:comp", "enter")
        assert app.frame.prompt.text == "/work:compare "
        await pilot.press(*"a b", "enter")
        session.finish()
        await pilot.press(*"/compact", "enter")
        assert session.submitted == ["/work:compare a b", "/compact"]
        # What a file says is plain text in the palette, too.
        await pilot.press("ctrl+p", *"nope")
        await until(lambda: "(/nope) (@click=app.quit)x(/)" in screen_text(app))
        await pilot.press("enter")
        await until(lambda: app.frame.prompt.text == "/work:compare ")


async def test_walking_the_history_offers_nothing(tmp_path: Path) -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("o", "l", "d", "enter", "@", "x", "enter")
        app.prompt.offer_commands([Command("keys", "Keys", "F1", lambda: None)])
        await pilot.press("up")
        assert app.prompt.text == "@x"
        assert offers(app) == []
        await pilot.press("up")
        assert app.prompt.text == "old"


@pytest.mark.parametrize("name", ["keys", "no-such"])
async def test_a_command_that_is_entered_before_they_are_known_runs_when_they_are(name: str) -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("/", *name, "enter")
        assert (app.prompt.text, app.commanded) == (f"/{name}", [])
        app.prompt.offer_commands([Command("keys", "Keys", "F1", lambda: None)])
        await pilot.pause()
        assert (app.prompt.text, app.commanded) == (("", ["keys"]) if name == "keys" else ("/no-such", []))


async def test_commands_that_become_known_are_offered_for_what_was_typed() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("/", "k", "e")
        assert offers(app) == []
        app.prompt.offer_commands([Command("keys", "Keys", "F1", lambda: None)])
        await pilot.pause()
        assert offers(app)[0].startswith("/keys")


def test_commands_are_found_by_the_beginning_of_a_word() -> None:
    made = [
        Command(name, title, "", lambda: None)
        for name, title in (("theme", "Change the theme"), ("trace", "Show Trace"), ("quit", "Quit"))
    ]
    assert [each.name for each in commands_for("t", made)] == ["theme", "trace"]
    assert [each.name for each in commands_for("show", made)] == ["trace"]
    assert [each.name for each in commands_for("", made)] == ["theme", "trace", "quit"]
    assert commands_for("hem", made) == []
    assert typed_command("/quit ", made) is made[2]
    assert typed_command("/quit now", made) is None
    assert typed_command("quit", made) is None


@pytest.mark.parametrize(
    "text",
    ["/tmp/x is broken", "/etc/hosts", "/etc/hosts what is this?", "/home/x: look", "/etc", "/tmp is full", "/",
     "/ model", "/compact", "/compact now", "/compact\nkeep this", "/mine:tidy", "/tidy", "/tidy up",
     "/x.html", "/2", "/2 of them", "what is /modle?"],
)  # fmt: skip
def test_what_is_no_slip_is_sent(text: str) -> None:
    made = [Command("model", "Model", "", int), Command("connections", "C", "", int, ("servers", "mcp"))]
    assert command_problem(text, made, ("compact", "mine:tidy")) == ""


def test_a_slip_names_what_is_near_and_how_it_is_sent_all_the_same() -> None:
    made = [Command("model", "Model", "", int), Command("connections", "C", "", int, ("servers", "mcp")),
            Command("git:fix", "Fix", "", int), Command("compact", "Compact", "", int, arguments="")]  # fmt: skip
    assert commands_for("fix", made) == commands_for("git:f", made) == made[2:3]
    for text, near in (
        ("/fix", "/git:fix"),
        ("/modle", "/model"),
        ("/Server", "/servers"),
        ("/compat", "/compact"),
        ("/fxi 3", "/git:fix"),
        ("/modl opus", "/model"),
        ("/modle\nand more", "/model"),
        ("/compat the tables", "/compact"),
        ("/follow-up questions, please", "type / to list the commands)"),
        ("/model opus", "/model takes no arguments:"),
    ):
        reported = command_problem(text, made, ("compact", "fixes", "follow"))
        assert near in reported
        assert reported.endswith(": put a space before it to send it as text.")
    # What only the agent knows is not listed, and is not suggested.
    assert "(type / to list" in command_problem("/focs", made, ("compact", "focus"))
    assert "type / to list" in command_problem("/zzzz", made, ())
    assert typed_command("/MCP", made) is made[1]
    assert [each.name for each in commands_for("serv", made)] == ["connections"]


async def test_an_unknown_command_is_not_sent_and_stays_in_the_prompt(tmp_path: Path) -> None:
    async with opened(tmp_path, (120, 40)) as (session, app, pilot):
        await until(lambda: app.frame.prompt._completer.commands)
        await pilot.press(*"/modle", "enter")
        await until(
            lambda: any(
                "There is no command /modle (did you mean" in note.message for note in app._notifications
            )
        )
        assert (session.submitted, app.frame.prompt.text) == ([], "/modle")
        await pilot.press("home", "space", "enter")
        await until(lambda: session.submitted == ["/modle"])
        session.finish()
        await pilot.press(*"/compact", "enter")
        await until(lambda: session.submitted == ["/modle", "/compact"])
        session.finish()
        await pilot.press(*"/mcp", "enter")
        await until(lambda: isinstance(app.screen, ConnectionsScreen))
        assert session.submitted == ["/modle", "/compact"]
        await pilot.press("escape")
        await until(lambda: app.frame.prompt.has_focus and len(app.screen_stack) == 1)
        # With arguments, too; only the same text is sent the second time.
        await pilot.press(*"/modl opus", "enter")
        await until(
            lambda: any("Enter again sends it as text" in note.message for note in app._notifications)
        )
        await pilot.press("5", "enter")
        assert (session.submitted, app.frame.prompt.text) == (["/modle", "/compact"], "/modl opus5")
        await pilot.press("enter")
        await until(lambda: session.submitted == ["/modle", "/compact", "/modl opus5"])
