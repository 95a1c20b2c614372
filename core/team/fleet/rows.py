"""What is known of each session of the fleet, and the order in which they are listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

FleetState = Literal[
    "needs_you", "running", "idle", "waiting", "lost", "done", "failed", "cancelled", "crashed"
]
MOST_FINISHED = 500
"""How many finished sessions are listed, the newest ones."""
OVER: frozenset[FleetState] = frozenset(("done", "failed", "cancelled", "crashed"))
_ORDER: dict[FleetState, int] = {"needs_you": 0, "running": 1, "lost": 1, "idle": 2, "waiting": 3}


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One session, or a job that waits for a worker. All texts are clean lines; times are seconds since the epoch.

    Attributes:
        id: the same as long as it is listed.
        state: `idle` if no query runs, `lost` if its worker is no longer heard of, `crashed` if its program ended.
        title: its title, or its first query.
        activity: what it does now, or why it failed.
        where: the worker or the machine; empty for this machine.
        host: the name of the machine, as the team's database has it.
        owner: the role that it belongs to in the database; empty for this machine's.
        session: the id in the store that has its questions; empty if there is none.
        job: the id of its job; empty for a session that a person started.
        folder: its folder on this machine; empty if it is elsewhere.
        local: whether its questions are in the file of this machine's jobs.
        private: whether only its owner sees it.
    """

    id: str
    state: FleetState
    title: str = ""
    activity: str = ""
    cost_usd: float | None = None
    started: float | None = None
    finished: float | None = None
    where: str = ""
    host: str = ""
    owner: str = ""
    name: str = ""
    session: str = ""
    job: str = ""
    folder: str = ""
    local: bool = False
    private: bool = False
    demo: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more, and it does not wait for a worker."""
        return self.state in OVER

    @property
    def takes_answers(self) -> bool:
        """Whether its questions can be answered from here, and commands be sent to it."""
        return bool(self.session and self.job) and not self.is_over

    def seconds(self, now: float) -> float | None:
        """How long it has taken."""
        if self.started is None or self.state == "waiting":
            return None
        return max(0.0, (self.finished if self.finished is not None else now) - self.started)


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions in their order.

    Attributes:
        waiting: how many jobs wait that no worker has begun; only the first ones are among the rows.
        done: how many are done in all, of which only the newest are among the rows; `failed` likewise.
        cost_usd: what all have cost, as far as that is known.
        is_reading: whether sessions of the team are still to come.
        notice: what cannot be shown, and why; empty if nothing is missing.
    """

    rows: tuple[FleetRow, ...] = ()
    waiting: int = 0
    done: int = 0
    failed: int = 0
    cost_usd: float = 0.0
    is_reading: bool = False
    notice: str = ""

    def count(self, *states: FleetState) -> int:
        """How many rows are in one of these states."""
        return sum(row.state in states for row in self.rows)


def arrange(rows: Iterable[FleetRow]) -> tuple[FleetRow, ...]:
    """Sort: what needs a person first, then what runs by its start, what waits, and what is over, the newest first."""
    listed = list(rows)
    over = sorted((row for row in listed if row.is_over), key=_ended, reverse=True)[:MOST_FINISHED]
    return (*sorted((row for row in listed if not row.is_over), key=_place), *over)


def _place(row: FleetRow) -> tuple[int, float, str]:
    return _ORDER[row.state], row.started or 0.0, row.id


def _ended(row: FleetRow) -> tuple[float, str]:
    return row.finished or row.started or 0.0, row.id


def total_cost(rows: Sequence[FleetRow]) -> float:
    """What these sessions have cost, as far as that is known."""
    return sum(row.cost_usd or 0.0 for row in rows)
