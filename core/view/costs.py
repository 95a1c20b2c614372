"""What a session spent: money, tokens, and how full the context of the model is."""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from ua_tui.core.events import types as ev

_T = TypeVar("_T")
_LEVELS = ("", "warning", "spent")


class TokenCount(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of a session with its sub-agents: the same live, after a resume, and when it is read again.

    `done` has those of queries that ended. A query counts with the tokens reported for its messages while it ran, or
    with those reported at its end if these include the sub-agents, whose messages have estimates, or are more, as in
    journals without those messages.
    """

    done: int = 0
    read: int = 0
    cached: int = 0
    spent: int = 0
    spent_read: int = 0
    messages: int = 0

    @property
    def total(self) -> int:
        """All tokens, with those of a query that is running or was cut off."""
        return self.done + max(self.spent, self.messages)

    @property
    def cached_share(self) -> float | None:
        """The share of the tokens that the model read which came from the cache, 0 to 1; None if none were read."""
        return self.cached / self.read if self.read else None

    def after(self, event: ev.Event) -> TokenCount:
        """Return the count after an event."""
        match event:
            case ev.TokensSpent(usage=usage):
                return replace(
                    self,
                    spent=self.spent + usage.total,
                    spent_read=self.spent_read + usage.read,
                    read=self.read + usage.read,
                    cached=self.cached + usage.cache_read_input_tokens,
                )
            case ev.MessageFinished(usage=ev.Usage() as usage):
                return replace(self, messages=self.messages + usage.total)
            case ev.OpinionGiven(usage=usage):
                return replace(
                    self,
                    done=self.done + usage.total,
                    read=self.read + usage.read,
                    cached=self.cached + usage.cache_read_input_tokens,
                )
            case ev.QueryFinished():
                usage = event.usage or ev.Usage()
                has_all = self.spent > 0 and usage.read >= self.spent_read and usage.total > 0
                done = usage.total if has_all else max(self.spent, self.messages, usage.total)
                return replace(self, done=self.done + done, spent=0, spent_read=0, messages=0)
            case _:
                return self


class ModelUse(msgspec.Struct, frozen=True):
    """What one model used; `cost_usd` is an estimate, None if its price is unknown."""

    usage: ev.Usage = ev.Usage()
    cost_usd: float | None = 0.0


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What a session spent; amounts in US dollars.

    Attributes:
        spent: the cost of the queries that ended, estimated where an end does not state it; None if none is known.
        running: the estimate for each query that is running or was cut off, by its id.
        unpriced: the models of ended queries whose price is unknown, in the order of their use.
        running_unpriced: those of each query that is running or was cut off.
        models: what each model used.
        context: the tokens in the context of the main agent; `window` is its size, None if it is unknown.
        limit: the spending limit, and how much of it was reported as used (`level`).
        inherited: what the session of which this one is a fork had spent before; no part of the other sums.
        estimated: whether a part is an estimate: of a running query, or of the last one if its end does not state it.
    """

    spent: float | None = None
    running: dict[str, float] = {}
    unpriced: tuple[str, ...] = ()
    running_unpriced: dict[str, tuple[str, ...]] = {}
    tokens: TokenCount = TokenCount()
    models: dict[str, ModelUse] = {}
    context: int = 0
    window: int | None = None
    limit: float | None = None
    level: Literal["", "warning", "spent"] = ""
    inherited: float = 0.0
    estimated: bool = False

    @property
    def total(self) -> float | None:
        """All known costs, with the estimates for running queries; None if nothing is known."""
        return (self.spent or 0.0) + sum(self.running.values()) if self.running else self.spent

    @property
    def all_unpriced(self) -> tuple[str, ...]:
        """The models whose price is unknown, also those of running queries."""
        return merged(self.unpriced, *self.running_unpriced.values())

    def after(self, event: ev.Event) -> Costs:
        """Return the costs after an event; the same if the event changes nothing."""
        match event:
            case ev.TokensSpent():
                models, tokens, query = self._used(event), self.tokens.after(event), event.query_id
                if event.cost_usd is None:
                    unpriced = merged(self.running_unpriced.get(query, ()), (event.model,))
                    every = {**self.running_unpriced, query: unpriced}
                    return replace(self, tokens=tokens, models=models, running_unpriced=every)
                running = {**self.running, query: self.running.get(query, 0.0) + event.cost_usd}
                return replace(self, tokens=tokens, models=models, running=running, estimated=True)
            case ev.QueryFinished():
                return self._with_end(event)
            case ev.OpinionGiven():
                return replace(
                    self,
                    tokens=self.tokens.after(event),
                    models=self._used(event),
                    spent=self.spent if event.cost_usd is None else (self.spent or 0.0) + event.cost_usd,
                    unpriced=merged(self.unpriced, [event.model] if event.cost_usd is None else []),
                )
            case ev.MessageFinished(usage=ev.Usage() as usage):
                context = usage.total if event.parent_tool_use_id is None else self.context
                return replace(self, tokens=self.tokens.after(event), context=context)
            case ev.ContextCompaction(tokens_after=tokens_after) if tokens_after:
                return replace(self, context=tokens_after)
            case ev.ConversationCleared() | ev.SessionRewound():
                return replace(self, context=0)
            case ev.SessionForked():
                # What the other session spent counts against its own limit.
                return replace(
                    Costs(spent=0.0, inherited=event.cost_usd, limit=self.limit), window=self.window
                )
            case ev.BudgetReached():
                level = max(self.level, event.level, key=_LEVELS.index)
                return replace(self, limit=event.limit_usd, level=level)
            case ev.BudgetRaised():
                return replace(self, limit=event.limit_usd, level="")
            case ev.SessionStarted(max_cost_usd=float(limit)):
                return replace(self, limit=limit)
            case _:
                return self

    def _used(self, event: ev.TokensSpent | ev.OpinionGiven) -> dict[str, ModelUse]:
        """What each model used, with what an event reports."""
        before = self.models.get(event.model, ModelUse())
        known = before.cost_usd is not None and event.cost_usd is not None
        use = ModelUse(before.usage + event.usage, before.cost_usd + event.cost_usd if known else None)  # type: ignore[operator]
        return {**self.models, event.model: use}

    def _with_end(self, event: ev.QueryFinished) -> Costs:
        cost = event.cost_usd if event.cost_usd is not None else self.running.get(event.query_id)
        unpriced = event.unpriced
        if event.cost_usd is None and not unpriced:
            unpriced = list(filter(None, self.running_unpriced.get(event.query_id, ())))
        return replace(
            self,
            tokens=self.tokens.after(event),
            spent=self.spent if cost is None else (self.spent or 0.0) + cost,
            running=without(self.running, event.query_id),
            unpriced=merged(self.unpriced, unpriced),
            running_unpriced=without(self.running_unpriced, event.query_id),
            window=event.context_window or self.window,
            estimated=self.estimated and event.cost_usd is None,
        )


def merged(*names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Join lists of names, each name once."""
    return tuple(dict.fromkeys(name for each in names for name in each))


def without(items: dict[str, _T], key: str) -> dict[str, _T]:
    """Return a dictionary without a key; the same if it does not have it."""
    return {other: value for other, value in items.items() if other != key} if key in items else items
