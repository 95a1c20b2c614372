"""All sessions of this machine and of a team, live, with batches and workers, and keys that change jobs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from ua_tui.core.errors import TeamError, UniversalAgentError
from ua_tui.core.events.units import live_duration, money, quantity
from ua_tui.core.team.fleet.rows import (
    WORDS,
    Fleet,
    FleetBatch,
    FleetRow,
    FleetWorker,
    Progress,
    describe_counts,
)
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.core.team.jobs.operations import Operation, Operations
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.format import middle_cut, moment, tail_cut
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.screens.session.open_session import open_fleet_row
from ua_tui.tui.screens.team.lists import AnyRow, FleetList, Kind, bar
from ua_tui.tui.viewers.view.chrome import KeyLine, TitleLine
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

_MORE = "waiting"
_FEW = 5


_QUESTIONS: dict[Operation, tuple[str, str, str, str]] = {
    "cancel": (
        "Cancel",
        "Running jobs stop at once. They can be run again.",
        "cancelled",
        "is waiting or running",
    ),
    "retry": (
        "Run again",
        "Sessions are resumed. Calls with external side effects are not repeated.",
        "to be run again",
        "failed or was cancelled",
    ),
    "pause": ("Pause", "No more of its jobs start. Running jobs continue.", "paused", "is waiting"),
    "resume": ("Resume", "The workers start the waiting jobs.", "resumed", "is paused"),
}
"""What a key asks: its verb, what it means, what jobs are afterwards, and which jobs it is possible for."""


class FleetScreen(Modal[None]):
    """Lists the fleet, and follows what changes; `now` gives the time, in seconds since the epoch."""

    PARTS = (FleetList,)
    BINDINGS = bindings("FleetScreen")

    @dataclass
    class Asked(Message):
        """A session began to need a person."""

        row: FleetRow

    def __init__(self, source: FleetSource, *, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._source = source
        self._now = now
        self._fleet = Fleet(is_reading=True)
        self._expanded = False
        self._query = ""
        self._batch: FleetBatch | None = None
        self._owner = ""
        self._list = FleetList(now=now, id="fleet-list")
        self._line = Input(id="fleet-line", compact=True, placeholder="state, title, batch, machine, owner")

    def compose(self) -> ComposeResult:
        """Create the title, how far the work is, the notice, the list, the details, an input line, and the keys."""
        yield TitleLine()
        yield Static(id="fleet-progress")
        yield Words(id="fleet-notice")
        yield self._list
        yield Static(id="fleet-detail")
        yield self._line
        yield KeyLine(gap=1)

    def on_mount(self) -> None:
        """Begin to follow the sessions."""
        self._line.display = False
        self._show_list("sessions")
        self.set_interval(1.0, self._tick)
        start_job(self, self._watch, "fleet")

    async def _watch(self) -> None:
        async for fleet in self._source.changes():
            self.show_fleet(fleet)

    def show_fleet(self, fleet: Fleet) -> None:
        """Show the fleet as it is now; who began to need a person is announced, but not what was so from the start."""
        asked = {row.id for row in self._fleet.rows if row.state == "needs_you"}
        for row in () if self._fleet.is_reading else fleet.rows:
            if row.state == "needs_you" and row.id not in asked:
                self.post_message(self.Asked(row))
        self._fleet = fleet
        self._show()

    def _tick(self) -> None:
        """Let the times of what runs and waits go on."""
        if self.is_current and any(not row.is_over for row in self._fleet.rows):
            self._list.redraw()
            self._show_title()

    def _show_list(self, kind: Kind) -> None:
        self._list.focus()
        self._show(kind)

    @property
    def _part(self) -> Fleet:
        """The fleet as far as its batch and its owner are chosen."""
        batch = self._batch.id if self._batch is not None else ""
        return self._fleet.only(batch=batch, owner=self._owner)

    def _keys(self) -> Iterator[tuple[str, str, str]]:
        """The keys of the list that is shown; without rows only those that do something."""
        has_jobs = bool(self._list.listed) and self._list.kind != "workers"
        can_change = any(map(_is_of_team, self._list.listed))
        if has_jobs:
            yield "Enter", "follow" if self._list.kind == "sessions" else "sessions", "focused.open"
        yield "?", "keys", "app.keys_here"
        for key, name in (("b", "batches"), ("m", "workers")):
            yield key, "sessions" if self._list.kind == name else name, f"screen.list('{name}')"
        if can_change:
            yield "c", "cancel", "screen.ask('cancel')"
            yield "p", "pause", "screen.ask('pause')"
            yield "Space", "mark", "screen.mark"
            yield "r", "again", "screen.ask('retry')"
        if self._list.listed or self._query:
            yield "/", "filter", "screen.search"
        if has_jobs and self._list.kind == "sessions":
            yield "w", "waiting", "screen.waiting"
        if self._owner or any(getattr(each, "owner", "") for each in self._list.listed):
            yield "o", "owner", "screen.owner"
        yield "Esc", "back", "screen.leave"

    # -- what is shown ------------------------------------------------------------------------------

    def _show(self, kind: Kind | None = None) -> None:
        part, kind = self._part, kind or self._list.kind
        others: Sequence[AnyRow] = part.batches if kind == "batches" else part.workers
        rows = self._rows(part) if kind == "sessions" else filter(self._matches, others)
        self._list.show_kind(kind, tuple(rows))
        self.query_one(KeyLine).show_keys(*self._keys())
        self.query_one("#fleet-notice", Words).show(clean_line(self._fleet.notice, 400))
        self._show_title()

    def _rows(self, fleet: Fleet) -> Iterator[FleetRow]:
        shown = [*filter(self._matches, fleet.rows)]
        waits = [row for row in shown if row.is_queued]
        # One that was handed back is listed with its session.
        begun = sum(row.state in ("waiting", "held") and bool(row.session) for row in shown)
        number = max(fleet.waiting - begun, len(waits))
        # A few waiting jobs are listed; of more there is one row with their number.
        if number > _FEW and not self._expanded and not self._query:
            waits = []
        yield from (row for row in shown if not row.is_over and not row.is_queued)
        yield from waits
        if number > len(waits) and not self._query:
            held = sum(each.on_hold for each in fleet.batches) - sum(row.state == "held" for row in waits)
            ready, noun = number - len(waits) - held, "more job" if waits else "job"
            wait = "for a worker" if any(each.owner for each in fleet.batches) else "to come"
            parts = [f"{quantity(ready, noun)} {wait}"] if ready > 0 else []
            parts += [f"{quantity(held, noun)} paused"] if held > 0 else []
            yield FleetRow(id=_MORE, state="waiting" if ready > 0 else "held", title=" · ".join(parts))
        yield from (row for row in shown if row.is_over)

    def _matches(self, row: AnyRow) -> bool:
        """Whether the state of a row and its details contain what is typed."""
        if not (words := self._query.casefold().split()):
            return True
        text = " ".join((WORDS[row.state], *self._describe(row))).casefold()
        return all(word in text for word in words)

    def _show_title(self) -> None:
        part, facts = self._part, list[str]()
        if self._query or self._batch is not None or self._owner:
            leave = self.keys.shown("screen.leave")
            filters = [
                f"batch {self._batch.name}" if self._batch is not None else "",
                f"owner {self._owner}" if self._owner else "",
                self._query,
            ]
            shown = tail_cut(clean_line(" ".join(filter(None, filters)), 200), 24)
            facts.append(f"filter: {shown} · {leave} clears")
        if part.is_reading:
            facts.append("reading")
        progress = part.progress(self._now())
        listed = Counter(row.state for row in part.rows if not (progress.of_batches and row.is_over))
        counts = {**listed, "waiting": progress.waiting, "held": progress.held}
        facts += [f"{len(self._list.marked):,} marked"] if self._list.marked else []
        facts += describe_counts(counts)
        facts += [money(progress.cost_usd) or "$0.00"] if part.rows or progress.of_batches else []
        self._show_progress(part, progress)
        place = str(self._source.address or self._source.index.sessions)
        name = "Fleet" if self._list.kind == "sessions" else f"Fleet · {self._list.kind}"
        self.query_one(TitleLine).show(name, place=place, facts=" · ".join(facts))

    def _show_progress(self, fleet: Fleet, progress: Progress) -> None:
        """Show how far the batches are, how long jobs wait, how fast it goes, and when it is done."""
        line = self.query_one("#fleet-progress", Static)
        line.display = progress.of_batches
        left = progress.left_seconds
        # A batch of this machine, which has no owner, needs no worker.
        lacks_workers = any(each.owner and each.over < each.total for each in fleet.batches) and all(
            each.state == "lost" for each in fleet.workers
        )
        facts = [
            f"{progress.done:,} of {progress.total:,} finished",
            *describe_counts({"failed": progress.failed, "cancelled": progress.cancelled}),
            f"oldest waits {live_duration(max(0.0, self._now() - progress.oldest))}"
            if progress.oldest
            else "",
            f"{progress.per_minute:.1f}/min" if progress.per_minute is not None else "",
            f"~{live_duration(left)} left" if left is not None else "",
            "no worker is alive" if lacks_workers else "",
        ]
        line.update(
            Content.assemble(
                (bar(progress.over, progress.total), "$accent"),
                "  " + " · ".join(filter(None, facts)),
            )
        )

    def on_keyed_list_highlighted(self) -> None:
        """Show details of the row under the cursor."""
        empty = "Nothing found." if self._query else f"No {self._list.kind} yet."
        row, lines = self._list.chosen, ["" if self._fleet.is_reading else empty]
        if row is not None:
            lines = self._describe(row)
        self.query_one("#fleet-detail", Static).update(Content("\n").join(map(Content, lines)))

    def _describe(self, row: AnyRow) -> list[str]:
        """The details of a row: two lines."""
        match row:
            case FleetBatch():
                return self._describe_batch(row)
            case FleetWorker():
                where = f"{row.name} · version {row.version} · {row.busy} of {row.slots} slots busy"
                return [where, "claims no more jobs, and ends when its jobs end" if row.draining else ""]
            case FleetRow() if row.id == _MORE:
                return [f"{self.keys.shown('fleet.waiting')} switches between the list and the number."]
            case FleetRow():
                word = "submitted" if row.state == "waiting" else "started"
                about = [
                    *(row.title, row.batch_name, row.name, row.where, row.owner),
                    "private" if row.private else "",
                    f"{word} {moment(row.started)}" if row.started is not None else "",
                    "demo" if row.demo else "",
                    f"job {clean_line(row.job, 8)}" if row.job else "",
                ]
                return [row.activity or WORDS[row.state], " · ".join(filter(None, about))]

    def _describe_batch(self, row: FleetBatch) -> list[str]:
        about = [
            row.name,
            row.owner,
            f"submitted {moment(row.submitted)}",
            f"limit {money(row.max_cost_usd)}" if row.max_cost_usd is not None else "",
            "paused" if row.paused else "",
            "private" if row.private else "",
            f"batch {row.id[:8]}" if row.owner else "this machine",
        ]
        counts = " · ".join(describe_counts(msgspec.structs.asdict(row)))
        if row.results:
            counts += " · results in "
            counts += middle_cut(row.results, self.size.width - 2 - len(counts))
        return [counts, " · ".join(filter(None, about))]

    # -- keys ---------------------------------------------------------------------------------------

    def on_keyed_list_opened(self) -> None:
        """Follow the session under the cursor, or read it if it is over; of a batch list the sessions."""
        row = self._list.chosen
        if isinstance(row, FleetBatch):
            self._batch, self._query, self._owner = row, "", ""
            self._show_list("sessions")
        elif isinstance(row, FleetRow):
            self._open(row)

    def _open(self, row: FleetRow) -> None:
        if row.id == _MORE:
            self.action_waiting()
        elif not row.folder and not row.session:
            self.warn("This job is still waiting: there is nothing to show yet.")
        elif row.is_over and not row.folder and not row.name:
            reason = clean_line(row.activity or WORDS[row.state], 200)
            self.warn(f"This job ended before its session began: {reason}")
        else:
            try:
                open_fleet_row(self.app, row, self._source)
            except UniversalAgentError as error:
                self.warn(error.advice.sentence)

    def action_list(self, kind: Kind) -> None:
        """Show another list, or the sessions again."""
        self._show_list("sessions" if self._list.kind == kind else kind)

    def action_owner(self) -> None:
        """List only what is of the owner of the row under the cursor, or of everybody again."""
        self._owner = "" if self._owner else getattr(self._list.chosen, "owner", "")
        self._show()

    def action_waiting(self) -> None:
        """List the waiting jobs, or only their number."""
        self._expanded = not self._expanded
        self._show()

    def action_mark(self) -> None:
        """Mark the row under the cursor, or remove its mark, and go to the next one."""
        row, marked = self._list.chosen, self._list.marked
        if row is not None and self._list.kind != "workers":
            marked ^= {self._list.name_of(row)}
            self._list.action_cursor_down()
            self._show_title()

    def action_ask(self, operation: Operation) -> None:
        """Ask whether to change the marked rows, or the one under the cursor, and do it."""
        listed = self._list
        rows = [each for each in listed.listed if listed.name_of(each) in listed.marked]
        rows = rows or ([listed.chosen] if listed.chosen is not None else [])
        if operation == "pause" and rows and all(each.state == "held" for each in rows):
            operation = "resume"
        paused = {each.id for each in self._fleet.batches if each.paused}
        if operation == "resume" and any(getattr(each, "batch", "") in paused for each in rows):
            key = self.keys.shown("fleet.batches")
            self.warn(f"The batch is paused, not the job: resume it in the list of batches ({key}).")
            return
        found = [(each, id_) for each in rows if (id_ := _id_for(operation, each))]
        verb, meaning, _, state = _QUESTIONS[operation]
        kind, plural = ("job", "jobs") if self._list.kind == "sessions" else ("batch", "batches")
        if not found:
            is_of_team = any(map(_is_of_team, rows))
            reason = f"no selected {kind} {state}" if is_of_team else "choose a job or a batch of the team"
            self.warn(f"{verb}: {reason}.")
            return
        what = named = quantity(len(found), kind, plural)
        match found:
            case [(FleetRow(owner=owner, title=name) | FleetBatch(owner=owner, name=name), _)]:
                named = f"{owner}'s {kind}: {clean_line(name, 60)}"

        def answered(yes: bool | None) -> None:
            if yes:
                start_job(self, partial(self._change, operation, [id_ for _, id_ in found]), "change")

        dialog = ConfirmScreen(verb, f"{verb} {named}?", meaning, yes=f"{verb} {what}", no="Leave it")
        self.app.push_screen(dialog, answered)

    async def _change(self, operation: Operation, ids: list[str]) -> None:
        address = self._source.address
        if address is None:
            return
        try:
            changed = await Operations(address).change(operation, ids)
            if self._source.team is not None:
                # At once: the same key means the opposite now.
                await self._source.team.read()
        except TeamError as error:
            self.warn(error.advice.sentence)
            return
        self._list.marked.clear()
        self.notify(f"{quantity(changed, 'job')} {_QUESTIONS[operation][2]}.", markup=False)
        self._show()

    def action_search(self) -> None:
        """Filter the list."""
        self._line.value = self._query
        self._line.display = True
        # At once: letters typed next would be keys of the list.
        self.set_focus(self._line)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the list by what is typed."""
        if self._line.display and event.value.strip() != self._query:
            self._query = event.value.strip()
            self._show()

    def on_input_submitted(self) -> None:
        """Close the line; the filter stays."""
        self._close_line()

    def _close_line(self) -> None:
        self._line.display = False
        self.set_focus(self._list)

    def action_leave(self) -> None:
        """Close the line, the marks and the filter, then the other lists, then the screen."""
        if self._line.display or self._query or self._owner or self._list.marked:
            self._query = self._owner = ""
            self._list.marked.clear()
            self._close_line()
            self._show()
        elif self._list.kind != "sessions":
            self._show_list("sessions")
        elif self._batch is not None:
            self._batch = None
            self._show_list("batches")
        else:
            self.dismiss(None)


def _is_of_team(row: AnyRow) -> bool:
    """Whether it is a job or a batch of a team, which keys can change."""
    return bool(row.owner if isinstance(row, FleetBatch) else getattr(row, "job", ""))


def _id_for(operation: Operation, row: FleetRow | FleetBatch | FleetWorker) -> str:
    """The id with which a row can be changed like this; empty if it cannot be."""
    match row:
        case FleetBatch(owner=str(owner)) if owner:
            return row.id
        case FleetRow(local=False):
            states = {"retry": ("failed", "cancelled"), "resume": ("held",), "pause": ("waiting",)}
            fits = not row.is_over if operation == "cancel" else row.state in states[operation]
            return row.job if fits else ""
        case _:
            return ""
