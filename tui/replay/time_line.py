"""The timeline of a replay: what happened when, how far it has played, and how keys and the mouse move through it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.widget import Widget

from ua_tui.core.events.describe import Hints, describe
from ua_tui.core.events.tool_names import tool_label
from ua_tui.core.events.types import Event, ToolCallFinished, ToolCallStarted
from ua_tui.core.events.units import duration, quantity
from ua_tui.core.history.recording import MarkKind
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.render.format import clock, tail_cut
from ua_tui.tui.widgets.modal import unscrolled_size

if TYPE_CHECKING:
    from ua_tui.tui.replay.player import Player

SIGNS: dict[MarkKind, tuple[str, str]] = {
    "cost": ("$", "$foreground-muted"),
    "file": ("▪", "$text-accent"),
    "query": ("›", "bold $foreground"),
    "permission": ("?", "bold $text-warning"),
    "failure": ("✗", "bold $text-error"),
}
"""The mark of each kind and its style; of several in one cell the last one is shown."""
FEWEST_CELLS = 10
"""The cells of the line below which the times beside it are left out."""
_WIDE = 140
"""The cells from which the line says what is replayed, and how many events there are."""
_HINTS = (
    ("replay.play", "play"),
    ("help.here", "keys"),
    ("replay.next_event", "step"),
    ("replay.next_query", "query"),
    ("replay.next_failure", "failure"),
    ("replay.faster", "speed"),
)


class TimeLine(Widget, can_focus=True):
    """Two lines: the line of time with its marks, and below it what happened last, and the keys.

    A click or a drag on the line goes there, a click left of it plays or pauses. Its keys work in every pane that has
    no use for them.

    Args:
        label: says below the line what is replayed, if that is not obvious.
    """

    virtual_size = unscrolled_size()
    BINDINGS = bindings("TimeLine")

    def __init__(self, label: str = "") -> None:
        super().__init__(id="time-line")
        self.player: Player | None = None
        self._label = label
        self._share = 0.0
        self._dragged = False
        self._bar = range(0)
        self._marks: tuple[int, dict[int, MarkKind]] = (0, {})
        self._described: tuple[int, str] = (-1, "")

    def on_mount(self) -> None:
        """Show other keys when another pane gets the focus."""
        self.watch(self.screen, "focused", self._show_keys, init=False)

    def _show_keys(self) -> None:
        self.refresh()

    @property
    def idle_actions(self) -> tuple[str, ...]:
        """The names of its actions whose keys do something else where the focus is."""
        keys = keys_of(self.app)
        active = self.screen.active_bindings.values()
        # Those without a name are of Textual, such as for scrolling sideways, and have nothing to do here.
        others = (each.binding.id for each in active if each.node is not self and each.binding.id)
        taken = {key for name in others for key in keys.of(name)}
        names = {binding.id or "" for _, binding in self._bindings}
        return tuple(name for name in names if not taken.isdisjoint(keys.of(name)))

    def show_reading(self, share: float) -> None:
        """Show how much of the journal was read, from 0 to 1."""
        self._share = share
        self.refresh()

    # -- drawing ----------------------------------------------------------------------------------

    def render(self) -> Content:
        """Draw both lines."""
        width, player = self.content_size.width, self.player
        if player is None:
            return Content.styled(f"Reading the session… {self._share:.0%}", "$foreground-muted")
        return Content("\n").join([self._draw_line(player, width), self._draw_facts(player, width)])

    def _draw_line(self, player: Player, width: int) -> Content:
        recording = player.recording
        sign = "‖" if not player.is_playing else "▶"
        if player.is_at_end:
            sign = "■"
        speed = "max" if math.isinf(player.speed) else f"{player.speed:g}×"
        now, total = _minutes(player.offset), _minutes(recording.seconds)
        left, right = f"{sign} {speed:>4} {now:>{len(total)}} ", f" {total}"
        if width - len(left) - len(right) < FEWEST_CELLS:
            left, right = f"{sign} ", ""
        self._bar = range(len(left), max(len(left) + 1, width - len(right)))
        if self._marks[0] != len(self._bar):
            cells = {self._cell(at): kind for kind in SIGNS for at in recording.marks(kind)}
            self._marks = len(self._bar), cells
        here, marks = self._cell(player.offset), self._marks[1]
        parts: list[str | tuple[str, str]] = [(left, "bold $accent" if self.has_focus else "bold")]
        for cell in range(len(self._bar)):
            glyph, style = SIGNS[marks[cell]] if cell in marks else ("━" if cell <= here else "─", "")
            base = style or ("$accent" if cell <= here else "$foreground-muted")
            if cell == here:
                glyph, base = (
                    (glyph if cell in marks else "█"),
                    f"{base} reverse" if style else "bold $accent",
                )
            parts.append((glyph, base))
        return Content.assemble(*parts, (right, "$foreground-muted"))

    def _cell(self, offset: float) -> int:
        assert self.player is not None
        total = self.player.recording.seconds
        return round(offset / total * (len(self._bar) - 1)) if total else 0

    def _draw_facts(self, player: Player, width: int) -> Content:
        recording = player.recording
        hints = self._draw_hints(max(24, width - 72))
        room = max(0, width - hints.cell_length - 2)
        parts = [self._label, f"{player.position:,} of {len(recording):,} events"]
        if width < _WIDE:
            parts = ["", quantity(player.position, "event")]
        wait = recording.wait(player.position) if player.is_playing else 0.0
        if player.position:
            parts.append(clock(datetime.fromtimestamp(player.time(), UTC)))
        parts.append(f"a wait of {duration(wait)} is shortened" if wait else self._describe(player))
        if missing := player.missing_files:
            # A wait is short, and the end of the line may be cut off.
            parts.insert(
                len(parts) if wait else 2, f"{missing} {'file' if missing == 1 else 'files'} as of now"
            )
        text = Content.styled(tail_cut(" · ".join(filter(None, parts)), room), "$foreground-muted")
        return Content.assemble(text, " " * (width - text.cell_length - hints.cell_length), hints)

    def _draw_hints(self, room: int) -> Content:
        shown, player, idle = keys_of(self.app).shown, self.player, self.idle_actions
        has_no_failure = player is not None and not any(player.recording.marks("failure"))
        hints = Content("")
        for name, word in _HINTS:
            if name in idle or (name == "replay.next_failure" and has_no_failure):
                continue
            if name == "replay.play" and player is not None and (player.is_playing or player.is_at_end):
                shown_word = "pause" if player.is_playing else "play again"
            else:
                shown_word = word
            hint = Content.assemble((shown(name), "$foreground"), (f" {shown_word}", "$foreground-muted"))
            longer = Content("  ").join([hints, hint]) if hints else hint
            if longer.cell_length > room and hints:
                break
            hints = longer
        return hints

    def _describe(self, player: Player) -> str:
        """What happened last."""
        after = player.recording.next("event", player.position + 1, -1)
        if after is None:
            return ""
        if self._described[0] != after:
            (event,) = player.recording.events(after - 1, after)
            self._described = after, clean_line(describe(event, _hints_of(event)).sentence, 200)
        return self._described[1]

    # -- keys -------------------------------------------------------------------------------------

    def action_play(self) -> None:
        """Play or pause."""
        if (player := self.player) is not None:
            player.play()

    def action_step(self, kind: MarkKind, direction: int) -> None:
        """Go to the next event of a kind, or the previous one, and pause there."""
        if (player := self.player) is not None and not player.step(kind, direction):
            where = "after" if direction > 0 else "before"
            self.notify(f"There is no {kind} {where} this point.", timeout=2.0)

    def action_speed(self, steps: int) -> None:
        """Play faster or slower."""
        if (player := self.player) is not None:
            player.change_speed(steps)

    def action_edge(self, end: int) -> None:
        """Go to the beginning, or to the end."""
        if (player := self.player) is not None:
            player.seek(len(player.recording) * end)

    def action_skip(self, direction: int) -> None:
        """Go a tenth of the time forward or back."""
        if (player := self.player) is not None:
            player.seek_offset(player.offset + direction * player.recording.seconds / 10)

    # -- the mouse --------------------------------------------------------------------------------

    def _go_to(self, player: Player, event: events.MouseEvent) -> None:
        """Go to the moment of the cell under the pointer, or of the nearest one."""
        last = len(self._bar) - 1
        cell = min(max(0, event.get_content_offset_capture(self).x - self._bar.start), last)
        player.seek_offset(player.recording.seconds * cell / max(1, last))

    def action_fork(self) -> None:
        """Ask for a fork of the session before the query of this moment, or of the cursor in the conversation."""
        from ua_tui.tui.panes.conversation.pane import ConversationPane

        self.screen.query_one(ConversationPane).action_fork()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to the moment under the pointer, or play and pause left of the line."""
        if self.player is None:
            return
        offset = event.get_content_offset_capture(self)
        if offset.y == 0 and offset.x in self._bar:
            self._dragged = True
            self.capture_mouse()
            self._go_to(self.player, event)
        elif offset.y == 0:
            self.player.play()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Go where the line is dragged."""
        if self.player is not None and self._dragged:
            self._go_to(self.player, event)

    def on_mouse_up(self) -> None:
        """End to drag."""
        self._dragged = False
        self.release_mouse()


def _hints_of(event: Event) -> Hints:
    match event:
        case ToolCallStarted():
            return Hints(tool_label(event.name, event.input))
        case ToolCallFinished(observation=seen) if seen is not None:
            return Hints(tool_label(seen.tool_name, {}))
        case _:
            return Hints()


def _minutes(seconds: float) -> str:
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
