"""Adapts and stores the result of a call for observers and events, a large one in a worker process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import fields

from ua_tui.core.agent.bounds import DEEPEST, LARGE_TEXT, MOST_ENTRIES
from ua_tui.core.agent.messages.results import RawResult, ResultAdapter, is_cut_off
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess, packed
from ua_tui.core.observation import AnyObservation, TextContent
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.large_results import store_large_result
from ua_tui.core.storage.workspace import Workspace

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

log = logging.getLogger(__name__)


_TASK = "ua_tui.core.agent.messages.result_storage:store_in_child"


class ResultStore(msgspec.Struct, eq=False):
    """Adapts and stores results; without a worker, or if it fails, in the calling thread."""

    adapter: ResultAdapter
    workspace: Workspace
    redactor: Redactor
    worker: WorkerProcess | None = None

    def store(
        self, raw: RawResult, facts: Mapping[str, Any], denial: str | None = None
    ) -> tuple[AnyObservation, AnyObservation]:
        """Return the observation for observers and the one for events, as `store_large_result` does.

        `facts` are the other arguments of `ResultAdapter.observe`; `denial` is the reason, when the call was not
        allowed to run. For a large result the observers, too, get the preview and the file with the full content.

        Takes time in proportion to the result: call it in a thread.
        """
        if self.worker is not None and denial is None and (is_cut_off(raw) or _is_large(raw)):
            try:
                stored = self._store_in_worker(self.worker, raw, facts)
            except WorkerFailed as error:
                log.warning("a large tool result is read in the main process: %s", error)
            else:
                return self._without_copy(raw, stored)
        observation = self.adapter.observe(raw=raw, **facts)
        if denial is not None:
            # The agent wraps the reason in a text of its own, meant for the model.
            observation = msgspec.structs.replace(observation, error=denial)
        return self._without_copy(raw, store_large_result(observation, self.workspace, self.redactor))

    def _without_copy(
        self, raw: RawResult, stored: tuple[AnyObservation, AnyObservation]
    ) -> tuple[AnyObservation, AnyObservation]:
        """Remove the copy of a stored result outside of the session, in which secrets are not masked."""
        if stored[0].stored_at is not None and stored[0].recovered:
            self.adapter.remove_saved(raw)
        return stored

    def end_worker(self) -> None:
        """End the worker process, as when it does not react; what it was given is then stored by this process."""
        if self.worker is not None:
            self.worker.kill()

    def _store_in_worker(
        self, worker: WorkerProcess, raw: RawResult, facts: Mapping[str, Any]
    ) -> tuple[AnyObservation, AnyObservation]:
        root = self.adapter.saved_results_root
        texts: list[str] = []
        shell = {part.name: _without_texts(getattr(raw, part.name), texts) for part in fields(raw)}
        asked = {"root": None if root is None else str(root), "raw": shell, "facts": dict(facts)}
        whole, shown = (
            None if given is None else msgspec.msgpack.decode(given, type=AnyObservation)
            for given in worker.call(_TASK, packed(asked), lambda _name: texts)
        )
        assert shown is not None
        return whole if whole is not None else shown, shown


def store_in_child(desk: TaskContext, argument: bytes) -> tuple[bytes | None, bytes]:
    """Store a result in the worker process, and leave its content there for the observers."""
    asked = msgspec.msgpack.decode(argument)
    root = asked["root"]
    adapter = ResultAdapter(saved_results_root=None if root is None else Path(root))
    desk.make_room()
    raw = RawResult(**_with_texts(asked["raw"], desk.texts("raw")))
    observation = adapter.observe(raw=raw, **asked["facts"])
    whole, shown = store_large_result(observation, desk.workspace, desk.workspace.redactor)
    encode = msgspec.msgpack.encode
    if whole.stored_at is None:
        return encode(whole), encode(shown)
    size = sum(len(block.text) for block in whole.content if isinstance(block, TextContent))
    desk.keep(whole.tool_use_id, whole.content, size)
    return None, encode(shown)


def _without_texts(value: Any, texts: list[str], depth: int = 0) -> Any:
    """The value with each long text moved to `texts`, because encoding it at once would block for long."""
    match value:
        case str() if len(value) >= (16 << 10):
            texts.append(value)
            return msgspec.msgpack.Ext(1, str(len(texts) - 1).encode())
        case dict() if depth < DEEPEST and len(value) < MOST_ENTRIES:
            return {key: _without_texts(item, texts, depth + 1) for key, item in value.items()}
        case list() | tuple() if depth < DEEPEST and len(value) < MOST_ENTRIES:
            return [_without_texts(item, texts, depth + 1) for item in value]
        case _:
            return value


def _with_texts(value: Any, texts: list[str]) -> Any:
    match value:
        case msgspec.msgpack.Ext(code=code, data=data) if code == 1:
            return texts[int(bytes(data))]
        case dict() if texts:
            return {key: _with_texts(item, texts) for key, item in value.items()}
        case list() if texts:
            return [_with_texts(item, texts) for item in value]
        case _:
            return value


def _is_large(raw: RawResult) -> bool:
    """Whether the parts of a result that would be read are large, determined without reading all of them."""
    waiting: list[Any] = [raw.block or raw.hook_copy]
    size = seen = 0
    while waiting:
        part = waiting.pop()
        seen += 1
        match part:
            case str():
                size += len(part)
            case dict():
                waiting += part.values()
            case list() | tuple():
                waiting += part
        if size >= LARGE_TEXT or seen + len(waiting) > MOST_ENTRIES:
            return True
    return False
