"""The types of a team's work: jobs and their claims, questions and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

FORMAT = 1
"""The format of jobs that this program writes, and the latest that it can run."""
NO_MONEY = "the spending limit of the batch"
"""How the error begins of a job that did not run as its batch had no money left."""
JobState = Literal["waiting", "held", "running", "needs_you", "done", "failed", "cancelled"]
OVER = ("done", "failed", "cancelled")
"""The states of jobs that are over."""


class SessionId(msgspec.Struct, frozen=True, kw_only=True):
    """Which session of the team a session on this machine is.

    Attributes:
        id: the same for all attempts at a session, and in all copies of it.
        attempt: it grows when another worker takes the session over; whoever writes with an earlier one is refused.
        job: the job that it works on; None for a session that a person started.
        owner: the role whose rows these are; None for the role of the connection.
        shared: whether the team may see it.
    """

    id: str
    attempt: int = 1
    job: str | None = None
    owner: str | None = None
    shared: bool = True

    @property
    def key(self) -> tuple[str, int]:
        """Which attempt at which session it is: whose it is and who sees it may be changed meanwhile."""
        return self.id, self.attempt


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One query of a batch.

    Attributes:
        id: the hash of query and settings, so that the same job is never done twice.
        settings: those of the session by name, as in a settings file; `ask` says whether a person may be asked.
        number: its line or row in the file of the batch, from 1.
        columns: the columns of the row that are no settings, for the results; they are not stored.
    """

    id: str
    query: str
    settings: Mapping[str, Any] = {}
    number: int = 0
    columns: Mapping[str, Any] = {}


class JobBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that were given together, with a limit for what all of them may cost, in US dollars.

    `name` is what people call it, and `run` counts how often that name was given to a new batch.
    """

    id: str
    name: str = ""
    run: int = 1
    max_cost_usd: float | None = None
    shared: bool = True


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch.

    Attributes:
        new: how many jobs nobody gave before.
        known: how many were known by their id, and stay as they are.
        reopened: how many were known and have failed, and wait again.
        others: how many were to run again, but failed for somebody else, who alone may do that.
    """

    new: int
    known: int
    reopened: int = 0
    others: int = 0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a batch are in each state, and what all have cost, as far as that is known."""

    waiting: int = 0
    held: int = 0
    running: int = 0
    needs_you: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    cost_usd: float = 0.0

    @property
    def over(self) -> int:
        """How many are over."""
        return self.done + self.failed + self.cancelled

    @property
    def queued(self) -> int:
        """How many wait for a worker, those that are paused included."""
        return self.waiting + self.held

    @property
    def total(self) -> int:
        """How many there are."""
        return self.queued + self.running + self.needs_you + self.over


class JobClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The right to work on a job, until another worker gets it.

    Attributes:
        session: its session; an attempt above 1 means that an earlier worker was lost, and the session is resumed.
        limit_usd: what the session may cost in all, its earlier attempts included; None for no limit. That much of the
            limit of the batch is reserved for it.
        spent_usd: what its earlier attempts have cost, whatever their journal says: its owner may have changed that.
        folder: the folder of the earlier attempt, where it was on this machine; None otherwise.
    """

    job: Job
    session: SessionId
    limit_usd: float | None = None
    spent_usd: float = 0.0
    folder: str | None = None


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job.

    Attributes:
        folder: the folder of its session, where it ran.
        tokens: all that its queries used; None if it is not known.
        model: the one that answered.
        files: what was made for the person, as paths in the folder.
        unknown: the tools of actions that were begun by a program that was lost, of which nobody knows the outcome.
    """

    answer: str = ""
    error: str = ""
    cost_usd: float | None = None
    folder: str = ""
    tokens: int | None = None
    model: str = ""
    files: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Outcome(Findings, frozen=True, kw_only=True):
    """How an attempt at a job ended.

    The job is over, or it goes on later: one that was stopped or taken from this worker is `waiting`, and `error` says
    why if the session found that out; it is `parked` until a person decides, or `put_off` with all others.
    """

    state: Literal["done", "failed", "cancelled", "waiting", "parked", "put_off"]


class JobResult(Findings, frozen=True, kw_only=True):
    """A job as it is now; times in seconds since the epoch."""

    job: Job
    state: JobState
    attempt: int = 0
    worker: str = ""
    session: str = ""
    started: float | None = None
    finished: float | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer: to a tool call or question of the agent, or (`action`) to the request of an MCP server.

    The fields are the arguments of `Session.answer_permission` and `Session.answer_elicitation`.
    """

    request: str
    allow: bool = False
    scope: str = "once"
    reason: str = ""
    patterns: tuple[str, ...] = ()
    input: dict[str, Any] | None = None
    action: Literal["accept", "decline", "cancel"] | None = None
    values: dict[str, Any] | None = None


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an answer was the first one; otherwise who answered, and when. `by` is empty if nobody asks any more."""

    accepted: bool
    by: str = ""
    at: float | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants of a session that runs elsewhere.

    `body` is the text of a query to submit. `sent_by` is who sent it, which the store fills in.
    """

    kind: Literal["interrupt", "submit"]
    body: str = ""
    sent_by: str = ""
