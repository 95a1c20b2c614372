"""Makes of what the SDK gave for a call what observers and events get of it, a large one in a child process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from core.agent.results import RawResult, ResultAdapter, is_cut_off
from core.aside import Aside, AsideFailed, packed
from core.observation import AnyObservation, TextContent
from core.spill import spill
from core.text import Redactor
from core.workspace import Workspace

if TYPE_CHECKING:
    from core.aside_child import Desk

__all__ = ["LARGE", "Settler", "settle_in_child"]

log = logging.getLogger(__name__)

LARGE = 512 << 10
"""From this size on, in characters, a result is not read in this process."""

_MOST_NODES = 2_000
_TASK = "core.agent.settling:settle_in_child"


class Settler:
    """Adapts and stores results; without an `aside`, or when it fails, all of them in the calling thread."""

    def __init__(
        self, adapter: ResultAdapter, workspace: Workspace, redactor: Redactor, aside: Aside | None = None
    ) -> None:
        self._adapter = adapter
        self._workspace = workspace
        self._redactor = redactor
        self._aside = aside

    def settle(
        self, raw: RawResult, facts: Mapping[str, Any], denial: str | None = None
    ) -> tuple[AnyObservation, AnyObservation]:
        """Return the observation for observers and the one for events, as `core.spill.spill` does.

        `facts` are the other arguments of `ResultAdapter.observe`; `denial` is the reason, when the call was not
        allowed to run. Of a large result the observers too get the preview, and the file that holds it whole.

        Takes time in proportion to the result: call it in a thread.
        """
        if self._aside is not None and denial is None and (is_cut_off(raw) or _is_large(raw)):
            try:
                return self._beside(self._aside, raw, facts)
            except AsideFailed as error:
                log.warning("a large tool result is read in the main process: %s", error)
        observation = self._adapter.observe(raw=raw, **facts)
        if denial is not None:
            # The agent wraps the reason in words of its own, meant for the model.
            observation = msgspec.structs.replace(observation, error=denial)
        return spill(observation, self._workspace, self._redactor)

    def _beside(
        self, aside: Aside, raw: RawResult, facts: Mapping[str, Any]
    ) -> tuple[AnyObservation, AnyObservation]:
        root = self._adapter.saved_results_root
        asked = {"root": None if root is None else str(root), "raw": raw, "facts": dict(facts)}
        argument = packed(asked)
        whole, shown = (
            None if given is None else msgspec.msgpack.decode(given, type=AnyObservation)
            for given in aside.call(_TASK, argument)
        )
        assert shown is not None
        return whole if whole is not None else shown, shown


def settle_in_child(desk: Desk, argument: bytes) -> tuple[bytes | None, bytes]:
    """Settle a result in the child, and leave its content there for the observers."""
    asked = msgspec.msgpack.decode(argument)
    root = asked["root"]
    adapter = ResultAdapter(saved_results_root=None if root is None else Path(root))
    observation = adapter.observe(raw=RawResult(**asked["raw"]), **asked["facts"])
    whole, shown = spill(observation, desk.workspace, desk.workspace.redactor)
    encode = msgspec.msgpack.encode
    if whole.stored_at is None:
        return encode(whole), encode(shown)
    size = sum(len(block.text) for block in whole.content if isinstance(block, TextContent))
    desk.keep(whole.tool_use_id, whole.content, size)
    return None, encode(shown)


def _is_large(raw: RawResult) -> bool:
    """Whether the parts of a result that would be read are large, told without looking at all of them."""
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
            case _:
                pass
        if size >= LARGE or seen + len(waiting) > _MOST_NODES:
            return True
    return False
