"""The composition root: puts a session together from its parts, for the screen, plain mode and programs.

Start at `compose_session`, whose steps are the functions below it. The application's own pipeline handlers are listed
in `HANDLERS`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.agent.auth.login_request import LoginRequests
from ua_tui.core.agent.definitions.roster import Roster, RosterWatch, read_roster
from ua_tui.core.agent.definitions.rules import SubagentRule
from ua_tui.core.agent.environment import PrivateFolder, conversations_home, own_agent_home
from ua_tui.core.agent.hooks import SubagentCheck
from ua_tui.core.agent.ledger import ActionLedger
from ua_tui.core.agent.permissions.rule_set import RuleStore
from ua_tui.core.bus import Bus
from ua_tui.core.concurrency.spawn import Spawn, spawn_task
from ua_tui.core.concurrency.threads import in_context
from ua_tui.core.concurrency.worker import WorkerProcess
from ua_tui.core.connections.base import COMPOSIO, COMPOSIO_OFF, PROGRAM, Connection, Connector
from ua_tui.core.connections.oauth.headers import LoginHeaders
from ua_tui.core.connections.progress import ProgressReceiver
from ua_tui.core.connections.toolkit import (
    WEB_READER,
    ToolkitStart,
    toolkit_connection,
    web_reader_connection,
)
from ua_tui.core.connections.toolkit_tools import SERVER as TOOLKIT
from ua_tui.core.connections.trust import ServerTrust, UserConnections
from ua_tui.core.connections.user_servers import UserServer, find_user_servers
from ua_tui.core.errors import SettingsError, advice_catalogue
from ua_tui.core.events.types import Event, PipelineFailed, SessionStarted
from ua_tui.core.knowledge.place import Origin, place_of, written_place
from ua_tui.core.knowledge.search.embeddings import embedder_of
from ua_tui.core.pipelines import Handler, Pipelines
from ua_tui.core.plugins import PIPELINE_GROUP, PluginProblem, entry_points_of, register_plugins
from ua_tui.core.postgres.address import Address, connection_variables
from ua_tui.core.provider.request import AskModel, small_request
from ua_tui.core.records.log import install_root_handler
from ua_tui.core.records.recorder import SessionRecords
from ua_tui.core.redaction.masking import mask_event
from ua_tui.core.redaction.redactor import Redactor, error_raised
from ua_tui.core.redaction.sharing import SharedSecrets
from ua_tui.core.session.parts import SessionParts
from ua_tui.core.session.resume import (
    PreviousState,
    Resume,
    conversation_to_resume,
    new_state,
    read_previous_state,
)
from ua_tui.core.session.session import Session
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.settings.places import Places
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.web_reader import Blacklist, ReaderPolicy
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.catalogue import GROUP, default_observers, load_failure_events
from ua_tui.observers.execution.artifact_watch import ArtifactWatch
from ua_tui.observers.execution.offload import ResultOffload
from ua_tui.observers.execution.runner import ObserverRunner, Observers
from ua_tui.observers.knowledge.feed import KnowledgeFeed, Pace, VectorFeed

if TYPE_CHECKING:
    from ua_tui.core.agent.definitions.rules import UnmetRule
    from ua_tui.core.connections.composio.native import Modifier
    from ua_tui.core.demo.launch import DemoEndpoints
    from ua_tui.core.team.records import SessionId
    from ua_tui.core.team.replica import SessionReplica

_CHECKED_WITHIN = 10.0
"""Seconds that a sub-agent waits for the checks of its reports before it may stop."""
SERVER_NOTES = {
    TOOLKIT: "crawl web pages, save the corpus, write and read files of the workspace; with Composio also move files "
    "between its remote workbench and the workspace",
    WEB_READER: "read one web page, including pages that refuse a crawler",
    COMPOSIO: "search the web and the news, mail, calendars and hundreds of other services, a remote workbench",
    PROGRAM: "tools of the program that runs this session",
}
_SESSION_FILE = "composio.json"
_EMBEDDINGS_FILE = "embeddings.json"
_POSTGRES_FILE = "postgres.json"
DEMO_TOOLS = ("COMPOSIO_REMOTE_*", "trim_video", "TRIM_VIDEO")

HANDLERS: tuple[tuple[str, Handler, int], ...] = ()
"""(pipeline, handler, priority); the highest priority runs first."""


async def compose_session(  # noqa: PLR0913 -- each is optional, and given by name
    settings: Settings,
    *,
    interactive: bool,
    spawn: Spawn = spawn_task,
    on_line: Callable[[bytes], None] | None = None,
    subscribers: Sequence[Callable[[Event], None]] = (),
    resume: Resume | None = None,
    modifiers: Sequence[Modifier] = (),
    output_schema: Mapping[str, Any] | None = None,
    ledger: ActionLedger | None = None,
    team: SessionId | None = None,
    team_address: Address | None = None,
    files_elsewhere: tuple[str, ...] | None = None,
    system_prompt: str | None = None,
    connectors: Mapping[str, Connector] = MappingProxyType({}),
) -> Session:
    """Put a session together; it is not started yet, and closing it ends everything that was started here.

    `on_line` is called with every line of the journal. `subscribers` receive every event from the first one on. With
    `resume` a past session is resumed in its own folder. `modifiers` see what is sent to Composio and what it answers;
    they apply in the mode `native` only. `output_schema` is the JSON Schema of every answer.
    `ledger` records the calls that act outside, so that no later attempt at the session repeats them.
    `system_prompt` replaces the shipped one. `connectors` are further connections.
    Only the rules `files_elsewhere` allow files outside of the session's folder, if queries are of other people.
    With the setting `team` the session is copied to that database: as `team`, or as the session that its folder names.

    Raises:
        WorkspaceError: the session's folder cannot be made, or another program uses it.
        JournalError: the session to resume has no readable journal.
        ConversationGone: the agent no longer knows the conversation of the session to resume.
        SettingsError: the session to resume has reached its spending limit.
        DemoError: the demo's servers do not start.
        TeamError: the packages for a team are not installed.
    """
    stack = AsyncExitStack()
    try:
        # Before anything heavy is imported: libraries that find no handler write to the terminal.
        log_handler = install_root_handler(settings.log_level)
        stack.callback(log_handler.uninstall)
        settings, demo = await _start_demo(settings, interactive, stack, of_team=team is not None)
        redactor = Redactor(secrets(settings, os.environ))
        workspace = await _open_workspace(settings, redactor, resume, stack)
        start = await _read_start(settings, workspace, resume, interactive=interactive)
        settings = start.settings
        bus = Bus(start.previous.view.seq, mask=lambda event: mask_event(event, redactor))
        team_copy = await _copy_for_team(
            settings, workspace, bus, resume is not None, team, team_address, stack
        )
        recording = SessionRecords(
            settings,
            workspace,
            redactor,
            bus,
            log_handler,
            on_line=team_copy.line_handler(on_line) if team_copy is not None else on_line,
            view=start.previous.view,
        )
        stack.push_async_callback(recording.close)
        for subscriber in subscribers:
            bus.subscribe(subscriber)
        roster = await asyncio.to_thread(read_roster, settings, Places())

        def report(where: str, error: Exception) -> None:
            bus.publish(error_raised(where, error, redactor))

        bus.subscribe(RosterWatch(roster, settings, report))
        observers, pipelines = await _load_handlers(settings, workspace, roster, bus)
        # It starts when the first large result arrives.
        worker = WorkerProcess(workspace)
        stack.push_async_callback(asyncio.to_thread, worker.close)
        context = ObserverContext(
            workspace, knowledge=place_of(settings), public_searches=settings.public_searches
        )
        offload = ResultOffload(worker, roster.rules, context.knowledge, context.public_searches)
        runner = ObserverRunner(observers, context, bus.publish, offload=offload)
        stack.callback(runner.abandon)
        runner.start()
        bus.subscribe(runner.handle_event)
        artifacts = ArtifactWatch(workspace, bus.publish)
        bus.subscribe(artifacts.handle_event)
        artifacts.start(spawn)
        _feed_knowledge(settings, workspace, bus, team_copy, stack)
        private = PrivateFolder()
        stack.callback(private.remove)
        logins = LoginHeaders(private.path, redactor.add)
        stack.push_async_callback(logins.close)
        await logins.start()
        user_servers = await asyncio.to_thread(_user_servers, settings, redactor, logins)
        shared = SharedSecrets(private.path / "secrets.socket", redactor)
        stack.callback(shared.close)
        progress = ProgressReceiver(
            private.path / "progress.socket", bus.publish, recording.tracer.on_request
        )
        stack.callback(progress.close)
        sockets = (shared.path, progress.path)
        built_in = _connectors(settings, workspace.path, demo, recording, private, sockets, modifiers)

        async def drain() -> list[str]:
            lost = await runner.drain()
            await artifacts.finish()
            await recording.flush()
            if team_copy is not None:
                await team_copy.finish()
            return lost

        parts = SessionParts(
            workspace=workspace,
            redactor=redactor,
            connectors={**built_in, **connectors, **user_servers.connectors},
            server_notes=SERVER_NOTES,
            on_result=runner.submit,
            worker=worker,
            check_subagent=_subagent_check(roster.rules, workspace, runner),
            interactive=interactive,
            extra_allow=DEMO_TOOLS if settings.demo else (),
            # What is allowed in the demo must not count outside of it.
            rule_store=None if settings.demo else RuleStore(),
            conversation=start.conversation,
            tracer=recording.tracer,
            subagents=roster.subagents,
            skills=roster.chosen,
            custom_commands=roster.commands.definitions,
            taint=start.previous.taint,
            output_schema=output_schema,
            system_prompt=system_prompt,
            logins=logins,
            ledger=ledger,
            files_elsewhere=files_elsewhere,
            while_starting=_while_starting(settings, recording, stack),
            previous=start.previous,
            overruled=start.overruled,
            user_servers=user_servers,
            pipelines=pipelines,
            ask_model=_ask_model(settings, recording, private, stack),
            drain=drain,
            after_finish=stack.aclose,
        )
        session = Session(settings, parts, bus, spawn)
        # A job or a team knows the session by its folder.
        workspace.unused &= ledger is None and team_copy is None
        if team_copy is not None:
            team_copy.start(recording.view, session, interactive=interactive)
        return session
    except BaseException:
        await stack.aclose()
        raise


async def _copy_for_team(
    settings: Settings,
    workspace: Workspace,
    bus: Bus,
    resumed: bool,
    team: SessionId | None,
    address: Address | None,
    stack: AsyncExitStack,
) -> SessionReplica | None:
    """Have the session copied to the team's database, if there is one; the demo is nobody's work."""
    if team is None and (settings.team is None or settings.demo):
        return None
    from ua_tui.core.team.replica import open_replica

    copy = await open_replica(settings, workspace, bus, resumed=resumed, identity=team, address=address)
    # After the records are closed: the last line belongs to the copy.
    stack.push_async_callback(copy.close)
    return copy


def _ask_model(
    settings: Settings, recording: SessionRecords, private: PrivateFolder, stack: AsyncExitStack
) -> AskModel | None:
    """How the classifier asks the model: through the command line if only that can, by its login or in a cloud."""
    home = own_agent_home(settings)
    if not settings.cloud and (home is not None or not settings.has_login):
        return small_request(settings, recording.tracer.on_request)
    requests = LoginRequests(settings, private.path, os.environ, home=home)
    stack.push_async_callback(requests.close)
    return requests.ask


def default_pipelines(reader: ReaderPolicy | None = None) -> Pipelines:
    """Make the pipelines of a session with every handler registered; `reader` is the session's own."""
    pipelines = Pipelines()
    if reader is not None:
        reader.register(pipelines)
    for name, handler, priority in HANDLERS:
        pipelines.register(name, handler, priority)
    return pipelines


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    """What a session starts with: its settings, its previous state, and its conversation if it is resumed."""

    settings: Settings
    previous: PreviousState
    conversation: str | None = None
    overruled: Mapping[str, str | float | None] = msgspec.field(default_factory=dict)


