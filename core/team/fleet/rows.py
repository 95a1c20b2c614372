"""What is known of the sessions, batches and workers of the fleet, and the order in which they are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from ua_tui.core.team.records import Counts

FleetState = Literal[
    "needs_you", "running", "starting", "idle", "lost", "waiting", "held", "done", "failed", "cancelled", "stopped",
    "crashed",
]  # fmt: skip
WORDS: dict[FleetState, str] = {each: each for each in get_args(FleetState)} | {
    "needs_you": "needs you", "held": "paused", "done": "finished",
}  # fmt: skip
"""What each state is called, in the order in which a person looks for them."""
MOST_FINISHED = 500
"""How many finished sessions are listed, the newest ones."""
OVER: frozenset[FleetState] = frozenset(("done", "failed", "cancelled", "stopped", "crashed"))
_ORDER: dict[FleetState, int] = {
    "needs_you": 0, "running": 1, "starting": 1, "lost": 1, "idle": 2, "waiting": 3, "held": 3,
}  # fmt: skip
_RATE_SECONDS = 600.0


def describe_counts(counts: Mapping[Any, int]) -> list[str]:
    """How many there are in each state, such as `2 running`; nothing of those without any."""
    return [
        f"{count:,} {'need you' if state == 'needs_you' and count > 1 else word}"
        for state, word in WORDS.items()
        if (count := counts.get(state, 0))
    ]


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One session, or a job that waits for a worker. All texts are clean lines; times are seconds since the epoch.

    Attributes:
        id: the same as long as it is listed.
        state: `starting` until its first query runs, `idle` if none runs, `held` if its job or its batch is paused,
            `lost` if its worker is no longer heard of, `crashed` if its program ended.
        title: its title, or its first query.
        activity: what it does now, or why it failed.
        where: the worker or the machine; empty for this machine.
        host: the name of the machine, as the team's database has it.
        owner: the role that it belongs to in the database; empty for this machine's.
        session: the id in the store that has its questions; empty if there is none.
        job: the id of its job; empty for a session that a person started.
        batch: the id of the batch that pays for its job, and `batch_name` what people call it.
        position: where its job is in the file of the batch.
        unknown: how many of its actions have an outcome that nobody knows.
        folder: its folder on this machine; empty if it is elsewhere.
        local: whether a batch of this machine runs it, so that its questions are answered in its folder.
        private: whether only its owner sees it.
    """

    id: str
    state: FleetState
    title: str = ""
    activity: str = ""
    cost_usd: float | None = None
    cost_is_estimated: bool = False
    started: float | None = None
    finished: float | None = None
    where: str = ""
    host: str = ""
    owner: str = ""
    name: str = ""
    session: str = ""
    job: str = ""
    batch: str = ""
    batch_name: str = ""
    position: int = 0
    unknown: int = 0
    folder: str = ""
    local: bool = False
    private: bool = False
    demo: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more, and it does not wait for a worker."""
        return self.state in OVER

    @property
    def is_queued(self) -> bool:
        """Whether it is a job that no worker has begun."""
        return self.state in ("waiting", "held") and not self.session

    @property
    def takes_answers(self) -> bool:
        """Whether its questions can be answered from here, and commands be sent to it."""
        return bool(self.session and (self.job or self.local)) and not self.is_over

    def seconds(self, now: float) -> float | None:
        """How long it has taken; of one that waits, how long it waits."""
        if self.started is None:
            return None
        return max(0.0, (self.finished if self.finished is not None else now) - self.started)


class FleetBatch(Counts, frozen=True, kw_only=True):
    """A batch with the numbers of its jobs; times are seconds since the epoch. One of this machine has no owner."""

    id: str
    name: str
    owner: str
    submitted: float
    paused: bool = False
    private: bool = False
    max_cost_usd: float | None = None
    results: str = ""
    """The file with the results of one of this machine."""

    @property
    def state(self) -> FleetState:
        """What it does."""
        if self.paused and self.over < self.total:
            return "held"
        if self.needs_you:
            return "needs_you"
        if self.over < self.total:
            return "running" if self.running else "waiting"
        if self.failed:
            return "failed"
        return "cancelled" if self.total and self.cancelled == self.total else "done"

    @property
    def on_hold(self) -> int:
        """How many wait that are paused, or all that wait of a paused batch."""
        return self.queued if self.paused else self.held


class FleetWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker: its name, which begins with its machine, its places for jobs, and when it was heard of last."""

    name: str
    version: str
    slots: int
    busy: int
    seen: float
    state: FleetState
    """Whether it works, or is gone, by the clock of the server."""
    draining: bool = False


