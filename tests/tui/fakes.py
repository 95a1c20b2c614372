"""A session at the seam: it publishes real events on the real bus, and keeps what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from ua_tui.core.agent.attachments.places import AttachmentPlaces, attach
from ua_tui.core.agent.definitions.commands import CustomCommand
from ua_tui.core.agent.mcp.references import ServerReferences
from ua_tui.core.agent.messages.usage import ContextUsage
from ua_tui.core.agent.permissions.rule_set import RuleSet
from ua_tui.core.bus import Bus
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.errors import AgentError
from ua_tui.core.events import types as ev
from ua_tui.core.history.kept_versions import Change
from ua_tui.core.provider.models import KnownModel, ModelChoice
from ua_tui.core.session.rewinding import Prospect
from ua_tui.core.settings.model import PermissionMode, Settings
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.telemetry.tracer import Trace
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.session_source import LiveSource
from ua_tui.tui.terminal.clipboard import Clipboard


@dataclass
class FakeWorkspace:
    path: Path


@dataclass
class FakeServers:
    """Servers that do what they are told at once; what was asked of them is kept."""

    known: list[ev.McpServer] = field(default_factory=list)
    refusal: str = ""
    asked: list[str] = field(default_factory=list)
    looks: int = 0

    def refresh(self) -> None:
        self.looks += 1

    def reconnect(self, name: str) -> str:
        self.asked.append(f"reconnect {name}")
        return self.refusal

    def switch(self, name: str, *, on: bool) -> str:
        self.asked.append(f"{'enable' if on else 'disable'} {name}")
        return self.refusal


class FakeModels:
    known = (
        KnownModel("default", "Default (recommended)", "Sonnet 5"),
        KnownModel("opus", "Opus", "Opus 5, $5/$25 per Mtok"),
        KnownModel("haiku", "Haiku", "fast"),
    )

    def __init__(self) -> None:
        self.choice = ModelChoice()

    def choose(self, choice: ModelChoice) -> None:
        self.choice = choice


@dataclass
class FakeSession:
    """Plays `script` for each query when it is not empty; otherwise a query runs until it is told to end."""

    workspace: FakeWorkspace
    servers: FakeServers = field(default_factory=FakeServers)
    models: FakeModels = field(default_factory=FakeModels)
    rules: RuleSet = field(default_factory=RuleSet)
    script: Sequence[ev.Event] = ()
    demo: bool = False
    fail_start: str | None = None
    hold_start: bool = False
    close_forever: bool = False
    bus: Bus = field(default_factory=Bus)
    state: str = "starting"
    permission_mode: str = "default"
    trace: Trace | None = None
    waiting: list[str] = field(default_factory=list)
    submitted: list[str] = field(default_factory=list)
    answers: list[tuple[str, bool, str]] = field(default_factory=list)
    inputs: list[dict[str, Any] | None] = field(default_factory=list)
    given: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    reasons: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    interrupts: int = 0
    queue_paused: bool = False
    commands: tuple[str, ...] = ("compact", "mine:tidy")
    custom_commands: tuple[CustomCommand, ...] = ()
    usage: ContextUsage | None = None
    steered: list[str] = field(default_factory=list)
    stopped_subagents: list[str] = field(default_factory=list)
    deaf: bool = False
    restarts: int = 0
    limits: list[float] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    prospect: Prospect = field(default_factory=Prospect)
    rewound: list[tuple[str, int]] = field(default_factory=list)
    refuses: str = ""
    may_start: asyncio.Event = field(default_factory=asyncio.Event)
    starts_with: str = "connecting composio"

    references: ServerReferences = field(
        default_factory=lambda: ServerReferences({}, tuple, cast("Workspace", None))
    )

    @property
    def inbox(self) -> FakeSession:
        return self

    @property
    def controls(self) -> Any:
        return self

    @property
    def queued(self) -> tuple[str, ...]:
        return tuple(self.waiting)

    async def prepare(self, text: str) -> None:
        await self.references.prepare(text)

    async def start(self) -> None:
        if self.hold_start:
            await self.may_start.wait()
        self.bus.publish(ev.SessionStarted(
            session_id="session_20261121_140200", workspace=str(self.workspace.path), cwd="/work",
            version="0.1.0", model="claude-sonnet-4-5-20250929", demo=self.demo,
        ))  # fmt: skip
        if self.fail_start is not None:
            self.fail(self.fail_start)
        else:
            self.state = "idle"

    async def look_back(self, query_id: str) -> Prospect:
        return self.prospect

    async def rewind(self, query_id: str, changes: Sequence[Change] = ()) -> None:
        if self.refuses:
            raise AgentError(self.refuses)
        self.rewound.append((query_id, len(changes)))
        self.bus.publish(ev.SessionRewound(query_id=query_id, provider_session_id="c2", kept_as="session_2"))

    async def context_usage(self) -> ContextUsage | None:
        return self.usage

    @property
    def places(self) -> AttachmentPlaces:
        """Where names lead: to files of the session only."""
        return AttachmentPlaces(self.workspace.path)

    async def attach(self, file: Path) -> str:
        return await asyncio.to_thread(attach, Workspace.open(self.workspace.path), file)

    def submit(self, text: str) -> None:
        self.submitted.append(text)
        if self.state == "running":
            self.waiting.append(text)
            return
        self.state = "running"
        self.bus.publish(ev.QueryReceived(query_id=f"q{len(self.submitted)}", text=text))
        for event in self.script:
            self.bus.publish(event)

    def finish(self, status: Literal["success", "error", "interrupted"] = "success", **more: object) -> None:
        self.state = "idle"
        event = ev.QueryFinished(query_id=f"q{len(self.submitted)}", status=status, **more)  # type: ignore[arg-type]
        self.bus.publish(event)

    def fail(self, message: str, causes: Sequence[str] = ()) -> None:
        self.state = "failed"
        self.bus.publish(ev.ErrorRaised(where="agent", message=message, causes=list(causes)))

    async def stop_subagent(self, tool_use_id: str) -> bool:
        self.stopped_subagents.append(tool_use_id)
        return self.state == "running"

    async def steer(self, text: str) -> bool:
        if self.state != "running" or self.deaf:
            self.waiting.insert(0, text)
            return False
        self.steered.append(text)
        self.bus.publish(ev.QuerySteered(query_id=f"q{len(self.submitted)}", text=text))
        return True

    @property
    def queue(self) -> FakeSession:
        return self

    def pop_newest(self) -> str | None:
        return self.waiting.pop() if self.waiting else None

    def change(self, seen: Sequence[str], wanted: Sequence[str]) -> bool:
        if list(seen) != self.waiting:
            return False
        self.waiting[:] = wanted
        return True

    def resume_queue(self) -> None:
        self.queue_paused = False
        if self.waiting:
            self.submit(self.waiting.pop(0))

    def raise_budget(self, limit_usd: float) -> None:
        self.limits.append(limit_usd)
        self.bus.publish(ev.BudgetRaised(spent_usd=0.0, limit_usd=limit_usd))

    async def interrupt(self) -> None:
        self.interrupts += 1
        self.queue_paused = bool(self.waiting)
        self.finish("interrupted")

    def answer_permission(
        self,
        request_id: str,
        *,
        allow: bool,
        scope: str = "once",
        reason: str = "",
        patterns: Sequence[str] = (),
        input: dict[str, Any] | None = None,
    ) -> None:
        self.inputs.append(input)
        self.answers.append((request_id, allow, scope))
        self.reasons.append((reason, tuple(patterns)))
        decision: Literal["allow", "deny"] = "allow" if allow else "deny"
        self.bus.publish(
            ev.PermissionAnswered(request_id=request_id, tool_name="x", decision=decision, scope=scope)
        )

    def answer_elicitation(
        self,
        request_id: str,
        action: Literal["accept", "decline", "cancel"],
        values: Mapping[str, object] | None = None,
    ) -> None:
        self.given.append((request_id, action, dict(values or {})))
        self.bus.publish(ev.ElicitationAnswered(request_id=request_id, server="desk", action=action))

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        previous, self.permission_mode = self.permission_mode, mode
        self.bus.publish(ev.PermissionModeChanged(previous=previous, mode=mode))

    def finish_auth(self, outcome: Literal["completed", "cancelled", "expired"]) -> None:
        self.outcomes.append(outcome)
        self.bus.publish(ev.AuthFinished(toolkit="gmail", outcome=outcome))

    async def restart(self) -> None:
        self.restarts += 1
        self.state = "idle"

    async def close(self, reason: str) -> None:
        self.closed.append(reason)
        if self.close_forever:
            await asyncio.Event().wait()
        self.state = "closed"
        self.bus.publish(ev.SessionFinished(reason=reason))


def make_session(tmp_path: Path, **options: object) -> FakeSession:
    folder = tmp_path / "session_20261121_140200"
    folder.mkdir(exist_ok=True)
    return FakeSession(FakeWorkspace(folder), **options)  # type: ignore[arg-type]  # the fields of FakeSession


def make_app(
    tmp_path: Path,
    session: FakeSession,
    *,
    first_query: str | None = None,
    compared_with: Path | None = None,
    **settings: object,
) -> UaTuiApp:
    async def build(spawn: Spawn) -> FakeSession:
        return session

    chosen = Settings(workspace_base=tmp_path, **settings)  # type: ignore[arg-type]  # fields of Settings
    # No test may touch the clipboard of whoever runs it.
    clipboard = Clipboard({"TERM": "xterm-256color"}, platform="linux")
    source = LiveSource(build, compared_with)
    return UaTuiApp(chosen, source, first_query, state_dir=tmp_path / "state", clipboard=clipboard)
