from __future__ import annotations

import asyncio
import os
from pathlib import Path

from PIL import Image
from textual import events
from textual.app import App, ComposeResult

from tests.paths import STYLES
from tests.waiting import until
from ua_tui.core.agent.attachments.places import LARGEST, AttachmentPlaces, attach
from ua_tui.core.storage.workspace import Workspace
from ua_tui.tui.panes.prompt.attachments import AttachmentBar
from ua_tui.tui.panes.prompt.history import PromptHistory
from ua_tui.tui.panes.prompt.pane import PASTE_LIMIT, Prompt
from ua_tui.tui.theme.themes import DEFAULT_THEME, THEMES


class PromptApp(App[None]):
    CSS_PATH = STYLES / "prompt.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []
        self.commanded: list[str] = []
        self.taken_back = 0
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DEFAULT_THEME

    def compose(self) -> ComposeResult:
        yield Prompt()

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        self.sent.append(event.text)

    def on_prompt_commanded(self, event: Prompt.Commanded) -> None:
        self.commanded.append(event.command.name)

    def on_prompt_queue_used(self, event: Prompt.QueueUsed) -> None:
        self.taken_back += event.what == "edit"


async def test_deleting_to_the_start_of_a_line_takes_all_of_its_rows() -> None:
    app = PromptApp()
    async with app.run_test(size=(30, 20)) as pilot:
        app.prompt.put("first\n" + "word " * 12)
        await until(lambda: app.prompt.size.height > 2)
        await pilot.press("ctrl+u")
        assert app.prompt.text == "first\n"
        await pilot.press("ctrl+u")
        assert app.prompt.text == "first"


async def test_keys_are_typed_sent_and_walk_the_history() -> None:
    app = PromptApp()
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press("o", "n", "e", "enter", "t", "w", "o", "enter")
        assert app.sent == ["one", "two"]
        await pilot.press("n", "e", "w", "up")
        assert app.prompt.text == "two"
        await pilot.press("up")
        assert app.prompt.text == "one"
        await pilot.press("down", "down")
        assert app.prompt.text == "new"
        await pilot.press("ctrl+j", "x", "up")
        assert (app.prompt.text, app.prompt.size.height) == ("new\nx", 2)
        await pilot.press(*["ctrl+j"] * 20)
        assert app.prompt.size.height == 8
        for keys, text in (("space ctrl+j enter", ""), ("a ctrl+j b shift+enter c enter", "a\nb\nc")):
            app.sent.clear()
            app.prompt.put("")
            await pilot.press(*keys.split())
            assert app.sent == [text] * bool(text)
        app.prompt.put("")
        app.prompt.post_message(events.Paste("a\r\nb\tc\x1b[31m\u202ed\rE"))
        await pilot.pause()
        assert app.prompt.text == "a\nb\tc[31md\nE"
        # Keys typed at speed stay in their order, and those that choose a pane are no text.
        app.prompt.put("")
        app.sent.clear()
        for key in ("alt+2", "a", "ctrl+j", "b", "c", "ctrl+j", "d"):
            app.prompt.post_message(events.Key(key, key[-1] if "ctrl" not in key else None))
        await pilot.pause()
        await pilot.press("enter")
        assert app.sent == ["a\nbc\nd"]


async def test_up_in_an_empty_prompt_asks_for_the_queued_query_or_the_history() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("x", "enter")
        app.prompt.show_queue(["a", "b"])
        await pilot.press("up")
        assert (app.taken_back, app.prompt.text) == (1, "")
        assert "2 queued" in str(app.prompt.border_subtitle)
        app.prompt.show_queue([])
        # A history that comes late keeps what was typed before.
        history = PromptHistory(None, "", str)
        history.add("old")
        app.prompt.use_history(history)
        for text in ("x", "old"):
            await pilot.press("up")
            assert app.prompt.text == text


