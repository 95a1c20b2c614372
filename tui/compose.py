"""The composition root: puts a session together from its parts, for the screen and for the headless runner."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from core.agent.assembly import AgentParts, Connector
from core.agent.definitions.roster import RosterWatch, read_roster
from core.agent.environment import PrivateFolder
from core.bus import Bus
from core.concurrency.worker import Aside
from core.connections.base import Connection
from core.connections.composio.native import Modifier
from core.connections.toolkit import SERVER as TOOLKIT
from core.connections.toolkit import toolkit_connection
from core.connections.trust import ServerTrust, UserConnections
from core.connections.user_servers import find_user_servers
from core.connections.web_reader import SERVER as WEB_READER
from core.connections.web_reader import web_reader_connection
from core.errors import SettingsError
from core.events.types import Event, PipelineFailed, SessionStarted
from core.pipelines import Handler, Pipelines
from core.plugins import PIPELINE_GROUP, PluginProblem, register_plugins
from core.provider.request import small_request
from core.records.counters import Tally
from core.records.log import install_root_handler
from core.records.recorder import Recording
from core.redaction.redactor import Redactor, error_raised
from core.session.resume import Resume, conversation_to_resume, read_previous_state
from core.session.session import Session, SessionParts, Spawn, spawn_task
from core.settings.model import Places, Settings
from core.settings.secrets import secrets
from core.storage.workspace import Workspace
from core.web_reader.blacklist import Blacklist
from core.web_reader.retry_policy import ReaderPolicy
from observers.base import ObserverContext
from observers.catalogue import default_observers
from observers.compliance import check_subagent
from observers.execution.offload import ResultOffload
from observers.execution.runner import ObserverRunner
from observers.plugins import load_failure_events

if TYPE_CHECKING:
    from core.demo.launch import DemoEndpoints

__all__ = ["HANDLERS", "compose_session", "default_pipelines"]

COMPOSIO = "composio"
SERVER_NOTES = {
    TOOLKIT: "crawl web pages, save the corpus, write and read files of the workspace; with Composio also move files "
    "between its remote workbench and the workspace",
    WEB_READER: "read one web page, also such as refuse a crawler",
    COMPOSIO: "search the web and the news, mail, calendars and hundreds of other services, a remote workbench",
}
_SESSION_FILE = "composio.json"
DEMO_TOOLS = ("COMPOSIO_REMOTE_*", "trim_video", "TRIM_VIDEO")

HANDLERS: tuple[tuple[str, Handler, int], ...] = ()
"""(pipeline, handler, priority); the highest priority runs first."""


async def compose_session(
    settings: Settings,
    *,
    interactive: bool,
    spawn: Spawn = spawn_task,
    on_line: Callable[[bytes], None] | None = None,
    subscribers: Sequence[Callable[[Event], None]] = (),
    resume: Resume | None = None,
    modifiers: Sequence[Modifier] = (),
) -> Session:
    """Put a session together; it is not started yet, and closing it ends all that was started here.

    `on_line` is given every line the journal gets. `subscribers` see every event from the first one on. With
    `resume` a past session goes on, in its own folder. `modifiers` see what goes to Composio and comes back, in the
    mode `native` alone.

    Raises:
        WorkspaceError: the session's folder cannot be made, or another program works in it.
        JournalError: the session that is to go on has no journal that can be read.
        ConversationGone: the agent does not know its conversation any more.
        SettingsError: it has cost already what it may.
        DemoError: the demo's servers do not start.
    """
    stack = AsyncExitStack()
    try:
        # Before anything heavy is imported: libraries that find no handler write to the terminal.
        handler = install_root_handler(settings.log_level)
        stack.callback(handler.uninstall)
        endpoints = await _start_demo(settings, interactive, stack) if settings.demo else None
        if endpoints is not None:
            from core.demo.launch import demo_settings

            settings = demo_settings(settings, endpoints)
        redactor = Redactor(secrets(settings, os.environ))
        agent_home = _agent_home(settings)
        if resume is None:
            now = datetime.now().astimezone()
            workspace = await asyncio.to_thread(Workspace.create, settings.workspace_base, now, redactor)
        else:
            workspace = await asyncio.to_thread(Workspace.go_on, resume.folder, redactor)
        stack.callback(workspace.close)
        previous = conversation = None
        overruled: Mapping[str, str | float | None] = {}
        if resume is not None:
            previous = await asyncio.to_thread(read_previous_state, workspace)
            held = previous.kept.apply(settings, resume.named)
            settings, overruled = held.settings, held.overruled
            # Where somebody is there to raise it, a limit that was set in the session need not keep it from going on.
            if not (interactive and "max_cost_usd" in held.kept):
                _check_cost(settings, previous.tally)
            if not resume.fresh:
                home = agent_home or settings.claude_config_dir or Path.home() / ".claude"
                conversation = conversation_to_resume(previous, workspace.path, home)
            previous.recorder.go_on(time.monotonic, time.time())
        bus = Bus(previous.last_seq if previous is not None else 0)
        recorder = previous.recorder if previous is not None else None
        recording = Recording(settings, workspace, redactor, bus, handler, on_line, recorder)
        stack.push_async_callback(recording.close)
        for subscriber in subscribers:
            bus.subscribe(subscriber)
        roster = await asyncio.to_thread(read_roster, settings, Places.of())
        bus.subscribe(
            RosterWatch(
                roster, settings, lambda where, error: bus.publish(error_raised(where, error, redactor))
            )
        )
        left_out: list[PluginProblem] = []
        observers = await asyncio.to_thread(
            default_observers, plugins=settings.plugins, rules=roster.rules, report=left_out.append
        )
        pipelines = default_pipelines(ReaderPolicy(Blacklist.beside(workspace)))
        if settings.plugins:
            pipelines = await asyncio.to_thread(register_plugins, pipelines, left_out.append)
        _tell_at_start(bus, left_out)
        aside = Aside(workspace)
        stack.push_async_callback(asyncio.to_thread, aside.close)
        offload = ResultOffload(aside, [observer.name for observer in observers])
        runner = ObserverRunner(observers, ObserverContext(workspace), bus.publish, offload=offload)
        stack.callback(runner.abandon)
        runner.start(lambda work: spawn(work, "observer", "observers"))
        private = PrivateFolder()
        stack.callback(private.remove)
        own = await asyncio.to_thread(_own_servers, settings, bus, interactive)

        async def drain() -> list[str]:
            lost = await runner.drain()
            await recording.flush()
            return lost

        parts = SessionParts(
            agent=AgentParts(
                workspace=workspace,
                redactor=redactor,
                connectors=_connectors(settings, workspace.path, endpoints, recording, private, modifiers)
                | own.connectors,
                server_notes=SERVER_NOTES,
                on_result=runner.submit,
                aside=aside,
                check_subagent=lambda agent, request: check_subagent(agent, request, workspace, roster.rules),
                agent_home=agent_home,
                interactive=interactive,
                extra_allow=DEMO_TOOLS if settings.demo else (),
                conversation=conversation,
                tracer=recording.tracer,
                subagents=roster.subagents,
                skills=roster.chosen,
            ),
            previous=previous,
            overruled=overruled,
            own_servers=own,
            pipelines=pipelines,
            ask_model=small_request(settings, recording.tracer.on_request),
            drain=drain,
            after_finish=stack.aclose,
        )
        return Session(settings, parts, bus, spawn)
    except BaseException:
        await stack.aclose()
        raise


def _tell_at_start(bus: Bus, left_out: Sequence[PluginProblem]) -> None:
    """Have it told which plug-ins are left out, right after the session's first event."""

    def tell(event: Event) -> None:
        if isinstance(event, SessionStarted):
            unsubscribe()
            for problem in left_out:
                for told in _told_of(problem):
                    bus.publish(told)

    unsubscribe = bus.subscribe(tell)