class Progress(Counts, frozen=True, kw_only=True):
    """How far the work is: its numbers, of which those that are paused do not wait.

    Attributes:
        of_batches: whether these are jobs of batches, and not only the listed sessions.
        oldest: since when the first of the jobs waits.
        per_minute: how many jobs have ended in a minute lately; None if none has, or if none is left.
        left_seconds: how long the others take at this rate; None if nobody knows.
    """

    of_batches: bool = False
    oldest: float | None = None
    per_minute: float | None = None
    left_seconds: float | None = None


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions in their order, the batches and the workers, the newest first.

    Attributes:
        batch: the batch of which alone this is; empty for all.
        is_reading: whether sessions of the team are still to come.
        notice: what cannot be shown, and why; empty if nothing is missing.
    """

    rows: tuple[FleetRow, ...] = ()
    batches: tuple[FleetBatch, ...] = ()
    workers: tuple[FleetWorker, ...] = ()
    batch: str = ""
    is_reading: bool = False
    notice: str = ""

    def only(self, *, batch: str = "", owner: str = "") -> Fleet:
        """The fleet without what is of another batch or of somebody else."""
        return msgspec.structs.replace(
            self,
            rows=tuple(row for row in self.rows if batch in ("", row.batch) and owner in ("", row.owner)),
            batches=tuple(
                each for each in self.batches if batch in ("", each.id) and owner in ("", each.owner)
            ),
            batch=batch,
        )

    @property
    def waiting(self) -> int:
        """How many jobs wait that no worker has begun; only the first ones of a batch are among the rows."""
        return sum(each.queued for each in self.batches)

    def progress(self, now: float) -> Progress:
        """How far the batch is, or all that are in progress; without any, what the listed sessions did."""
        shown = [each for each in self.batches if self.batch or each.over < each.total]
        if not shown:
            found = Counter(row.state for row in self.rows)
            cost = sum(row.cost_usd or 0.0 for row in self.rows)
            return Progress(waiting=found["waiting"], held=found["held"], cost_usd=cost)
        ids = {each.id for each in shown}
        rows = [row for row in self.rows if row.batch in ids]
        ended = [row for row in rows if row.is_over and (row.finished or 0.0) > now - _RATE_SECONDS]
        begun = min((row.started or now for row in ended), default=now)
        minutes = min(_RATE_SECONDS, max(1.0, now - begun)) / 60.0
        numbers = {name: sum(getattr(each, name) for each in shown) for name in Counts.__struct_fields__}
        held = sum(each.on_hold for each in shown)
        left = sum(each.total - each.over for each in shown) - held
        rate = len(ended) / minutes if ended and left else None
        return Progress(
            **numbers | {"waiting": numbers["waiting"] + numbers["held"] - held, "held": held},
            of_batches=True,
            oldest=min((each.submitted for each in shown if each.queued > each.on_hold), default=None),
            per_minute=rate,
            left_seconds=None if rate is None else left / rate * 60.0,
        )


def arrange(rows: Iterable[FleetRow]) -> tuple[FleetRow, ...]:
    """Sort: what needs a person, what runs by its start, what waits in its order, what is over, the newest first."""
    newest_first = sorted(rows, key=lambda row: (row.finished or row.started or 0.0, row.id), reverse=True)
    over = [row for row in newest_first if row.is_over]
    others = [row for row in newest_first if not row.is_over]
    others.sort(key=lambda row: (_ORDER[row.state], row.started or 0.0, row.batch, row.position, row.id))
    return (*others, *over[:MOST_FINISHED])