async def _start_demo(
    settings: Settings, interactive: bool, stack: AsyncExitStack, *, of_team: bool
) -> tuple[Settings, DemoEndpoints | None]:
    """Start the demo's servers, in a session of the demo, and have the settings lead to them."""
    if not settings.demo:
        return settings, None
    from ua_tui.core.demo.launch import demo_servers, demo_settings

    pace = settings.demo_pace if settings.demo_pace is not None else float(interactive)
    endpoints = await stack.enter_async_context(demo_servers(pace))
    return demo_settings(settings, endpoints, of_team=of_team), endpoints


async def _open_workspace(
    settings: Settings, redactor: Redactor, resume: Resume | None, stack: AsyncExitStack
) -> Workspace:
    """Create the session's folder, or open that of the session to resume."""
    if resume is None:
        now = datetime.now().astimezone()
        workspace = await asyncio.to_thread(Workspace.create, settings.workspace_base, now, redactor)
    elif resume.workspace is not None and resume.workspace.locked:
        workspace = resume.workspace
        workspace.redactor = redactor
    else:
        base = settings.workspace_base
        workspace = await asyncio.to_thread(Workspace.resume, resume.folder, redactor, base)
    workspace.unused = resume is None
    stack.callback(workspace.close)
    return workspace


async def _read_start(
    settings: Settings, workspace: Workspace, resume: Resume | None, *, interactive: bool
) -> _Start:
    """Read the previous state of the session to resume, and check that it can be resumed."""
    if resume is None:
        return _Start(settings=settings, previous=new_state(workspace))
    from ua_tui.core.session.rewinding import settle

    previous = await asyncio.to_thread(read_previous_state, workspace)
    await asyncio.to_thread(settle, workspace, previous)
    resumed = previous.overrides.apply(settings, resume.named)
    # A limit that was set in the session need not prevent its resumption where a person is there to raise it.
    can_raise = interactive and "max_cost_usd" in resumed.applied
    limit, spent = resumed.settings.max_cost_usd, previous.view.costs.total or 0.0
    if not can_raise and limit is not None and spent >= limit:
        raise SettingsError(
            f"the session has already cost ${spent:.2f}, and its limit is ${limit:.2f}: set a higher --max-cost"
        )
    conversation = None
    if not resume.fresh:
        home = conversations_home(settings)
        conversation = await asyncio.to_thread(conversation_to_resume, previous, workspace, home)
    return _Start(
        settings=resumed.settings,
        previous=previous,
        conversation=conversation,
        overruled=resumed.overruled,
    )


