"""What the application sends to its terminal for a picture, and when it takes it back."""

from __future__ import annotations

import asyncio
import base64
import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from PIL import Image, ImageChops
from textual._compositor import LayoutUpdate
from textual.pilot import Pilot
from textual.widget import Widget

from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pane_host import call_screen
from tests.tui.tree_host import previewed
from tests.waiting import until
from ua_tui.core.events.types import ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import ImageContent, McpObservation, TextContent
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.graphics.kitty import PLACEHOLDER
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.tool_call.screen import CallView, ToolCallScreen
from ua_tui.tui.viewers.view.document_view import DocumentView

GRAPHICS = re.compile("\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\\\")


class Sent(list[str]):
    """Everything that was written to the terminal."""

    @property
    def commands(self) -> list[tuple[dict[str, str], str]]:
        """The graphics commands of Kitty, in order, with their data."""
        return [
            (dict(part.split("=", 1) for part in match[1].split(",")), match[2] or "")
            for text in self
            for match in GRAPHICS.finditer(text)
        ]

    @property
    def live(self) -> set[str]:
        """The pictures the terminal holds; what it received must make sense."""
        held: set[str] = set()
        for keys, _ in self.commands:
            if keys.get("a") == "T":
                held.add(keys["i"])
            elif keys.get("a") == "d":
                held.remove(keys["i"])
        return held


def picture(path: Path, size: tuple[int, int] = (400, 300)) -> Path:
    gradient = Image.linear_gradient("L").resize(size)
    Image.merge("RGB", (gradient, gradient.transpose(Image.Transpose.ROTATE_180), gradient)).save(path)
    return path


@asynccontextmanager
async def on_terminal(
    tmp_path: Path, monkeypatch: Patch, pictures: str, size: tuple[int, int] = (160, 50)
) -> AsyncIterator[tuple[UaTuiApp, Sent, Pilot[str]]]:
    """An application on a terminal with 24-bit colours, whose driver writes into a list."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    sent = Sent()
    driver = "textual.drivers.headless_driver.HeadlessDriver.write"
    monkeypatch.setattr(driver, lambda _self, text: sent.append(text))
    app = make_app(tmp_path, make_session(tmp_path), pictures=pictures)
    async with app.run_test(size=size) as pilot:
        yield app, sent, pilot


def placeholders(view: DocumentView) -> int:
    return sum(view.render_line(y).text.count(PLACEHOLDER) for y in range(view.size.height))


def in_viewer(app: UaTuiApp) -> int:
    """How many cells of a picture the viewer shows."""
    return sum(placeholders(view) for view in app.screen.query("#viewer-view").results(DocumentView))


async def viewed(app: UaTuiApp, path: Path) -> None:
    await until(lambda: app.query(WorkspacePane) and app.state == "idle")
    app.push_screen(ViewerScreen(path))


async def refreshed(view: Widget) -> None:
    """Refresh a view, and wait until the screen is painted."""
    painted = asyncio.Event()
    view.refresh()
    view.screen.call_after_refresh(painted.set)
    await painted.wait()


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "session_20261121_140200"
    folder.mkdir(exist_ok=True)
    return folder


async def test_a_picture_is_sent_once_and_deleted_when_left(tmp_path: Path, monkeypatch: Patch) -> None:
    path = picture(folder_of(tmp_path) / "a.png")
    (path.parent / "b.txt").write_text("text")
    async with on_terminal(tmp_path, monkeypatch, "kitty") as (app, sent, pilot):
        preview = await previewed(app, path)
        await until(lambda: placeholders(preview))
        (first, data), *rest = sent.commands
        assert first["a"] == "T"
        assert first["U"] == "1"
        assert all(keys["q"] == "2" for keys, _ in sent.commands)
        whole = base64.b64decode(data + "".join(each for _, each in rest), validate=True)
        decoded = Image.open(io.BytesIO(whole)).convert("RGB")
        original = Image.open(path).resize(decoded.size, Image.Resampling.BOX)
        assert max(high for _, high in ImageChops.difference(decoded, original).getextrema()) <= 2  # type: ignore[misc]
        assert placeholders(preview) == int(first["c"]) * int(first["r"])
        assert int(first["c"]) <= preview.scrollable_content_region.width
        assert "400 × 300" in screen_text(app)
        # A dialog cannot dim it, so it is not shown behind one.
        assert PLACEHOLDER in screen_text(app)
        await pilot.press("f1")
        await until(lambda: len(app.screen_stack) == 2 and PLACEHOLDER not in screen_text(app))
        await pilot.press("escape")
        await until(lambda: PLACEHOLDER in screen_text(app))
        await previewed(app, path.with_name("b.txt"))
        await until(lambda: not sent.live)
        assert placeholders(preview) == 0
        await previewed(app, path)
        await until(lambda: placeholders(preview))
        assert len(sent.live) == 1
        await pilot.press("ctrl+q")
        await until(lambda: not sent.live)
    assert not sent.live


async def test_viewer_and_preview_have_each_their_own(tmp_path: Path, monkeypatch: Patch) -> None:
    path = picture(folder_of(tmp_path) / "a.png")
    async with on_terminal(tmp_path, monkeypatch, "kitty") as (app, sent, pilot):
        preview = await previewed(app, path)
        await until(lambda: placeholders(preview))
        before = placeholders(preview)
        # Another program has the terminal.
        app.app_suspend_signal.publish(app)
        assert not sent.live
        assert placeholders(preview) == 0
        app.app_resume_signal.publish(app)
        await until(lambda: placeholders(preview) == before)
        assert len(sent.live) == 1
        other = picture(path.with_name("b.png"))
        await viewed(app, other)
        await until(lambda: in_viewer(app))
        assert len(sent.live) == 2
        before = len(sent.commands)
        await pilot.press("w")
        await until(lambda: len(sent.commands) > before and in_viewer(app))
        await until(lambda: len(sent.live) == 2)
        # It leaves the terminal when another body takes its place.
        other.write_text("no picture any more")
        await pilot.press("r")
        await until(lambda: "no picture any more" in screen_text(app) and len(sent.live) == 1)
        assert in_viewer(app) == 0
        picture(other)
        await pilot.press("r")
        await until(lambda: in_viewer(app) and len(sent.live) == 2)
        await pilot.press("escape")
        await until(lambda: len(sent.live) == 1 and not isinstance(app.screen, ViewerScreen))
        assert placeholders(preview)


async def test_a_picture_left_while_sent_is_deleted_first(tmp_path: Path, monkeypatch: Patch) -> None:
    folder = folder_of(tmp_path)
    noise = Image.effect_noise((1500, 1500), 90)
    noise.save(folder / "a.png")
    picture(folder / "b.png")
    async with on_terminal(tmp_path, monkeypatch, "kitty") as (app, sent, _):
        most = 0
        monkeypatch.setattr(
            "ua_tui.tui.graphics.store.PictureStore._has_room", lambda _self: len(sent.commands) < most
        )
        await viewed(app, folder / "a.png")
        await until(lambda: app.graphics.placed)
        most = 4
        await until(lambda: len(sent.commands) > 3)
        app.pop_screen()
        await viewed(app, folder / "b.png")
        await until(lambda: len(app.graphics.placed) == 1)
        await until(
            lambda: sum(view.row_count for view in app.screen.query("#viewer-view").results(DocumentView)) > 2
        )
        most = 100_000
        await until(lambda: in_viewer(app))
        assert len(sent.live) == 1
        starts = [n for n, (keys, _) in enumerate(sent.commands) if keys.get("a") in {"T", "d"}]
        assert [sent.commands[n][0]["a"] for n in starts] == ["T", "d", "T"]
        assert sent.commands[starts[1] - 1][0]["m"] == "1", "it was not sent to its end"


async def test_half_blocks_stay_where_nothing_else_is_known(tmp_path: Path, monkeypatch: Patch) -> None:
    path = picture(folder_of(tmp_path) / "a.png")
    for setting in ("auto", "blocks"):
        async with on_terminal(tmp_path, monkeypatch, setting) as (app, sent, _):
            preview = await previewed(app, path)
            await until(lambda: "▀" in screen_text(app))
            assert placeholders(preview) == 0
            assert not sent.commands
            assert not any("\x1bP" in text for text in sent)


async def test_sixel_is_painted_but_not_under_a_dialog(tmp_path: Path, monkeypatch: Patch) -> None:
    path = picture(folder_of(tmp_path) / "a.png")

    def painted(sent: Sent) -> set[int]:
        found = {int(line) for text in sent for line in re.findall("\x1b\\[(\\d+);\\d+H\x1bP0;1;0q", text)}
        sent.clear()
        return found

    async with on_terminal(tmp_path, monkeypatch, "sixel") as (app, sent, pilot):
        preview = await previewed(app, path)
        await until(lambda: any("\x1bP0;1;0q" in text for text in sent))
        await pilot.pause()
        seen = preview.scrollable_content_region
        first = seen.y + 2 + 1
        lines = painted(sent)
        assert min(lines) == first
        assert lines == set(range(first, first + preview.row_count - 2)) & set(
            range(seen.y + 1, seen.bottom + 1)
        )
        frame = LayoutUpdate([], app.size.region)
        assert {y + 1 for y in app.graphics.paint(app.screen, frame)} == lines, "these are sent whole next"
        await pilot.press("f1")
        await until(lambda: len(app.screen_stack) == 2)
        await pilot.pause()
        painted(sent)
        await refreshed(preview)
        assert painted(sent) == set()
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)
        await until(lambda: any("\x1bP0;1;0q" in text for text in sent))
        await pilot.pause()
        assert painted(sent) == lines
        await previewed(app, picture(path.with_name("c.png"), (20, 10)))
        app.query_one(WorkspacePane).focus()


async def test_a_hostile_picture_sends_nothing(tmp_path: Path, monkeypatch: Patch) -> None:
    whole = picture(folder_of(tmp_path) / "a.png").read_bytes()
    bomb = whole[:16] + (60_000).to_bytes(4, "big") * 2 + whole[24:]
    async with on_terminal(tmp_path, monkeypatch, "kitty") as (app, sent, pilot):
        for name, data, why in (
            ("bomb.png", bomb, "too many pixels"),
            ("cut.png", whole[: len(whole) // 2], "is damaged"),
            ("wrong.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1nothing", "is damaged"),
        ):
            (folder_of(tmp_path) / name).write_bytes(data)
            await viewed(app, folder_of(tmp_path) / name)
            await until(lambda why=why: why in screen_text(app))  # type: ignore[misc]
            await pilot.press("escape")
        assert not sent.commands


async def test_a_large_picture_is_made_small_before_it_is_sent(tmp_path: Path, monkeypatch: Patch) -> None:
    path = folder_of(tmp_path) / "a.png"
    Image.effect_noise((1500, 1000), 90).convert("RGB").save(path, compress_level=1)
    async with on_terminal(tmp_path, monkeypatch, "kitty", (200, 60)) as (app, sent, _):
        await viewed(app, path)
        await until(lambda: in_viewer(app))
        assert sum(len(data) for _, data in sent.commands) < 2_700_000
        assert all(len(text) < 5000 for text in sent if "\x1b_G" in text)


def image(size: tuple[int, int]) -> ImageContent:
    target = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(target, "PNG")
    return ImageContent(base64.b64encode(target.getvalue()).decode())


async def called(app: UaTuiApp, *content: TextContent | ImageContent) -> CallView:
    """Open the screen of a call that gave these back."""
    await until(lambda: app.query(WorkspacePane) and app.state == "idle")
    observation = McpObservation(tool_name="draw", tool_use_id="t", server="s", content=content)
    started = ToolCallStarted(query_id="q", tool_use_id="t", name="mcp__s__draw", input={"a": 1})
    finished = ToolCallFinished(tool_use_id="t", status="success", observation=observation)
    screen = call_screen(started, finished)
    app.push_screen(screen)
    await until(lambda: screen.is_mounted and screen.view.row_count > 4)
    return screen.view


async def test_the_pictures_of_a_call_hang_below_their_captions_and_are_deleted_with_its_screen(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async with on_terminal(tmp_path, monkeypatch, "kitty", (120, 50)) as (app, sent, pilot):
        view = await called(
            app, TextContent("before"), image((200, 100)), TextContent("between"), image((100, 200))
        )
        await until(lambda: len(sent.live) == 2)
        await until(lambda: len([y for y in range(50) if PLACEHOLDER in view.render_line(y).text]) == 15)
        text = [view.render_line(y).text for y in range(view.size.height)]
        captions = [y for y, line in enumerate(text) if "Picture" in line]
        tops = [y for y in range(1, len(text)) if PLACEHOLDER in text[y] and PLACEHOLDER not in text[y - 1]]
        assert [line.count(PLACEHOLDER) for line in (text[tops[0]], text[tops[1]])] == [20, 10]
        assert tops == [caption + 2 for caption in captions]
        assert all(text[y].startswith("  " + PLACEHOLDER) for y in tops), "it stands where its part stands"
        assert "before" in "".join(text)
        assert "between" in "".join(text)
        await pilot.press("end", "left", "left")
        await until(lambda: not placeholders(view))
        assert len(sent.live) == 2, "folded away they are kept"
        await pilot.press("right")
        await until(lambda: placeholders(view))
        await pilot.press("escape")
        await until(lambda: not sent.live)
        await until(lambda: not isinstance(app.screen, ToolCallScreen))
        view = await called(app, *[image((10, 10))] * 300)
        await until(lambda: len(sent.live) == 16)
        await pilot.press("end")
        await until(lambda: "Picture 300" in screen_text(app) and "▀" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, ToolCallScreen))
        await pilot.press("ctrl+q")
    assert not sent.live


async def test_sixel_of_a_call_is_painted_unless_folded(tmp_path: Path, monkeypatch: Patch) -> None:
    def painted(sent: Sent) -> set[tuple[int, int]]:
        found = re.findall("\x1b\\[(\\d+);(\\d+)H\x1bP0;1;0q", "".join(sent))
        return {(int(line), int(column)) for line, column in found}

    async with on_terminal(tmp_path, monkeypatch, "sixel", (120, 50)) as (app, sent, pilot):
        view = await called(app, TextContent("before"), image((200, 100)))
        await until(lambda: painted(sent))
        await pilot.pause()
        seen = view.scrollable_content_region
        caption = next(y for y in range(50) if "Picture" in view.render_line(y).text)
        first = seen.y + caption + 2 + 1
        assert painted(sent) == {(line, seen.x + 2 + 1) for line in range(first, first + 5)}
        await pilot.press("end", "left", "left")
        await until(lambda: "Picture" not in screen_text(app))
        await pilot.pause()
        sent.clear()
        await refreshed(view)
        assert not painted(sent)
        await pilot.press("right")
        await until(lambda: painted(sent))
        await pilot.press("escape")
        await until(lambda: not app.graphics.placed)
