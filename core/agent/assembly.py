"""Puts the agent together: opens the connections, writes the prompts, and connects a loop, a new one after a crash."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import uuid4

import msgspec

from ua_tui.core.agent.auth.wait import IsConnected
from ua_tui.core.agent.conversation import ConversationStore, spending_so_far, transcript_of
from ua_tui.core.agent.definitions.skills import Skill, install_skills
from ua_tui.core.agent.definitions.subagents import SubagentDefinition
from ua_tui.core.agent.environment import (
    CACHE,
    SKILLS,
    PrivateFolder,
    conversations_home,
    make_private,
    own_agent_home,
)
from ua_tui.core.agent.hooks import AgentHooks, SubagentCheck
from ua_tui.core.agent.ledger import ActionLedger, ActionRecorder
from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.agent.mcp.elicitation import ElicitationGate
from ua_tui.core.agent.mcp.error_messages import cause_of
from ua_tui.core.agent.mcp.servers import Servers
from ua_tui.core.agent.mcp.states import ServerStates
from ua_tui.core.agent.messages.result_files import ResultStore
from ua_tui.core.agent.messages.results import ResultAdapter
from ua_tui.core.agent.messages.translate import Translator
from ua_tui.core.agent.messages.usage import Prices, Spending
from ua_tui.core.agent.options import Briefing, McpConfig, build_options, write_briefing
from ua_tui.core.agent.permissions.actions import OwnServers, server_of
from ua_tui.core.agent.permissions.gate import PermissionGate
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.rule_set import RuleSet, RuleStore, rules_of
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.agent.permissions.taint import Taint
from ua_tui.core.bus import Publish
from ua_tui.core.concurrency.worker import WorkerProcess
from ua_tui.core.connections.base import Connection, Connector, ServerConfigs
from ua_tui.core.connections.toolkit_tools import SERVER as TOOLKIT
from ua_tui.core.errors import (
    AgentError,
    ConnectionFailed,
    SettingsError,
    UniversalAgentError,
    WorkspaceError,
)
from ua_tui.core.events.types import McpServer, UntrustedTextRead
from ua_tui.core.json_values import JsonMapping
from ua_tui.core.log import log
from ua_tui.core.observation import ToolResult
from ua_tui.core.pipelines import Pipelines
from ua_tui.core.provider.models import ModelChoice, Models
from ua_tui.core.provider.probe import model_server
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import PermissionMode, Settings
from ua_tui.core.settings.parsers import read_prices, unpriced_error
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.telemetry.tracer import Tracer

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

    from ua_tui.core.connections.oauth.headers import LoginHeaders
    from ua_tui.core.connections.trust import UserConnections


_RENEWED_EVERY = 30.0
"""Seconds between two attempts to open a new session with a server."""


class AgentParts(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is made of, provided by the composition root.

    `connectors` are opened once, at the first connection; one that fails is reported and skipped. `server_notes` has a
    line on the purpose of each server. `extra_allow` are patterns in addition to those of the settings, of tools that
    reach nothing outside. `conversation` is the id of
    the conversation to resume; None begins a new one. `tracer` has the trace of the session. `subagents` are those the
    agent may call; `skills` are those it may load. `taint` has what the agent read before, in a session that is
    resumed. `output_schema` is the JSON Schema of every answer; None for text. `system_prompt` replaces the shipped
    one; None for that. `rule_store` has the rules of the folder and of everywhere; None for none. `logins` are
    the user's logins to servers. `ledger` records the calls that act outside,
    where a session may be resumed elsewhere; None for no record. `files_elsewhere` are the rules that alone allow the
    built-in tools files outside of the session's folder, where the queries come from other people; None where they are
    the user's own. `user_servers` are the user's own MCP servers, and where their tools act. `while_starting` is called
    each time that the agent's process was started, which then needs a while.
    """

    workspace: Workspace
    redactor: Redactor
    connectors: Mapping[str, Connector]
    server_notes: Mapping[str, str]
    on_result: Callable[[ToolResult], None]
    check_subagent: SubagentCheck
    worker: WorkerProcess
    interactive: bool
    extra_allow: tuple[str, ...]
    conversation: str | None
    tracer: Tracer
    subagents: tuple[SubagentDefinition, ...]
    skills: tuple[Skill, ...]
    taint: Taint
    rule_store: RuleStore | None
    output_schema: JsonMapping | None
    system_prompt: str | None
    logins: LoginHeaders
    ledger: ActionLedger | None
    files_elsewhere: tuple[str, ...] | None
    user_servers: UserConnections
    while_starting: Callable[[], None]


