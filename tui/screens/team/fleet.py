"""All sessions of this machine and of a team, live; one of them is followed, answered and interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import money, quantity
from ua_tui.core.team.fleet.rows import Fleet, FleetRow
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.keys.places import TO_PROMPT, KeyPlace, key_binding
from ua_tui.tui.ports import ScreenHost
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.screens.team.fleet_list import MARKS, FleetList
from ua_tui.tui.viewers.view.chrome import KeyLine, TitleLine
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

_COLLAPSED, _MORE = "waiting", "waiting:more"


def open_screen(app: ScreenHost) -> None:
    """Show the fleet."""
    app.open_fleet()


class FleetScreen(Modal[None]):
    """Lists the fleet, and follows what changes.

    Args:
        source: has the sessions.
        follow: shows one session until the person comes back; it raises a `UniversalAgentError` if it cannot.
        zone: the time zone of the times shown; by default that of this machine.
        now: the time, in seconds since the epoch.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("In the fleet", parts=(FleetList,))
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("fleet.waiting", "w", "waiting", "list every waiting job, or their number"),
        key_binding("find.search", "slash", "search", "filter the list"),
        key_binding("screen.leave", "escape", "leave", "back"),
        key_binding("screen.close", "q", "close", "back"),
        TO_PROMPT,
    ]

    @dataclass
    class Asked(Message):
        """A session began to need a person."""

        row: FleetRow

    def __init__(
        self,
        source: FleetSource,
        follow: Callable[[FleetRow], None],
        *,
        zone: tzinfo | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._source = source
        self._follow = follow
        self._zone = zone
        self._fleet: Fleet | None = None
        self._asks: set[str] = set()
        self._expanded = False
        self._query = ""
        self._list = FleetList(now=now, id="fleet-list")

    def compose(self) -> ComposeResult:
        """Create the title, the notice, the list, the details, an input line, and the keys."""
        yield TitleLine()
        yield Static(id="fleet-notice")
        yield self._list
        yield Static(id="fleet-detail")
        yield Input(id="fleet-line", compact=True, placeholder="state, title, machine, owner")
        yield KeyLine(
            ("Enter", "follow", "focused.open"),
            ("/", "filter", "screen.search"),
            ("w", "waiting jobs", "screen.waiting"),
            ("?", "keys", "app.keys_here"),
            ("Esc", "back", "screen.leave"),
        )

    def on_mount(self) -> None:
        """Begin to follow the sessions."""
        self.query_one("#fleet-line", Input).display = False
        self.query_one("#fleet-notice", Static).display = False
        self._list.focus()
        self._show_title()
        self.set_interval(1.0, self._tick)
        start_job(self, self._watch, "fleet")

    async def _watch(self) -> None:
        async for fleet in self._source.changes():
            self.show_fleet(fleet)

    def show_fleet(self, fleet: Fleet) -> None:
        """Show the fleet as it is now; who began to need a person is announced, but not what was so from the start."""
        asks = {row.id: row for row in fleet.rows if row.state == "needs_you"}
        if self._fleet is not None and not self._fleet.is_reading:
            for id_ in asks.keys() - self._asks:
                self.post_message(self.Asked(asks[id_]))
        self._asks = set(asks)
        self._fleet = fleet
        self._show()

    def _tick(self) -> None:
        """Let the times of running sessions go on."""
        if self.is_current and self._fleet is not None and self._fleet.count("running", "needs_you", "idle"):
            self._list.refresh()

    # -- what is shown ------------------------------------------------------------------------------

    def _show(self) -> None:
        self._list.show(tuple(self._rows()))
        notice = self._fleet.notice if self._fleet is not None else ""
        line = self.query_one("#fleet-notice", Static)
        line.update(Content(clean_line(notice, 400)))
        line.display = bool(notice)
        self._show_title()

    def _rows(self) -> Iterator[FleetRow]:
        if self._fleet is None:
            return
        words = self._query.casefold().split()
        waiting, listed, is_done = self._fleet.waiting, 0, False
        # A few waiting jobs are listed; of more there is one row with their number.
        is_collapsed = waiting > 5 and not self._expanded and not words
        for row in self._fleet.rows:
            is_waiting = row.state == "waiting" and not row.session
            listed += is_waiting
            if row.is_over and not is_done:
                yield from self._rest(waiting, listed, is_collapsed)
                is_done = True
            if not (is_waiting and is_collapsed) and _matches(row, words):
                yield row
        if not is_done:
            yield from self._rest(waiting, listed, is_collapsed)

    def _rest(self, waiting: int, listed: int, is_collapsed: bool) -> Iterator[FleetRow]:
        """The row that stands for waiting jobs that are not listed."""
        if is_collapsed:
            yield FleetRow(id=_COLLAPSED, state="waiting", title=f"{quantity(waiting, 'job')} for a worker")
        elif self._expanded and waiting > listed and not self._query:
            yield FleetRow(id=_MORE, state="waiting", title=f"and {quantity(waiting - listed, 'more job')}")

    def _show_title(self) -> None:
        fleet, facts = self._fleet, list[str]()
        if self._query:
            leave = keys_of(self.app).shown("screen.leave")
            shown = tail_cut(clean_line(self._query, 200), 24)
            facts.append(f"filter: {shown} · {leave} clears")
        if fleet is None or fleet.is_reading:
            facts.append("reading")
        if fleet is not None:
            facts += [
                f"{count:,} {word}"
                for count, word in (
                    (fleet.count("needs_you"), "need you" if fleet.count("needs_you") > 1 else "needs you"),
                    (fleet.count("running"), "running"),
                    (fleet.count("idle"), "idle"),
                    (fleet.count("lost"), "lost"),
                    (fleet.waiting, "waiting"),
                    (fleet.done, "done"),
                    (fleet.failed, "failed"),
                )
                if count
            ]
            facts += [money(fleet.cost_usd) or "$0.00"] if fleet.rows else []
        address = self._source.address
        place = str(self._source.index.sessions) if address is None else str(address)
        self.query_one(TitleLine).show("Fleet", place=place, facts=" · ".join(facts))

    def on_column_list_highlighted(self) -> None:
        """Show details of the row under the cursor."""
        row, detail = self._list.chosen, self.query_one("#fleet-detail", Static)
        if row is None:
            empty = "Nothing found." if self._query else "No sessions yet."
            is_reading = self._fleet is None or self._fleet.is_reading
            detail.update(Content("" if is_reading else empty))
            return
        facts = [row.activity or MARKS[row.state][1]]
        about = [row.title, row.name, row.where, row.owner, "private" if row.private else ""]
        if row.started is not None:
            word = "submitted" if row.state == "waiting" else "started"
            about.append(f"{word} {datetime.fromtimestamp(row.started, self._zone):%Y-%m-%d %H:%M}")
        if row.demo:
            about.append("demo")
        if row.job:
            about.append(f"job {clean_line(row.job, 8)}")
        if row.id in (_COLLAPSED, _MORE):
            facts, about = [f"{keys_of(self.app).shown('fleet.waiting')} lists them, or their number."], []
        detail.update(
            Content("\n").join([Content(" · ".join(facts)), Content(" · ".join(filter(None, about)))])
        )

    # -- keys ---------------------------------------------------------------------------------------

    def on_column_list_opened(self) -> None:
        """Follow the session under the cursor, or read it if it is over."""
        row = self._list.chosen
        if row is None:
            return
        if row.id in (_COLLAPSED, _MORE):
            self.action_waiting()
        elif not row.folder and not row.session:
            self.warn("This job waits for a worker: there is nothing to show yet.")
        elif row.is_over and not row.folder and not row.name:
            reason = clean_line(row.activity or MARKS[row.state][1], 200)
            self.warn(f"This job ended before its session began: {reason}")
        else:
            try:
                self._follow(row)
            except UniversalAgentError as error:
                self.warn(str(error))

    def action_waiting(self) -> None:
        """List every waiting job, or only their number."""
        self._expanded = not self._expanded
        self._show()

    def action_search(self) -> None:
        """Filter the list."""
        line = self.query_one("#fleet-line", Input)
        line.value = self._query
        line.display = True
        # At once: letters typed next would be keys of the list.
        self.set_focus(line)

    @on(Input.Changed, "#fleet-line")
    def _filter_typed(self, event: Input.Changed) -> None:
        if event.input.display and event.value.strip() != self._query:
            self._query = event.value.strip()
            self._show()

    @on(Input.Submitted, "#fleet-line")
    def _submit_line(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_line()

    def _close_line(self) -> None:
        self.query_one("#fleet-line", Input).display = False
        self.set_focus(self._list)

    def action_leave(self) -> None:
        """Close the line and the filter, then the screen."""
        if self.query_one("#fleet-line", Input).display or self._query:
            self._query = ""
            self._close_line()
            self._show()
        else:
            self.dismiss(None)


def _matches(row: FleetRow, words: list[str]) -> bool:
    if not words:
        return True
    text = f"{MARKS[row.state][1]} {row.title} {row.activity} {row.name} {row.where} {row.owner}".casefold()
    return all(word in text for word in words)