async def test_a_large_paste_is_one_mark_on_the_screen_and_whole_when_sent() -> None:
    app = PromptApp()
    pasted = "line of text\n" * (PASTE_LIMIT // 4)
    async with app.run_test() as pilot:
        await pilot.press("a", "space")
        app.prompt.post_message(events.Paste(pasted))
        await pilot.pause()
        assert len(app.prompt.text) < 100
        await pilot.press("enter")
        assert app.sent == [f"a {pasted}".strip()]
        await pilot.press("up")
        assert len(app.prompt.text) < 100
        await pilot.press("enter")
        assert app.sent[1] == app.sent[0]


class DropApp(PromptApp):
    """A prompt of a session in `folder`; a file is added when the test allows it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.may_add = asyncio.Event()

    def on_mount(self) -> None:
        self.prompt.offer_files(AttachmentPlaces(self.folder))
        self.prompt.attach_file = self.add

    async def add(self, file: Path) -> str:
        await self.may_add.wait()
        return await asyncio.to_thread(attach, Workspace.open(self.folder), file)

    async def drop(self, text: str) -> None:
        """Paste a text, and see it before a file that may be added takes its place."""
        may_add = self.may_add.is_set()
        self.may_add.clear()
        self.prompt.post_message(events.Paste(text))
        await until(lambda: self.prompt.text.endswith(text))
        if may_add:
            self.may_add.set()

    @property
    def shown(self) -> list[str]:
        """The rows of the files."""
        bars = self.query(AttachmentBar)
        return [row.plain.rstrip() for bar in bars for row in bar.render().split() if bar.files]


async def test_a_dropped_file_is_added_shown_and_removed(tmp_path: Path) -> None:
    Image.new("RGB", (40, 20)).save(tmp_path / "My photo.png")
    (tmp_path / "notes.md").write_text("x")
    app = DropApp(tmp_path / "session")
    async with app.run_test(size=(90, 24)) as pilot:
        app.may_add.set()
        await pilot.press("s", "e", "e", "space")
        await app.drop(f"'{tmp_path / 'My photo.png'}' {tmp_path / 'notes.md'}")
        await until(lambda: "MD · 1B" in "".join(app.shown))
        assert app.prompt.text == "see @attachments/my_photo.png @attachments/notes.md "
        assert app.shown[0].startswith("@ my_photo.png  PNG · 40 × 20 · ")
        assert app.shown[1] == "@ notes.md  MD · 1B  ✕"
        # Backspace removes a name, and a click its file; undo restores the path that was pasted.
        await pilot.press("backspace", "backspace")
        await until(lambda: len(app.shown) == 1)
        assert app.prompt.text == "see @attachments/my_photo.png "
        await pilot.click(AttachmentBar, offset=(3, 0))
        await until(lambda: not app.shown)
        assert app.prompt.text == "see "
        # A file of another session is not sent.
        app.prompt.put("@attachments/gone.png")
        await until(lambda: any(app.shown))
        await pilot.press("enter")
        await until(lambda: "not in this session" in app.shown[0])
        assert app.sent == []


async def test_thumbnails_follow_the_height_of_the_screen(tmp_path: Path) -> None:
    Image.new("RGB", (40, 20), "teal").save(tmp_path / "photo.png")
    app = DropApp(tmp_path)
    async with app.run_test(size=(90, 24)) as pilot:
        app.prompt.put("@photo.png")
        await until(lambda: any(app.shown))
        bar = app.query_one(AttachmentBar)
        for height, rows in ((24, 1), (40, 4), (24, 1)):
            await pilot.resize_terminal(90, height)
            await until(lambda rows=rows: bar.size.height == rows)  # type: ignore[misc]
            await until(lambda rows=rows: ("▀" in app.shown[0]) == (rows == 4))  # type: ignore[misc]


async def test_a_name_that_leads_nowhere_is_marked_and_asked_about_once(tmp_path: Path) -> None:
    session, start = tmp_path / "session", tmp_path / "start"
    for folder in (session, start / "data"):
        folder.mkdir(parents=True)
    (start / "data.csv").write_text("x")
    with (start / "large.csv").open("wb") as file:
        file.truncate(LARGEST + 1)
    app = DropApp(session)

    def marked() -> list[str]:
        lines = (app.prompt.get_line(row) for row in range(app.prompt.document.line_count))
        return [line.plain[span.start : span.end] for line in lines for span in line.spans]

    def notes() -> list[str]:
        return [each.message for each in app._notifications]

    async with app.run_test(size=(100, 30)) as pilot:
        app.prompt.offer_files(AttachmentPlaces(session, start))
        # A name that is being written is not marked, also if it is that of a folder.
        await pilot.press(*"see @data.cvs")
        await until(lambda: app.query(AttachmentBar) and not app.query_one(AttachmentBar).is_reading)
        assert (app.shown, marked()) == ([], [])
        await pilot.press("space", *"or @data")
        await until(lambda: app.shown == ["@ data.cvs  no such file · did you mean data.csv?  ✕"])
        assert marked() == ["@data.cvs"]
        # Backspace corrects it.
        await pilot.press(*["backspace"] * 10)
        assert app.prompt.text == "see @data.cv"
        await pilot.press(*"s ", "enter")
        await until(notes)
        assert (app.sent, app.prompt.text) == ([], "see @data.cvs ")
        assert notes()[0].startswith("data.cvs: no such file · did you mean data.csv? ")
        await pilot.press("enter")
        await until(lambda: app.sent == ["see @data.cvs"])
        # It is asked about again in another text, also when Enter comes before the file is looked for.
        await pilot.press(*"@nope.xlsx", "enter")
        await until(lambda: notes()[-1].startswith("nope.xlsx: no such file"))
        await pilot.press("enter")
        await until(lambda: len(app.sent) == 2)
        # A file that cannot be read is not sent, and what is no name of a file is.
        app.prompt.put("@large.csv @data/ ")
        await until(lambda: len(app.shown) == 2)
        await pilot.press("enter")
        await until(lambda: app.shown[1] == "@ data/  folder  ✕")
        await until(lambda: "larger than 32 MB" in app.shown[0])
        for text in ("thanks @ann", "@app.route('/')\ndef f(): ...", "mail ann@firm.example"):
            app.prompt.put(text)
            await pilot.press("enter")
            await until(lambda text=text: app.sent[-1] == text)  # type: ignore[misc]
        assert len(app.sent) == 5


async def test_enter_waits_for_what_was_dropped(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("x")
    app = DropApp(tmp_path / "session")
    async with app.run_test() as pilot:
        await app.drop(str(tmp_path / "notes.md"))
        await pilot.press("enter")
        assert app.sent == []
        app.may_add.set()
        await until(lambda: bool(app.sent))
        assert app.sent == ["@attachments/notes.md"]
        assert app.prompt.text == ""
        # Whatever else is pasted, or cannot be added, stays as it was pasted.
        (tmp_path / "large.bin").touch()
        os.truncate(tmp_path / "large.bin", (32 << 20) + 1)
        for text in ("/no/such/file", str(tmp_path / "large.bin")):
            app.prompt.put("")
            await app.drop(text)
            await app.workers.wait_for_complete()
            assert app.prompt.text == text


async def test_a_prompt_that_is_off_can_be_drawn_without_room_for_a_character() -> None:
    app = PromptApp()
    async with app.run_test(size=(40, 6)) as pilot:
        app.prompt.disabled = True
        await pilot.resize_terminal(3, 3)
        await pilot.pause()
        assert app.prompt.content_size.width == 0
        await pilot.resize_terminal(40, 6)
        assert app.is_running