class AgentAssembly:
    """Makes agent loops for one session, all with the same conversation, permissions and servers.

    `agent_keeps_limit` says whether the agent stops by itself at the spending limit.
    `left` returns what the session may still cost, in US dollars; None without a limit.
    """

    def __init__(
        self,
        settings: Settings,
        parts: AgentParts,
        pipelines: Pipelines,
        publish: Publish,
        report: Callable[[str, Exception], None],
        left: Callable[[], float | None],
    ) -> None:
        self._left = left
        self._settings = settings
        self._parts = parts
        self._pipelines = pipelines
        self._report = report
        self._private = PrivateFolder()
        self._skills_folder = self._private.path / SKILLS
        self.taint = parts.taint
        self.taint.own_folders = (self._skills_folder,)
        self.taint.own_tools = parts.extra_allow
        self.taint.on_start = lambda what: publish(UntrustedTextRead(what=what))
        self.rules = RuleSet(rules_of(settings, parts.extra_allow), parts.rule_store, Path.cwd())
        self._states = ServerStates(parts.redactor, partial(cause_of, self._private.path / CACHE), publish)
        self._own_servers = OwnServers(
            parts.user_servers,
            self._states.is_read_only,
            asks=parts.ledger is None,
        )
        self.servers = Servers(
            self._states,
            self.reopen,
            renew=self.renew,
            report=report,
            login_made_at=parts.logins.made_at,
            note_scope=parts.logins.note_scope,
        )
        self._recorder = ActionRecorder(
            parts.ledger, parts.redactor, parts.workspace.path, self._states.is_read_only
        )
        policy = PermissionPolicy(
            workspace=parts.workspace.path,
            rules=self.rules,
            mode=settings.effective_permission_mode,
            readable=(self._skills_folder,),
            taint=self.taint.reason_to_ask,
            describe=self._own_servers.describe,
            offers=self.servers.offers,
            repeats=self._recorder.reason_to_ask,
            elsewhere=None
            if parts.files_elsewhere is None
            else tuple(Rule("allow", text, "config.toml") for text in parts.files_elsewhere),
        )
        self.gate = PermissionGate(
            policy,
            publish,
            interactive=parts.interactive,
            redactor=parts.redactor,
            rules=self.rules,
            servers=self._own_servers,
        )
        self.elicitation = ElicitationGate(publish, interactive=parts.interactive, redactor=parts.redactor)
        self.prices = Prices(read_prices(settings.prices), settings.context_window)
        self._store = ConversationStore(
            parts.workspace, self.agent_home, lambda error: report("records", error)
        )
        self._briefing: Briefing | None = None
        self._servers: ServerConfigs | None = None
        self.opening: set[str] = set()
        """The connections that are being opened, before the command-line agent is started."""
        self._last: Translator | None = None
        self._begun = parts.conversation is not None
        self._opened: dict[str, Connection] = {}
        self._renewed_at: dict[str, float] = {}
        self.models = Models(settings, publish, self.refuse_unpriced)
        self.commands: frozenset[str] = frozenset()
        self.is_connected: IsConnected | None = None
        self.conversation_id = parts.conversation or str(uuid4())
        self.output_schema = parts.output_schema
        self.agent_keeps_limit = True

    @property
    def system_prompt(self) -> str | None:
        """The system prompt; None until it is written."""
        return self._briefing.system_prompt if self._briefing else None

    async def connect(self) -> AgentLoop:
        """Connect a new loop.

        Raises:
            AgentUnavailable: the command-line agent could not be started.
            SettingsError: there is a spending limit, and the price of a model is unknown.
        """
        parts = self._parts
        if self._last is not None and self._last.provider_session_id is not None:
            # Another one since the conversation was cleared.
            self._begun, self.conversation_id = True, self._last.provider_session_id
        if self._servers is None:
            self._servers = {}
            if self.taint.is_set:
                self.taint.on_start(self.taint.describe())
            await self._open_connections()
        if self._briefing is None:
            notes = {name: parts.server_notes.get(name, "tools of its own") for name in self._servers}
            if parts.skills:
                for problem in await asyncio.to_thread(install_skills, parts.skills, self._skills_folder):
                    self._report("skills", SettingsError(problem))
            self._briefing = write_briefing(
                parts.workspace.path,
                datetime.now().astimezone(),
                notes,
                parts.subagents,
                knowledge=TOOLKIT in notes and self._settings.knowledge != "off",
                system_prompt=parts.system_prompt,
            )
        translator = Translator(
            redactor=parts.redactor,
            servers=self._states,
            server=model_server(self._settings),
            prices=self.prices,
            structured=self.output_schema is not None,
        )
        hooks = AgentHooks(
            pipelines=self._pipelines,
            gate=self.gate,
            taint=self.taint,
            results=ResultStore(ResultAdapter(self.agent_home), parts.workspace, parts.worker),
            translator=translator,
            recorder=self._recorder,
            check_subagent=parts.check_subagent,
        )
        if own_home := own_agent_home(self._settings):
            await asyncio.to_thread(make_private, own_home)
        spent_before = None
        if self._begun:
            await self.keep_conversation()
            spent_before = await asyncio.to_thread(self._spent_before)
        options = await build_options(
            self._effective_settings(),
            self._briefing,
            output_schema=self.output_schema,
            parts=parts,
            servers=self._mcp_config(self._servers),
            hooks=hooks,
            session_id=self.conversation_id,
            resume=self._begun,
            telemetry=await parts.tracer.agent_environment(),
        )
        loop = AgentLoop(
            # Each entry is stored at once: what is still in memory is lost with the program.
            replace(
                options, session_store=cast("sdk.SessionStore", self._store), session_store_flush="eager"
            ),
            hooks=hooks,
            elicitation=self.elicitation,
            servers=self.servers,
            on_result=self._on_result,
            models=self.models,
            while_starting=parts.while_starting,
            spent_before=spent_before,
        )
        self._last = translator
        self._states.report_update([])
        await loop.connect()
        try:
            self.refuse_unpriced()
        except SettingsError:
            await loop.close()
            raise
        self.commands = loop.commands
        return loop

    def refuse_unpriced(self, choice: ModelChoice | None = None, *, limited: bool = False) -> None:
        """Check that a spending limit can be kept with a choice of models, by default the present one.

        Args:
            choice: the choice of models.
            limited: whether there is going to be a limit; otherwise the present one counts.

        Raises:
            SettingsError: there is a limit, and the price of a model is unknown.
        """
        # The agent lists its models when it is connected.
        if self._last is None or not (limited or self._left() is not None):
            return
        for model in self._models_of(choice or self.models.choice):
            if model is not None and not self.prices.is_known(model):
                raise unpriced_error(model)

    def _models_of(self, choice: ModelChoice) -> Iterator[str | None]:
        """The models of a session, with those of its sub-agents; None is the agent's default."""
        subagents = self._briefing.subagents if self._briefing is not None else ()
        yield from (
            choice.model,
            self._settings.simple_model or choice.model,
            choice.fallback or choice.model,
        )
        yield from (each.model or choice.model for each in subagents)

    async def keep_conversation(self) -> None:
        """Copy what the agent alone has of the conversation to the session's folder; never raises."""
        # Since `/clear` it may be another one.
        conversation = (self._last and self._last.provider_session_id) or self.conversation_id
        try:
            await asyncio.to_thread(self._store.catch_up, conversation)
        except WorkspaceError as error:
            self._report("records", error)

    async def continue_with(self, conversation: str, *, begun: bool) -> None:
        """Continue with another conversation from the next connection on; one that was not `begun` begins then.

        Raises:
            WorkspaceError: the agent cannot be given the conversation.
        """
        self._last, self._begun, self.conversation_id = None, begun, conversation
        self._recorder.read()
        if begun:
            await asyncio.to_thread(self._store.prepare, conversation)

    def close(self) -> None:
        """Remove the agent's private files, and close its servers and connections."""
        self.servers.close()
        self._private.remove()
        for connection in self._opened.values():
            if connection.close is not None:
                connection.close()

    def _spent_before(self) -> Spending | None:
        """What the agent has already counted for the resumed conversation."""
        found = transcript_of(
            self.conversation_id, worked_in=self._parts.workspace.path, agent_home=self.agent_home
        )
        return None if found is None else spending_so_far(found)

    def _effective_settings(self) -> Settings:
        """The settings with the chosen model, and with what a connection may cost.

        The agent does not count earlier spending against its limit. It invents the price of a model that it does not
        know, and does not know those of the settings: it has no limit then, and is stopped from here.
        """
        choice = self.models.choice
        self.agent_keeps_limit = all(map(self.prices.is_agents, self._models_of(choice)))
        left = self._left() if self.agent_keeps_limit else None
        return replace(
            self._settings,
            model=choice.model,
            fallback_model=choice.fallback,
            effort=choice.effort,
            max_cost_usd=None if left is None else max(left, 1e-6),
            permission_mode=cast("PermissionMode", self.gate.mode),
        )

    @property
    def agent_home(self) -> Path:
        """Where the command-line agent keeps its state."""
        return conversations_home(self._settings)

    async def reopen(self, name: str) -> ServerConfigs:
        """Open a connection that could not be opened before; returns its servers, also if it is already open.

        Raises:
            UniversalAgentError: it cannot be opened.
        """
        if name not in self._opened or not self._opened[name].servers:
            self._add_connection(name, await self._parts.connectors[name]())
        opened = self._opened[name]
        if opened.note and not opened.servers:
            raise ConnectionFailed(opened.note)
        return opened.servers

    async def renew(self, name: str) -> ServerConfigs | None:
        """Reopen a connection whose session is over; returns its servers, None if it is not over.

        Raises:
            UniversalAgentError: the service cannot be reached, or opens no session.
        """
        opened = self._opened.get(name)
        if opened is None or opened.expiry is None or not await opened.expiry.is_over():
            return None
        self._add_connection(name, await self._parts.connectors[name]())
        if opened.close is not None:
            opened.close()
        return self._opened[name].servers

    def _mcp_config(self, servers: ServerConfigs) -> McpConfig:
        here = {name: config for name, config in servers.items() if config.get("type") == "sdk"}
        # The tools of our own servers are always offered; the model may have to search for those of others.
        own = {"alwaysLoad": True}
        others = {
            name: {**config, **own} if name in self._parts.server_notes else config
            for name, config in servers.items()
            if name not in here
        }
        return McpConfig(self._private.write("mcp.json", {"mcpServers": others}), here)

    def _on_result(self, result: ToolResult) -> None:
        """Pass a result on, and open a new session if it says that the one of its server is over."""
        self._parts.on_result(result)
        server, error = server_of(result.call.name), result.observation.error
        connection = self._opened.get(server)
        if not error or connection is None or connection.expiry is None:
            return
        since = time.monotonic() - self._renewed_at.get(server, float("-inf"))
        if since < _RENEWED_EVERY or not connection.expiry.matches(error):
            return
        if refusal := self.servers.reconnect(server):
            log.info("the session of %s seems to be over: %s", server, refusal)
            return
        self._renewed_at[server] = time.monotonic()
        message = "its session has ended, and a new one is being opened: try again in a moment"
        self._report(server, ConnectionFailed(message, code="http_404"))

    async def _open_connections(self) -> None:
        async def open_one(name: str) -> Connection:
            self.opening.add(name)
            try:
                return await connectors[name]()
            finally:
                self.opening.discard(name)

        connectors = self._parts.connectors
        opened = await asyncio.gather(*map(open_one, connectors), return_exceptions=True)
        for name, result in zip(connectors, opened, strict=True):
            match result:
                case Connection():
                    self._add_connection(name, result)
                case UniversalAgentError():
                    self._leave_out(name, result)
                case Exception():
                    log.error("the connection %s failed", name, exc_info=result)
                    self._leave_out(name, AgentError(f"the connection {name} failed: {result}"))
                case BaseException():
                    raise result

    def _add_connection(self, name: str, connection: Connection) -> None:
        self._opened[name] = connection
        for server in connection.servers:
            # The descriptions of a program that acts here are part of what the user starts.
            if self._own_servers.acts(server) != "here":
                self.taint.note_server(server)
            self.servers.offered[server] = connection.tools
        self._servers = {**(self._servers or {}), **connection.servers}
        self.is_connected = connection.is_connected or self.is_connected
        for secret in connection.secrets:
            self._parts.redactor.add(secret)
        if connection.note:
            log.info("%s", connection.note)
            self._states.exclude(McpServer(name=name, status=connection.status, error=connection.note))

    def _leave_out(self, name: str, error: UniversalAgentError) -> None:
        self._states.exclude(McpServer(name=name, status="failed", error=str(error)))
        self._report(name, error)