async def _load_handlers(
    settings: Settings, workspace: Workspace, roster: Roster, bus: Bus
) -> tuple[Observers, Pipelines]:
    """Load the observers and the pipeline handlers, those of plug-ins included."""
    problems: list[PluginProblem] = []
    plugged = settings.plugins and bool(await asyncio.to_thread(entry_points_of, GROUP, problems.append))
    make = partial(default_observers, plugins=plugged, rules=roster.rules, report=problems.append)
    # The problems of plug-ins are reported at the start; the program's own observers are made when they are needed.
    observers = await asyncio.to_thread(make) if plugged else make
    pipelines = default_pipelines(ReaderPolicy(Blacklist.for_session(workspace)))
    if settings.plugins:
        pipelines = await asyncio.to_thread(register_plugins, pipelines, problems.append)
    _report_at_start(bus, problems)
    return observers, pipelines


def _subagent_check(
    rules: Sequence[SubagentRule], workspace: Workspace, runner: ObserverRunner
) -> SubagentCheck:
    """Make the function that finds the rules that a sub-agent has not met; it waits for the checks of its reports."""

    async def check(agent: str, request: str, since: datetime | None) -> Sequence[UnmetRule]:
        if any(rule.checked and rule.agent == agent for rule in rules):
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECKED_WITHIN):
                    await runner.finish_submitted()
        from ua_tui.observers.compliance import unmet_rules

        return await asyncio.to_thread(unmet_rules, agent, request, workspace, rules, since)

    return check


