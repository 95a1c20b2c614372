"""A small application around one widget or screen, in the real styles, for the tests of the file views."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.settings.model import Settings
from ua_tui.tui.screens.application.help import show_help
from ua_tui.tui.theme.themes import THEMES

if TYPE_CHECKING:
    from ua_tui.tui.panes.requests import OpenFile, ShowCall
    from ua_tui.tui.panes.workspace.pane import WorkspacePane

STYLES = Path(__file__).parents[2] / "styles"


class Host(App[None]):
    """Shows `widgets`, then `screen`; keeps the messages and the requests that reach an application."""

    CSS_PATH = [  # noqa: RUF012
        STYLES / "lines.tcss",
        STYLES / "workspace.tcss",
        STYLES / "knowledge.tcss",
        STYLES / "viewer.tcss",
        STYLES / "tool_call.tcss",
        STYLES / "dialogs.tcss",
        STYLES / "column_list.tcss",
    ]

    def __init__(self, *widgets: Widget, screen: Screen[Any] | None = None, theme: str = "ua-dark") -> None:
        super().__init__()
        self.settings = Settings(knowledge="off")
        self._widgets = widgets
        self._first = screen
        self.result: object = None
        self.opened: list[Path] = []
        self.highlighted: list[Path] = []
        self.urls: list[str] = []
        self.copied: list[str] = []
        self.shown_text: list[str] = []
        self.calls: list[str] = []
        self.previewing = True
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme

    def compose(self) -> ComposeResult:
        yield from self._widgets

    def on_mount(self) -> None:
        if self._first is not None:
            self.push_screen(self._first, self._take)

    def _take(self, result: object) -> None:
        self.result = result

    def on_open_file(self, event: OpenFile) -> None:
        self.opened.append(Path(event.path))

    def on_workspace_pane_highlighted(self, event: WorkspacePane.Highlighted) -> None:
        if event.path is None:
            return
        self.highlighted.append(event.path)
        if self.previewing:
            from ua_tui.tui.panes.workspace.pane import WorkspacePane

            for pane in self.query(WorkspacePane):
                pane.previewed(event.path)

    def on_workspace_pane_deletion_requested(self, event: WorkspacePane.DeletionRequested) -> None:
        from ua_tui.tui.screens.session.confirm import DeleteScreen

        self.push_screen(DeleteScreen(event.name, event.facts), event.answer)

    def on_show_call(self, event: ShowCall) -> None:
        self.calls.append(event.tool_use_id)

    def action_help(self) -> None:
        show_help(self, everything=True)

    def action_keys_here(self) -> None:
        show_help(self)

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.urls.append(url)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    def notify(self, message: str, **options: object) -> None:
        self.shown_text.append(message)


@asynccontextmanager
async def hosted(
    *widgets: Widget,
    screen: Screen[Any] | None = None,
    size: tuple[int, int] = (80, 24),
    theme: str = "ua-dark",
) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    """Run a host; warnings of the run are errors as everywhere."""
    app = Host(*widgets, screen=screen, theme=theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


async def finished(workers: Iterable[Worker[Any]]) -> None:
    """Let workers end, however they end, also those that they start; one that is given up may never have begun."""
    await until(lambda: all(worker.is_finished or worker.is_cancelled for worker in workers))


def jobs_of(screen: Screen[Any]) -> list[Worker[Any]]:
    """The workers of a screen and of what is on it."""
    return [each for each in screen.app.workers if screen in each.node.ancestors_with_self]


def sit_at_a_desktop(monkeypatch: Patch, programs: Path | None = None) -> None:
    """Give this process a display, and in `programs` all the programs there are."""
    for name in ("SSH_CONNECTION", "SSH_TTY", "BROWSER", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":99")
    if programs is not None:
        monkeypatch.setenv("PATH", str(programs))


def screen_text(app: App[Any]) -> str:
    """What the terminal would show, line by line."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())
