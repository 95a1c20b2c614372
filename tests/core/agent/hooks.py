"""The hooks of an agent whose session has nothing but a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ua_tui.core.agent.definitions.rules import UnmetRule
from ua_tui.core.agent.hooks import AgentHooks
from ua_tui.core.agent.ledger import ActionRecorder
from ua_tui.core.agent.mcp.states import ServerStates
from ua_tui.core.agent.messages.result_files import ResultStore
from ua_tui.core.agent.messages.results import ResultAdapter
from ua_tui.core.agent.messages.translate import Translator
from ua_tui.core.agent.messages.usage import Prices
from ua_tui.core.agent.permissions.gate import PermissionGate
from ua_tui.core.agent.permissions.taint import Taint
from ua_tui.core.events.types import Event
from ua_tui.core.pipelines import Pipelines
from ua_tui.core.provider.request import DEFAULT_URL
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace


def a_translator(**more: Any) -> Translator:
    """Make a translator of an agent of which nothing is known but `more`."""
    given: dict[str, Any] = {
        "redactor": Redactor(),
        "servers": ServerStates(),
        "server": DEFAULT_URL,
        "prices": Prices(),
        "structured": False,
    }
    return Translator(**given | more)


def never_read_only(_server: str, _tool: str) -> bool:
    """No tool of any server declares that it only reads."""
    return False


async def _all_met(*_asked: object) -> tuple[UnmetRule, ...]:
    return ()


def hooks_of(
    workspace: Workspace, gate: PermissionGate, publish: Callable[[Event], Event], **more: Any
) -> AgentHooks:
    """Make hooks that ask the gate; `more` are the other arguments of the hooks."""
    given: dict[str, Any] = {
        "results": ResultStore(ResultAdapter(workspace.path), workspace),
        "pipelines": Pipelines(publish),
        "recorder": ActionRecorder(None, Redactor(), workspace.path, never_read_only),
        "translator": a_translator(),
        "check_subagent": _all_met,
    }
    return AgentHooks(gate=gate, taint=Taint(workspace), **given | more)