def _feed_knowledge(
    settings: Settings,
    workspace: Workspace,
    bus: Bus,
    team_copy: SessionReplica | None,
    stack: AsyncExitStack,
) -> None:
    """Have the knowledge base follow the session, unless the settings turn it off."""
    database = place_of(settings)
    if database is None:
        return

    def origin() -> Origin | None:
        if team_copy is None:
            return None
        identity = team_copy.identity
        return Origin(identity.id, attempt=identity.attempt, owner=identity.owner, shared=identity.shared)

    # The sessions of a worker share a connection: each takes more at once.
    pace = Pace(wake=0.5) if isinstance(database, Address) and database.connections else Pace()
    folders = (workspace.path, settings.workspace_base)
    feed = KnowledgeFeed(database, *folders, workspace.redactor, bus.publish, pace, origin)
    bus.subscribe(feed.handle_event)
    stack.push_async_callback(feed.close)
    if embedder := embedder_of(settings):
        vectors = VectorFeed(database, embedder, workspace.redactor, bus.publish)
        bus.subscribe(vectors.handle_event)
        stack.callback(vectors.stop)


def _report_at_start(bus: Bus, problems: Sequence[PluginProblem]) -> None:
    """Report the plug-ins that were skipped right after the session's first event."""

    def report(event: Event) -> None:
        if isinstance(event, SessionStarted):
            unsubscribe()
            for problem in problems:
                for failure in (
                    [PipelineFailed(pipeline=problem.group, handler=problem.plugin, error=problem.message)]
                    if problem.group == PIPELINE_GROUP
                    else load_failure_events(problem)
                ):
                    bus.publish(failure)

    unsubscribe = bus.subscribe(report)


