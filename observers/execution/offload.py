"""Observes large results in a child process, with the same observers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.agent.definitions.rules import SubagentRule
from ua_tui.core.concurrency.worker import WorkerProcess, WorkerUnavailable, packed
from ua_tui.core.json_values import JsonObject
from ua_tui.core.knowledge.place import read_place, written_place
from ua_tui.core.observation import ContentBlock, TextContent, ToolResult
from ua_tui.observers.base import Observer, ObserverContext, Outcome, is_preview, texts_of
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.execution.run import Run, perform

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext
    from ua_tui.core.knowledge.place import KnowledgePlace

LARGE = 256 << 10
"""The size in characters from which a result is observed in the child process."""

_TASK = "ua_tui.observers.execution.offload:observe_in_child"


class ResultOffload:
    """Has large results observed by the child process.

    An observer whose work may be large although the result is small says so by a method `is_heavy`, which is
    given the workspace. `rules` are the compliance rules of the session's sub-agents, None for the shipped ones.
    `knowledge` is where the knowledge base is, if there is one, `public_searches` are the tools of the context. For
    threads, never for the event loop.
    """

    def __init__(
        self,
        aside: WorkerProcess,
        rules: Sequence[SubagentRule] | None = None,
        knowledge: KnowledgePlace | None = None,
        public_searches: Sequence[str] = (),
    ) -> None:
        self._aside = aside
        self._knowledge = None if knowledge is None else written_place(knowledge)
        self._public_searches = list(public_searches)
        self._rules = None if rules is None else msgspec.msgpack.encode(rules)

    def accepts(self, observer: Observer, result: ToolResult) -> bool:
        """Whether the child should observe this result."""
        if sum(map(len, result.observation.texts)) >= LARGE or is_preview(result):
            return True
        is_heavy = getattr(observer, "is_heavy", None)
        return is_heavy is not None and bool(is_heavy(self._aside.workspace))

    def perform(self, run: Run, result: ToolResult) -> Run:
        """Have the child process run the observer that `run` names.

        Raises:
            WorkerUnavailable: the child cannot be started, or cannot take this result or this observer.
            WorkerFailed: the child ended before it was done.
        """
        observation = result.observation
        texts = observation.texts
        whole = not is_preview(result)
        shell = msgspec.structs.replace(observation, output="", content=()) if whole else observation
        packed_result = packed(msgspec.structs.replace(result, observation=shell))
        argument = {
            "observer": run.observer,
            "curious": run.curious,
            "result": packed_result,
            "whole": whole,
            "rules": self._rules,
            "knowledge": self._knowledge,
            "public_searches": self._public_searches,
        }
        done = self._aside.call(_TASK, argument, lambda _name: texts)
        if done is None:
            raise WorkerUnavailable(f"the process for large results has no observer {run.observer}")
        run.outcome = msgspec.convert(done["outcome"], Outcome)
        run.error = done["error"]
        run.duration_ms = done["duration_ms"]
        return run


def observe_in_child(desk: TaskContext, argument: JsonObject) -> JsonObject | None:
    """Run one observer in the child process; a result is read once for all observers that want it.

    None when there is no such observer here, as a plug-in that could not be loaded again.
    """
    # Plug-ins are loaded only for one of them.
    places = (_observers(plugins, argument["rules"]) for plugins in (False, True))
    observer = next((known[name] for known in places if (name := argument["observer"]) in known), None)
    if observer is None:
        return None
    result = msgspec.msgpack.decode(argument["result"], type=ToolResult)
    tool_use_id = result.call.tool_use_id
    content: tuple[ContentBlock, ...] | None = desk.kept(tool_use_id)
    if content is None:
        texts = desk.texts(tool_use_id) if argument["whole"] else texts_of(result, desk.workspace)
        content = tuple(map(TextContent, texts))
        desk.keep(tool_use_id, content, sum(map(len, texts)))
    observation = msgspec.structs.replace(result.observation, content=content)
    run = Run(argument["observer"], result.call.name, tool_use_id, argument["curious"])
    whole = ToolResult(call=result.call, observation=observation)
    context = _context(desk, argument["knowledge"], tuple(argument["public_searches"]))
    perform(run, observer, whole, context)
    outcome = msgspec.to_builtins(run.outcome)
    return {"outcome": outcome, "error": run.error, "duration_ms": run.duration_ms}


@lru_cache(maxsize=2)
def _observers(plugins: bool, rules: bytes | None) -> dict[str, Observer]:
    known = None if rules is None else msgspec.msgpack.decode(rules, type=list[SubagentRule])
    return {observer.name: observer for observer in default_observers(plugins=plugins, rules=known)}


@lru_cache(maxsize=1)
def _context(desk: TaskContext, knowledge: str | None, public_searches: tuple[str, ...]) -> ObserverContext:
    place = None if knowledge is None else read_place(knowledge)
    return ObserverContext(desk.workspace, knowledge=place, public_searches=public_searches)
