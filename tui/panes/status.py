"""The one line that says how things stand: state, time, tokens, cost, path, model, servers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from core.events import (
    ApiRetry,
    AuthFinished,
    AuthRequired,
    Event,
    McpServer,
    McpStatus,
    MessageFinished,
    PathFellBack,
    PermissionAnswered,
    PermissionAsked,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
)
from tui.filters import strip_controls

__all__ = ["StatusLine", "short_count", "short_model", "short_time"]

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
BUSY = ("starting", "running", "stopping")
CONNECTED = ("connected", "ok", "ready")
UNDECIDED = ("pending", "starting", "connecting", "off")
MODES = {
    "default": "asks first",
    "acceptEdits": "edits allowed",
    "plan": "plans only",
    "dontAsk": "never asks",
    "bypassPermissions": "ASKS NOTHING",
}
DEEDS = {"Esc stops": "app.escape", "F1 keys": "app.help", "^Q quit": "app.quit"}
KEYS_GAP = "  "
WORD_WIDTH = 9
AUTH = "auth"
KEPT = 97


def short_time(seconds: float) -> str:
    """Write a duration in at most six cells: `41s`, `12m04s`, `3h07m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def short_count(number: int) -> str:
    """Write a number in at most four cells: `950`, `1.2k`, `38k`, `1.4M`."""
    if number < 1000:
        return str(number)
    for size, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        value = number / size
        if value < 9.95:
            return f"{value:.1f}{unit}"
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return "lots"


def short_model(name: str) -> str:
    """Shorten a model's name to what tells it apart: no vendor prefix, no date, at most 20 cells."""
    parts = strip_controls(name).removeprefix("claude-").split("-")
    if len(parts) > 1 and len(parts[-1]) == 8 and parts[-1].isdigit():
        parts.pop()
    short = "-".join(parts)
    return short if len(short) <= 20 else f"{short[:11]}…{short[-8:]}"


@dataclass(frozen=True)
class Cell:
    """A part of the line; the lowest `rank` goes first when there is no room, from `KEPT` on none goes."""

    content: Content
    rank: int


class StatusLine(Widget):
    """One line, laid out once for a width: what changes while work runs keeps its cells.

    A timer runs only while the session is busy, redraws this line alone and asks `state` for the truth.
    """

    state: reactive[str] = reactive("starting")
    hint: reactive[str] = reactive("")

    def __init__(
        self,
        *,
        demo: bool = False,
        model: str | None = None,
        mode: str = "default",
        context_window: int = 200_000,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._demo = demo
        self._model = model
        self._mode = mode
        self._window = context_window
        self._clock = clock
        self._timer: Timer | None = None
        self._frame = 0
        self._read_state: Callable[[], str] | None = None
        self._doing = "working"
        self._asks: set[str] = set()
        self._tools: set[str] = set()
        self._since: float | None = None
        self._stopping_since: float | None = None
        self._elapsed = 0.0
        self._path = ""
        self._done = 0
        self._live = 0
        self._context_tokens = 0
        self._cost: float | None = None
        self._servers: list[McpServer] = []
        self._shown_keys = ""

    def follow(self, read_state: Callable[[], str]) -> None:
        """Take the session's state from `read_state`, now and on every tick."""
        self._read_state = read_state
        self.state = read_state()

    def apply(self, events: Sequence[Event]) -> None:
        """Take up a batch of events, in order."""
        for event in events:
            self._take(event)
        if self._read_state is not None:
            self.state = self._read_state()
        self.refresh()

    @property
    def waiting(self) -> bool:
        """Whether something waits for the person."""
        return bool(self._asks)

    def on_mount(self) -> None:
        """Begin to spin when the session is at work from the start."""
        self._watch_ticking()

    def watch_state(self, state: str) -> None:
        """Spin while the session is busy, and only then."""
        self._stopping_since = self._clock() if state == "stopping" else None
        if state not in BUSY and self._since is not None:
            self._elapsed = self._clock() - self._since
            self._since = None
        self._watch_ticking()

    def _watch_ticking(self) -> None:
        busy = self.state in BUSY
        if busy and self._timer is None and self.is_mounted:
            self._timer = self.set_interval(0.1, self._tick, name="status spinner")
        elif not busy and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _tick(self) -> None:
        self._frame = (self._frame + 1) % len(SPINNER)
        if self._read_state is not None:
            self.state = self._read_state()
        self.refresh()

    def _take(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self._demo, self._mode = event.demo, event.permission_mode
                self._model = event.model or self._model
            case QueryReceived():
                self._since, self._elapsed = self._clock(), 0.0
                self._doing, self._path = "thinking", ""
            case QueryClassified():
                self._path = event.decision
            case PathFellBack():
                self._path = "COMPLEX"
            case ThinkingDelta():
                self._doing = "thinking"
            case TextDelta():
                self._doing = "writing"
            case ToolCallStarted():
                self._tools.add(event.tool_use_id)
                self._doing = "tools"
            case ToolCallFinished():
                self._tools.discard(event.tool_use_id)
                self._doing = "tools" if self._tools else "thinking"
            case MessageFinished():
                self._count(event)
            case ApiRetry():
                self._doing = f"retry {event.attempt}/{event.max_attempts}"
            case PermissionAsked():
                self._asks.add(event.request_id)
            case PermissionAnswered():
                self._asks.discard(event.request_id)
            case AuthRequired():
                self._asks.add(AUTH)
            case AuthFinished():
                self._asks.discard(AUTH)
            case McpStatus():
                self._servers = list(event.servers)
            case QueryFinished():
                self._finish(event)
            case _:
                pass

    def _count(self, event: MessageFinished) -> None:
        usage = event.usage
        if usage is None:
            return
        self._live += usage.total
        if event.parent_tool_use_id is None:
            self._context_tokens = usage.total

    def _finish(self, event: QueryFinished) -> None:
        if self._since is not None or event.duration_ms:
            self._elapsed = event.duration_ms / 1000
        self._since = None
        self._done += max(self._live, (event.usage or Usage()).total)
        self._live = 0
        if event.cost_usd is not None:
            self._cost = (self._cost or 0.0) + event.cost_usd
        self._asks &= {AUTH}
        self._tools.clear()

    def render(self) -> Content:
        """Draw what fits, most important parts first, keys at the right."""
        width = self.content_size.width
        cells = self._cells()
        hints = [Content.styled(hint, "$text-muted") for hint in ([self.hint] if self.hint else self._keys())]
        while True:
            line = Content("  ").join([cell.content for cell in cells])
            for keys in hints:
                gap = width - line.cell_length - keys.cell_length
                if gap >= 2:
                    self._shown_keys = keys.plain
                    return Content.assemble(line, " " * gap, keys)
            weakest = min(cells, key=lambda cell: cell.rank)
            if weakest.rank >= KEPT:
                self._shown_keys = ""
                return line
            cells.remove(weakest)

    async def on_click(self, event: Click) -> None:
        """Do what the key under the pointer does."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        at = offset.x - (self.content_size.width - len(self._shown_keys))
        for hint in self._shown_keys.split(KEYS_GAP):
            if 0 <= at < len(hint) and hint in DEEDS:
                event.stop()
                await self.run_action(DEEDS[hint])
            at -= len(hint) + len(KEYS_GAP)

    def _keys(self) -> list[str]:
        if self.state == "running":
            return [f"Esc stops{KEYS_GAP}F1 keys", "Esc stops"]
        return [f"F1 keys{KEYS_GAP}^Q quit", "F1 keys"]

    def _cells(self) -> list[Cell]:
        cells = []
        if self._demo:
            cells.append(Cell(Content.styled(" DEMO ", "bold $warning reverse"), 100))
        cells.append(Cell(self._state_cell(), 99))
        servers, failed = self._servers_cell(), bool(self._failed_servers())
        if failed:
            cells.append(Cell(servers, 98))
        muted = "$text-muted"
        # While the work is being stopped what counts is how long that takes.
        since = self._since if self._stopping_since is None else self._stopping_since
        elapsed = self._clock() - since if since is not None else self._elapsed
        cells.append(Cell(Content.styled(f"{short_time(elapsed):>6}", muted), 90))
        cells.append(Cell(Content.styled(f"{self._money():>6}", muted), 80))
        cells.append(Cell(Content.styled(f"{short_count(self._done + self._live):>4} tok", muted), 70))
        cells.append(Cell(Content.styled(f"ctx {self._share():>3}%", muted), 60))
        cells.append(Cell(Content.styled(f"{self._path:<7}", muted), 50))
        if self._model:
            cells.append(Cell(Content.styled(short_model(self._model), muted), 40))
        cells.append(Cell(self._mode_cell(), KEPT if self._mode == "bypassPermissions" else 30))
        if self._servers and not failed:
            cells.append(Cell(servers, 45))
        return cells

    def _state_cell(self) -> Content:
        word, mark, style = self.state, "·", "$text-muted"
        match self.state:
            case _ if self._asks:
                word, mark, style = "needs you", "?", "bold $warning"
            case "running":
                word, mark, style = self._doing, SPINNER[self._frame], "$accent"
            case "stopping":
                word, mark, style = "stopping…", SPINNER[self._frame], "$accent"
            case "starting":
                mark, style = SPINNER[self._frame], "$accent"
            case "idle":
                word, mark = "ready", "●"
            case "failed":
                mark, style = "✗", "bold $error"
            case _:
                pass
        return Content.styled(f"{mark} {word:<{WORD_WIDTH}}", style)

    def _failed_servers(self) -> list[McpServer]:
        return [s for s in self._servers if s.status not in CONNECTED and s.status not in UNDECIDED]

    def _servers_cell(self) -> Content:
        wanted = [server for server in self._servers if server.status != "off"]
        up = sum(server.status in CONNECTED for server in wanted)
        counts = f"mcp {up}/{len(wanted)}"
        failed = self._failed_servers()
        if not failed:
            return Content.styled(counts, "$text-muted")
        names = ", ".join(strip_controls(server.name).replace("\n", " ") for server in failed)
        room = max(8, min(32, self.content_size.width // 4))
        if len(names) > room:
            names = f"{names[: room - 1]}…"
        if self.content_size.width < 60:
            counts = counts.removeprefix("mcp ")
        return Content.styled(f"⚠ {counts} {names}", "$warning")

    def _mode_cell(self) -> Content:
        word = MODES.get(self._mode, strip_controls(self._mode))
        return Content.styled(word, "bold $error" if self._mode == "bypassPermissions" else "$text-muted")

    def _money(self) -> str:
        cost = self._cost or 0.0
        return f"${cost:.2f}" if cost < 1000 else f"${cost:.0f}"

    def _share(self) -> int:
        return min(999, round(100 * self._context_tokens / self._window)) if self._window else 0
