"""A session: the one object a front end holds. It takes queries, runs them one at a time, and ends cleanly."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

from core.agent.classifier import Classification, Classifier
from core.agent.environment import PrivateFolder
from core.agent.gate import Answer, PermissionGate
from core.agent.hooks import AgentHooks, SubagentCheck
from core.agent.loop import AgentLoop, TurnOutcome
from core.agent.options import Briefing, brief, build_options
from core.agent.permissions import PermissionPolicy
from core.agent.results import ResultAdapter
from core.agent.translate import Translator
from core.bus import Bus
from core.connections.base import Connection
from core.errors import AgentError, AgentUnavailable, UniversalAgentError, causes_of
from core.events import (
    ArtifactSaved,
    AuthFinished,
    AuthRequired,
    ErrorRaised,
    Event,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    ToolCallStarted,
)
from core.observation import ToolResult
from core.pipelines import (
    AfterExecute,
    AgentContext,
    AgentErrored,
    AgentResponse,
    BeforeExecute,
    Pipelines,
)
from core.settings import Settings
from core.text import Redactor, clean
from core.version import VERSION
from core.workspace import Workspace

__all__ = ["AGENT_NAME", "Handle", "Session", "SessionParts", "SessionState", "Spawn", "spawn_task"]

log = logging.getLogger(__name__)

AGENT_NAME = "universal-agent"
GO_ON = "The authentication is complete. Please go on from where you stopped."


class SessionState(StrEnum):
    """What a session is doing."""

    STARTING = "starting"
    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    FAILED = "failed"
    CLOSED = "closed"


class Handle(Protocol):
    """Something that runs and can be cancelled: an asyncio task, a Textual worker."""

    def cancel(self) -> object:
        """Stop it."""
        ...


Spawn = Callable[[Coroutine[Any, Any, None], str, str], Handle]
"""Starts a coroutine in the background: (coroutine, name, group) -> handle."""

Connector = Callable[[], Awaitable[Connection]]


def spawn_task(work: Coroutine[Any, Any, None], name: str, group: str) -> Handle:
    """Start a coroutine as a plain asyncio task; the caller keeps the handle."""
    return asyncio.get_running_loop().create_task(work, name=f"{group}:{name}")


@dataclass(frozen=True, kw_only=True)
class SessionParts:
    """What a session is made of, put together by the composition root.

    `connectors` are opened at the start; one that fails is reported and left out. `drain` waits for the
    observers and names what they lost. `after_finish` runs once `session_finished` is published.
    `agent_home` is where the command-line agent keeps its state; None leaves it where a login lives.
    """

    workspace: Workspace
    redactor: Redactor
    pipelines: Pipelines
    connectors: Mapping[str, Connector]
    server_notes: Mapping[str, str] = field(default_factory=dict)
    on_result: Callable[[ToolResult], None] = lambda _result: None
    check_subagent: SubagentCheck | None = None
    ask_model: Callable[[str, str], Awaitable[str]] | None = None
    drain: Callable[[], Awaitable[list[str]]] | None = None
    after_finish: Callable[[], Awaitable[None]] | None = None
    agent_home: Path | None = None
    interactive: bool = True
    extra_allow: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()


class Session:
    """Runs queries for a person or a script.

    Everything that happens is published on `bus`; the methods are the few commands a front end gives.
    """

    def __init__(self, settings: Settings, parts: SessionParts, bus: Bus, spawn: Spawn = spawn_task) -> None:
        self.settings = settings
        self.bus = bus
        self.workspace = parts.workspace
        self.session_id = parts.workspace.session_id
        self.state = SessionState.STARTING
        self.connection_url: str | None = None
        self._parts = parts
        self._spawn = spawn
        self._pipelines = parts.pipelines.bind(bus.publish)
        self._policy = PermissionPolicy(
            workspace=parts.workspace.path,
            allow=(*settings.allow, *parts.extra_allow),
            skip_all=settings.dangerously_skip_permissions,
        )
        self._gate = PermissionGate(
            self._policy, bus.publish, interactive=parts.interactive, redactor=parts.redactor
        )
        asks = parts.ask_model if settings.classifier == "rules+model" else None
        self._classifier = Classifier(asks)
        self._private = PrivateFolder()
        self._provider_session_id = str(uuid4())
        self._loop: AgentLoop | None = None
        self._briefing: Briefing | None = None
        self._servers: dict[str, dict[str, Any]] | None = None
        self._handles: list[Handle] = []
        self._queue: deque[str] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._interrupting = False
        self._conversation_began = False
        self._started = time.monotonic()
        self._pending_auth: AuthRequired | None = None
        self._queries = self._tool_calls = self._artifacts = 0
        self._cost: float | None = None
        self._finished = False
        bus.subscribe(self._count)

    @property
    def queued(self) -> tuple[str, ...]:
        """The queries waiting behind the running one, oldest first."""
        return tuple(self._queue)

    @property
    def pending_auth(self) -> AuthRequired | None:
        """The link a person has yet to open."""
        return self._pending_auth

    async def start(self) -> None:
        """Begin the session and connect the agent; a failure becomes an event and the state `failed`."""
        settings = self.settings
        self.bus.publish(
            SessionStarted(
                session_id=self.session_id,
                workspace=str(self.workspace.path),
                cwd=str(Path.cwd()),
                version=VERSION,
                model=settings.model,
                permission_mode=settings.effective_permission_mode,
                demo=settings.demo,
                provider_session_id=self._provider_session_id,
            )
        )
        try:
            await self._connect()
        except UniversalAgentError as error:
            self._fail("agent", error)
        self._handles.append(self._spawn(self._run_queries(), "queries", "agent"))

    def submit(self, text: str) -> None:
        """Take a query: it runs now, or waits behind the ones before it."""
        if text.strip() and self.state is not SessionState.CLOSED:
            self._queue.append(text.strip())
            self._idle.clear()
            self._wake.set()

    def unqueue(self) -> str | None:
        """Take back the newest query that still waits; None when there is none."""
        return self._queue.pop() if self._queue else None

    async def wait_idle(self) -> None:
        """Wait until no query runs or waits."""
        await self._idle.wait()

    async def interrupt(self) -> None:
        """Stop the running query; what it has said so far is kept."""
        if self.state is not SessionState.RUNNING:
            return
        self.state = SessionState.STOPPING
        self._interrupting = True
        if self._loop is not None:
            await self._loop.interrupt()

    def answer_permission(
        self, request_id: str, *, allow: bool, scope: str = "once", reason: str = ""
    ) -> bool:
        """Answer a waiting tool call; False when it does not wait any more."""
        return self._gate.answer(request_id, Answer(allow, scope, reason))

    def finish_auth(self, outcome: Literal["completed", "cancelled", "expired", "unattended"]) -> None:
        """Say how the waiting authentication went; when it is complete the agent goes on by itself."""
        waiting, self._pending_auth = self._pending_auth, None
        if waiting is None:
            return
        self.bus.publish(AuthFinished(toolkit=waiting.toolkit, outcome=outcome))
        if outcome == "completed":
            self._queue.appendleft(GO_ON)
            self._idle.clear()
            self._wake.set()

    async def restart(self) -> None:
        """Connect the agent again after it died; the conversation goes on, no query is sent again."""
        if self.state is not SessionState.FAILED:
            return
        self.state = SessionState.STARTING
        try:
            await self._connect()
        except UniversalAgentError as error:
            self._fail("agent", error)

    async def close(self, reason: str) -> None:
        """End the session: stop the work, let the observers finish, publish the end, close the records."""
        if self._finished:
            return
        self._finished = True
        if self.state is SessionState.RUNNING:
            await self.interrupt()
            try:
                await asyncio.wait_for(self._idle_or_empty(), 2)
            except TimeoutError:
                log.info("the running query was cut off")
        self.state = SessionState.CLOSED
        if self._loop is not None:
            await self._loop.close()
        for handle in self._handles:
            handle.cancel()
        if self._parts.drain is not None:
            for lost in await self._parts.drain():
                self.bus.publish(
                    ErrorRaised(where="observers", message=f"there was no time left to observe {lost}")
                )
        self.bus.publish(
            SessionFinished(
                reason=reason,
                queries=self._queries,
                tool_calls=self._tool_calls,
                artifacts=self._artifacts,
                cost_usd=self._cost,
                duration_ms=(time.monotonic() - self._started) * 1000,
            )
        )
        self._private.remove()
        if self._parts.after_finish is not None:
            await self._parts.after_finish()
        self.workspace.close()

    async def _idle_or_empty(self) -> None:
        self._queue.clear()
        await self._idle.wait()

    async def _connect(self) -> None:
        parts = self._parts
        if self._servers is None:
            self._servers = await self._open_connections()
        if self._briefing is None:
            notes = {name: parts.server_notes.get(name, "tools of its own") for name in self._servers}
            self._briefing = brief(self.workspace.path, parts.now(), notes)
        translator = Translator(redactor=parts.redactor)
        adapter = ResultAdapter(saved_results_root=self._agent_home())
        hooks = AgentHooks(
            pipelines=self._pipelines,
            policy=self._policy,
            gate=self._gate,
            adapter=lambda: adapter,
            publish=self.bus.publish,
            request_of=translator.request_of,
            check_subagent=parts.check_subagent,
        )
        options = await build_options(
            self.settings,
            self._briefing,
            workspace=self.workspace.path,
            servers_file=self._private.write_servers(self._servers),
            config_dir=parts.agent_home,
            environ=parts.environ,
            hooks=hooks,
            session_id=self._provider_session_id,
            resume=self._conversation_began,
        )
        loop = AgentLoop(
            options,
            hooks=hooks,
            gate=self._gate,
            translator=translator,
            adapter=adapter,
            publish=self.bus.publish,
            on_result=parts.on_result,
            workspace=self.workspace,
            redactor=parts.redactor,
            model=self.settings.model,
        )
        await loop.connect()
        self._loop = loop
        self._handles.append(self._spawn(loop.read(), "reader", "agent"))
        self._handles.append(self._spawn(loop.watch_servers(), "servers", "agent"))
        self._handles.append(self._spawn(self._watch_end(loop), "watch", "agent"))
        self.state = SessionState.IDLE
        if not self._queue:
            self._idle.set()

    async def _open_connections(self) -> dict[str, dict[str, Any]]:
        names = list(self._parts.connectors)
        opened = await asyncio.gather(
            *(self._parts.connectors[name]() for name in names), return_exceptions=True
        )
        servers: dict[str, dict[str, Any]] = {}
        for name, result in zip(names, opened, strict=True):
            match result:
                case Connection():
                    servers.update(result.servers)
                    self.connection_url = result.url or self.connection_url
                    for secret in result.secrets:
                        self._parts.redactor.add(secret)
                    if result.note:
                        log.info("%s", result.note)
                case UniversalAgentError():
                    self._report(name, result)
                case Exception():
                    log.error("the connection %s failed", name, exc_info=result)
                    self._report(name, AgentError(f"the connection {name} failed: {result}"))
                case BaseException():
                    raise result
        return servers

    def _agent_home(self) -> Path:
        return self._parts.agent_home or self.settings.claude_config_dir or Path.home() / ".claude"

    async def _watch_end(self, loop: AgentLoop) -> None:
        await loop.ended.wait()
        if self._loop is loop and self.state is SessionState.IDLE and loop.failure is not None:
            self._fail("agent", loop.failure)

    async def _run_queries(self) -> None:
        while not self._finished:
            while self._queue and not self._finished:
                await self._run_query(self._queue.popleft())
            self._idle.set()
            self._wake.clear()
            await self._wake.wait()

    async def _run_query(self, text: str) -> None:
        self._queries += 1
        query_id = f"q{self._queries}"
        started = time.monotonic()
        self._interrupting = False
        self.bus.publish(QueryReceived(query_id=query_id, text=clean(text)))
        context = AgentContext(session_id=self.session_id, query_id=query_id)
        outcome = TurnOutcome("error")
        try:
            if self._loop is None or not self._loop.is_alive:
                self.state = SessionState.STARTING
                await self._connect()
            self.state = SessionState.RUNNING
            outcome = await self._execute(query_id, text, context)
        except asyncio.CancelledError:
            outcome = TurnOutcome("interrupted")
            raise
        except Exception as error:
            outcome = await self._recover(text, context, error)
        finally:
            self._settle()
            if outcome.cost_usd is not None:
                self._cost = (self._cost or 0.0) + outcome.cost_usd
            self.bus.publish(
                QueryFinished(
                    query_id=query_id,
                    status=outcome.status,
                    error=outcome.error,
                    duration_ms=(time.monotonic() - started) * 1000,
                    turns=outcome.turns,
                    cost_usd=outcome.cost_usd,
                    usage=outcome.usage,
                    text=outcome.text,
                )
            )

    async def _execute(self, query_id: str, text: str, context: AgentContext) -> TurnOutcome:
        before = await self._pipelines.run(
            "agent.before_execute", BeforeExecute(agent=AGENT_NAME, input=text, context=context)
        )
        if before.denied is not None:
            raise AgentError(before.denied)
        decided = await self._classify(query_id, before.input)
        loop = self._loop
        if self._interrupting or loop is None:
            return TurnOutcome("interrupted")
        simple = decided.decision == "SIMPLE"
        self._conversation_began = True
        outcome = await loop.run(
            query_id, before.input, simple=simple, model=self.settings.simple_model if simple else None
        )
        if outcome.status == "error":
            raise AgentError(outcome.error or "the agent failed without a word")
        if outcome.status == "interrupted":
            return outcome
        after = await self._pipelines.run(
            "agent.after_execute",
            AfterExecute(
                agent=AGENT_NAME,
                input=before.input,
                system_prompt=self._briefing.system_prompt if self._briefing else "",
                response=AgentResponse(
                    text=outcome.text,
                    tool_calls=outcome.tool_calls,
                    usage=outcome.usage,
                    cost_usd=outcome.cost_usd,
                    turns=outcome.turns,
                ),
                context=context,
            ),
        )
        return TurnOutcome(
            "success",
            text=after.response.text,
            turns=outcome.turns,
            cost_usd=outcome.cost_usd,
            usage=outcome.usage,
        )

    async def _classify(self, query_id: str, text: str) -> Classification:
        if self.settings.classifier == "off":
            decided = Classification("COMPLEX", "rule", "the classifier is off")
        else:
            decided = await self._classifier.classify(text)
        self.bus.publish(
            QueryClassified(
                query_id=query_id,
                decision=decided.decision,
                source=decided.source,
                raw_response=clean(decided.raw_response),
                duration_ms=decided.duration_ms,
            )
        )
        return decided

    async def _recover(self, text: str, context: AgentContext, error: Exception) -> TurnOutcome:
        if not isinstance(error, UniversalAgentError):
            log.error("a query failed", exc_info=error)
        payload = await self._pipelines.run(
            "agent.on_error",
            AgentErrored(
                agent=AGENT_NAME,
                input=text,
                context=context,
                system_prompt=self._briefing.system_prompt if self._briefing else None,
                exception=error,
            ),
        )
        if payload.recovery is not None:
            return TurnOutcome("success", text=payload.recovery)
        message = clean(str(error)) or type(error).__name__
        if isinstance(error, AgentUnavailable):
            self._fail("agent", error)
        else:
            self._report("agent", error)
        return TurnOutcome("error", error=message)

    def _settle(self) -> None:
        if self.state in {SessionState.CLOSED, SessionState.FAILED}:
            return
        alive = self._loop is not None and self._loop.is_alive
        self.state = SessionState.IDLE if alive else SessionState.FAILED

    def _fail(self, where: str, error: Exception) -> None:
        if self.state is not SessionState.CLOSED:
            self.state = SessionState.FAILED
            if not self._queue:
                self._idle.set()
        self._report(where, error)

    def _report(self, where: str, error: Exception) -> None:
        self.bus.publish(
            ErrorRaised(
                where=where,
                message=clean(str(error)) or type(error).__name__,
                causes=[clean(cause)[:500] for cause in causes_of(error)],
            )
        )

    def _count(self, event: Event) -> None:
        match event:
            case ToolCallStarted():
                self._tool_calls += 1
            case ArtifactSaved():
                self._artifacts += 1
            case AuthRequired():
                self._pending_auth = event
            case _:
                return