def _while_starting(
    settings: Settings, recording: SessionRecords, stack: AsyncExitStack
) -> Callable[[], None]:
    """What is done while the agent's process starts: tracing, slow to import, and what killed programs left undone."""
    over = threading.Event()
    stack.callback(over.set)

    def clean_up() -> None:
        from ua_tui.core.history.rebuild import clean_up_after_kills

        # An error is to say what to do also when no file can be opened any more.
        advice_catalogue()
        # Other sessions have other links to mask than this one.
        redactor = Redactor(secrets(settings, os.environ))
        clean_up_after_kills(settings.workspace_base, redactor, stopped=over.is_set)

    thread = threading.Thread(target=in_context(clean_up), name="clean up", daemon=True)

    def start() -> None:
        recording.tracer.start()
        if thread.ident is None:
            thread.start()

    return start


def _connectors(
    settings: Settings,
    workspace: Path,
    endpoints: DemoEndpoints | None,
    recording: SessionRecords,
    private: PrivateFolder,
    sockets: tuple[Path, Path],
    modifiers: Sequence[Modifier] = (),
) -> dict[str, Connector]:
    routes = dict([endpoints.article_route.split("=", 1)]) if endpoints else {}

    async def toolkit() -> Connection:
        session_file = private.path / _SESSION_FILE if settings.composio_api_key else None
        embedder = embedder_of(settings)
        knowledge = place_of(settings)
        variables = connection_variables(os.environ) if isinstance(knowledge, Address) else {}
        if isinstance(knowledge, Path):
            knowledge = knowledge.absolute()
        return toolkit_connection(
            ToolkitStart(
                workspace=workspace,
                routes=routes,
                session_file=session_file,
                secrets_socket=sockets[0],
                progress_socket=sockets[1],
                knowledge=written_place(knowledge) if knowledge else "",
                demo=settings.demo,
                page_age=settings.page_age,
                embeddings_file=private.write(_EMBEDDINGS_FILE, asdict(embedder)) if embedder else None,
                postgres_file=private.write(_POSTGRES_FILE, variables) if variables else None,
            )
        )

    async def composio() -> Connection:
        if not settings.composio_api_key:
            return Connection(note=COMPOSIO_OFF.sentence)
        from ua_tui.core.connections.composio.session import open_composio

        connection = await open_composio(settings, modifiers, recording.tracer.on_request)
        recording.session_url = connection.url or ""
        if connection.remote is not None:
            private.write(_SESSION_FILE, msgspec.structs.asdict(connection.remote))
        return connection

    async def web_reader() -> Connection:
        return web_reader_connection(settings)

    more = {WEB_READER: web_reader} if settings.web_reader_key else {}
    return {TOOLKIT: toolkit, COMPOSIO: composio, **more}


def _user_servers(settings: Settings, redactor: Redactor, logins: LoginHeaders) -> UserConnections:
    """The user's own MCP servers; those of the settings have precedence over those of the folder's `.mcp.json`."""
    folder = Path.cwd()
    # The demo uses only its own servers.
    found = [] if settings.demo else find_user_servers(settings, folder)
    for server in found:
        # A folder that is not trusted cannot have words masked, such as those in a question.
        if isinstance(server, UserServer) and not server.in_folder:
            for secret in server.secrets:
                redactor.add(secret)
    return UserConnections(
        found,
        folder,
        ServerTrust(),
        environ=os.environ,
        logins=logins,
        all_trusted=settings.folder.once and settings.folder.state == "trusted",
    )