def _told_of(problem: PluginProblem) -> Sequence[Event]:
    if problem.group == PIPELINE_GROUP:
        return [PipelineFailed(pipeline=problem.group, handler=problem.plugin, error=problem.message)]
    return load_failure_events(problem)


async def _start_demo(settings: Settings, interactive: bool, stack: AsyncExitStack) -> DemoEndpoints:
    from core.demo.launch import demo_servers

    pace = settings.demo_pace if settings.demo_pace is not None else float(interactive)
    return await stack.enter_async_context(demo_servers(pace))


def _connectors(
    settings: Settings,
    workspace: Path,
    endpoints: DemoEndpoints | None,
    recording: Recording,
    private: PrivateFolder,
    modifiers: Sequence[Modifier] = (),
) -> dict[str, Connector]:
    routes = dict([endpoints.article_route.split("=", 1)]) if endpoints else {}

    async def toolkit() -> Connection:
        telemetry = await recording.tracer.toolkit_environment(os.environ)
        session_file = private.path / _SESSION_FILE if settings.composio_api_key else None
        return toolkit_connection(workspace, routes=routes, telemetry=telemetry, session_file=session_file)

    async def composio() -> Connection:
        from core.connections.composio.session import open_composio

        connection = await open_composio(settings, modifiers, recording.tracer.on_request)
        recording.session_url = connection.url or ""
        if connection.remote is not None:
            private.write(_SESSION_FILE, asdict(connection.remote))
        return connection

    async def web_reader() -> Connection:
        return web_reader_connection(settings)

    more = {WEB_READER: web_reader} if settings.web_reader_key else {}
    return {TOOLKIT: toolkit, COMPOSIO: composio, **more}


def _own_servers(settings: Settings, bus: Bus, interactive: bool) -> UserConnections:
    """The user's own MCP servers; those of the settings count before those of the folder's `.mcp.json`."""
    folder = Path.cwd()
    # The demo talks to its own servers alone.
    found = [] if settings.demo else find_user_servers(settings, folder)
    return UserConnections(
        found,
        folder,
        ServerTrust(),
        environ=os.environ,
        publish=bus.publish,
        interactive=interactive,
    )


def _agent_home(settings: Settings) -> Path | None:
    """Where the agent keeps its state: apart from the user's own, unless a login must be found there.

    It has the transcripts of its conversations there, so that sessions can go on.
    """
    if not (settings.demo or settings.api_key or settings.auth_token or settings.base_url):
        return None
    from platformdirs import user_state_path

    return user_state_path("ua-tui") / ("agent-demo" if settings.demo else "agent")


def _check_cost(settings: Settings, tally: Tally) -> None:
    """Refuse to go on with a session that has cost what it may."""
    limit, spent = settings.max_cost_usd, tally.cost_usd or 0.0
    if limit is not None and spent >= limit:
        raise SettingsError(
            f"the session has cost ${spent:.2f} already, and may cost ${limit:.2f}: give a higher --max-cost"
        )


def default_pipelines(reader: ReaderPolicy | None = None) -> Pipelines:
    """Make the pipelines of a session with every handler registered; `reader` is the session's own."""
    pipelines = Pipelines()
    if reader is not None:
        reader.register(pipelines)
    for name, handler, priority in HANDLERS:
        pipelines.register(name, handler, priority)
    return pipelines
