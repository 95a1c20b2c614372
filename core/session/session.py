"""A session: the object that a front end holds. It accepts queries, runs them one at a time, and ends cleanly."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from msgspec.structs import replace

from ua_tui.core.agent.assembly import AgentAssembly
from ua_tui.core.agent.attachments.blocks import Attachment, Attachments
from ua_tui.core.agent.auth.wait import AuthOutcome, AuthWait
from ua_tui.core.agent.definitions.commands import expand
from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.agent.mcp.elicitation import ElicitationAction
from ua_tui.core.agent.mcp.references import Expanded, ServerReferences
from ua_tui.core.agent.messages.translate import TurnOutcome
from ua_tui.core.agent.messages.usage import ContextUsage
from ua_tui.core.agent.permissions.gate import PermissionReply
from ua_tui.core.agent.query import Classifier, QueryPath
from ua_tui.core.bus import Bus
from ua_tui.core.concurrency.spawn import Spawn, spawn_task
from ua_tui.core.connections.base import BUILT_IN_SERVERS
from ua_tui.core.errors import (
    AgentError,
    AgentUnavailable,
    SettingsError,
    UniversalAgentError,
    WorkspaceError,
)
from ua_tui.core.events.continuation import AUTH_COMPLETE
from ua_tui.core.events.types import (
    BudgetReached,
    ErrorRaised,
    Event,
    FilesAttached,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
)
from ua_tui.core.history.kept_versions import Change, KeptVersions, When
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.log import log
from ua_tui.core.pipelines import AgentContext
from ua_tui.core.provider.error_messages import AT_LIMIT
from ua_tui.core.redaction.masking import mask_event
from ua_tui.core.redaction.redactor import error_raised
from ua_tui.core.session.budget import Budget
from ua_tui.core.session.parts import SessionParts, SessionState
from ua_tui.core.session.runner import AgentConnection, QueryRunner
from ua_tui.core.settings.model import PermissionMode, Settings, refuse_skip_as_root
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.queue_file import QueryQueue
from ua_tui.core.telemetry.tracer import Trace
from ua_tui.core.text import clean
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    from ua_tui.core.session.opinion import OpinionTerms
    from ua_tui.core.session.rewinding import Prepared, Prospect, Rewinding


_CLOSE_TIMEOUT = 7.0


class Session:
    """Runs queries for a person or a program.

    Everything that happens is published on `bus`; the methods are the commands of a front end. `last_error` is why
    the session could not be started, or the last query failed; the original error is its `__cause__`.

    Attributes:
        inbox: the session itself, which accepts queries and answers.
        controls: the session itself, which can be controlled.
        queue: the queries that wait behind the running one.
        auth: the wait for an account, with the link that a person has yet to open.
        models: the current model, and the choice of another.
        servers: the MCP servers: their states and the operations on them.
        rules: the permission rules that hold now.
        places: where the names of files in a query lead.
        custom_commands: those of the user, and of a trusted folder: a query may begin with the name of one.
    """

    def __init__(self, settings: Settings, parts: SessionParts, bus: Bus, spawn: Spawn = spawn_task) -> None:
        self.settings = settings
        self.bus = bus
        self.inbox = self.controls = self
        self.workspace = parts.workspace
        self.state = SessionState.STARTING
        self._parts = parts
        self._previous = parts.previous
        self._spawn = spawn
        pipelines = parts.pipelines.copy(bus.publish)
        self._budget = Budget(
            settings.max_cost_usd,
            lambda: self._view.costs,
            bus.publish,
            self._stop_at_limit,
            agent_stops=lambda: self._assembly.agent_keeps_limit,
        )
        self._assembly = AgentAssembly(
            settings, parts, pipelines, bus.publish, self._report, lambda: self._budget.left_usd
        )
        self.models, self.servers = self._assembly.models, self._assembly.servers
        self.rules, self.custom_commands = self._assembly.rules, parts.custom_commands
        ask_model = parts.ask_model if settings.classifier == "rules+model" else None
        self._path = QueryPath(
            pipelines=pipelines,
            classifier=None if settings.classifier == "off" else Classifier(ask_model, self._assembly.prices),
            publish=bus.publish,
            simple_model=settings.simple_model,
            schema=parts.output_schema,
        )
        self._agent = AgentConnection(
            self._assembly.connect,
            spawn,
            # They are fixed for a connection; for other terms the conversation continues over a new one.
            terms=lambda: (self._budget.limit_usd, self.models.choice, self._assembly.output_schema),
            over=lambda: self._finished,
            died=self._died,
        )
        # Names in the queries of other people lead to none of the files here.
        start = Path.cwd() if parts.files_elsewhere is None else None
        self._attachments = Attachments(self.workspace, self._assembly.gate.may_read, start)
        self.places = self._attachments.places
        own = {name: each for name, each in parts.connectors.items() if name not in BUILT_IN_SERVERS}
        self.references = ServerReferences(own, lambda: self.servers.known, self.workspace)
        self.queue = QueryQueue(self.workspace, self._previous.queue)
        self._runner = QueryRunner(self.queue, self._budget, self._run_query)
        self._versions = KeptVersions(self.workspace.root)
        self._at_work = asyncio.Lock()
        self._going_back: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._keeps = True
        self._interrupting = False
        self._finished = False
        self.last_error: Exception | None = None
        self._view, self._began = parts.previous.view, time.monotonic()
        self._last_query = self._previous.last_query
        self.auth = AuthWait(
            spawn,
            lambda: self._assembly.is_connected,
            publish=bus.publish,
            runs=lambda: self.state is SessionState.RUNNING,
            continue_query=self._continue,
            polls=parts.interactive,
        )
        bus.subscribe(self._assembly.taint.handle_event)
        bus.subscribe(self._budget.handle_event)
        bus.subscribe(self.auth.handle_event)
        bus.subscribe(self.servers.handle_event)
        bus.subscribe(self.references.handle_event)

    @property
    def queued(self) -> tuple[str, ...]:
        """The queries that wait behind the running one, oldest first."""
        return tuple(self.queue)

    @property
    def queue_paused(self) -> bool:
        """Whether the waiting queries stay until `resume_queue`, the next `submit` or a higher spending limit."""
        return self._runner.is_paused

    @property
    def trace(self) -> Trace:
        """The trace that the session's spans belong to."""
        return self._parts.tracer.trace

    @property
    def starts_with(self) -> str:
        """What the session waits for while it is starting."""
        opening = ", ".join(sorted(self._assembly.opening))
        return f"connecting {opening}" if opening else "starting the Claude Code CLI"

    @property
    def commands(self) -> frozenset[str]:
        """The names of the agent's own slash commands; none before it is connected."""
        return self._assembly.commands

    async def start(self) -> None:
        """Begin the session and connect the agent; a failure becomes an event and the state `failed`."""
        settings, previous, servers = self.settings, self._previous, self._parts.user_servers
        is_new = not previous.session_id
        if is_new:
            await self._seal(synced=False)
        for end in previous.closing_events():
            self.bus.publish(end)
        self.bus.publish(
            SessionStarted(
                session_id=self.workspace.session_id,
                workspace=str(self.workspace.path),
                cwd=str(Path.cwd()),
                version=VERSION,
                model=settings.model,
                fallback_model=settings.fallback_model,
                effort=settings.effort,
                max_cost_usd=settings.max_cost_usd,
                permission_mode=settings.effective_permission_mode,
                demo=settings.demo,
                provider_session_id=self._assembly.conversation_id,
                resumed_from=previous.session_id or None,
                queries_before=previous.view.query_count,
                overruled=dict(self._parts.overruled),
                folder_trust=settings.folder.state,
                folder_trusted_once=settings.folder.once,
                folder_files=[clean(each) for each in islice(settings.folder.fingerprints, 100)],
                held_back=list(settings.folder.held_back),
                folder_servers=servers.in_folder,
            )
        )
        if previous.settled:
            self._report("records", AgentError(previous.settled))
        self._budget.check()
        # What is written to the disk meanwhile delays nothing.
        await asyncio.gather(self._connect_or_fail(), *([self._seal()] if is_new else []))
        self._runner.begin(self._spawn)

    async def attach(self, file: Path) -> str:
        """Copy a file into the session's folder, and return what names it in the text of a query: `@attachments/...`.

        A folder is not copied, only named.

        Raises:
            AgentError: the permission rules do not allow it.
            WorkspaceError: it cannot be copied.
        """
        return await self._attachments.add(file)

    async def prepare(self, text: str) -> None:
        """Read the resources and the prompt of MCP servers that a query names, before it is submitted.

        Without it they are read when the query runs, which fails if they cannot be.

        Raises:
            UniversalAgentError: one cannot be read or sent; the message says what to do.
        """
        await self.references.prepare(self._with_command(text.strip()))

    def submit(self, text: str) -> None:
        """Submit a query: it runs now, or waits behind the queries before it."""
        if text.strip() and not self._finished:
            self.workspace.unused = False
            self.queue.add(text.strip())
            self._runner.wake()

    async def ask(self, text: str) -> AsyncIterator[Event]:
        """Run a query: `async for event in session.ask(...)` gives its events, the last one a `QueryFinished`.

        The query continues when the loop is left early; `interrupt` stops it.

        Raises:
            AgentError: on iteration: the text is empty, the session is closed, or its spending limit is reached.
        """
        # The text that the event of the query has: clean and without secrets.
        asked = QueryReceived(query_id="", text=clean(text.strip()))
        wanted = cast("QueryReceived", mask_event(asked, self._parts.redactor))
        if not wanted.text:
            raise AgentError("the query is empty")
        events: asyncio.Queue[Event] = asyncio.Queue()
        unsubscribe = self.bus.subscribe(events.put_nowait)
        try:
            if self.state == "closed":
                raise AgentError("this session is closed; open a new one")
            self.submit(text)
            query_id = ""
            while True:
                event = await events.get()
                match event:
                    case QueryReceived(text=received) if not query_id and received == wanted.text:
                        query_id = event.query_id
                    case BudgetReached(refused=True) if not query_id:
                        raise AgentError(
                            f"the session has reached its spending limit (${event.spent_usd:.2f} spent): "
                            "raise it with raise_budget"
                        )
                    case SessionFinished():
                        raise AgentError("the session was closed before the query finished")
                if query_id:
                    yield event
                if isinstance(event, QueryFinished) and event.query_id == query_id:
                    return
        finally:
            unsubscribe()

    async def steer(self, text: str) -> bool:
        """Send a message to the running query; returns False if it waits as the next query instead."""
        text = text.strip()
        if not text or self._finished:
            return False
        if self.state is not SessionState.RUNNING:
            self.submit(text)
            return False
        loop = self._agent.loop
        expanded, prompt = Expanded(text), text
        files: Sequence[Attachment] = ()
        try:
            expanded = await self._expand(text)
            prompt, files = await self._read_files(text, expanded.prompt)
        except UniversalAgentError:
            # As a query of its own, it says what is wrong.
            loop = None
        if loop is not None:
            # Before the model gets them: what it does then is judged by what it has read.
            self._report_files(f"q{self._last_query}", files, expanded)
            if await loop.steer(prompt, files):
                return True
        self.queue.add_first(text)
        self._runner.wake()
        return False

    def resume_queue(self) -> None:
        """Resume the queue, which is paused since a query did not succeed."""
        if self.queue_paused:
            self.queue.resume()
            self._runner.wake()

    def raise_budget(self, limit_usd: float) -> None:
        """Raise the spending limit; queries that wait for that run. A running query keeps its limit.

        Raises:
            SettingsError: the session has already cost that much, or the price of its model is unknown.
        """
        if self._agent.loop is not None:
            self._assembly.refuse_unpriced(limited=True)
        self._budget.raise_to(limit_usd)
        if self.queue.ready:
            self._runner.wake()

    @property
    def opinion_terms(self) -> OpinionTerms:
        """Who answers and who pays for a second opinion on a report of this session."""
        from ua_tui.core.session.opinion import OpinionTerms

        return OpinionTerms(
            settings=dataclasses.replace(self.settings, model=self.models.choice.model),
            redactor=self._parts.redactor,
            left_usd=self._budget.left_usd,
            workspace=self.workspace,
            publish=self.bus.publish,
        )

    async def context_usage(self) -> ContextUsage | None:
        """What fills the context of the conversation; None before the agent is connected.

        Raises:
            ConnectionFailed: the agent did not answer.
        """
        loop = self._agent.loop
        return await loop.client.context_usage() if loop is not None and loop.is_alive else None

    async def wait_idle(self) -> None:
        """Wait until no query runs, and none waits except in a paused queue."""
        await self._runner.wait_idle()

    async def interrupt(self) -> None:
        """Stop the running query; its output until then is kept."""
        if self.state is not SessionState.RUNNING:
            return
        self.state = SessionState.STOPPING
        self._interrupting = True
        if self._agent.loop is not None:
            await self._agent.loop.interrupt()

    async def stop_subagent(self, tool_use_id: str) -> bool:
        """Stop the sub-agent that a call started, and nothing else: the query continues, and its model is informed.

        Returns False if it does not run.

        Raises:
            ConnectionFailed: the agent did not stop it.
        """
        loop = self._agent.loop
        return loop is not None and await loop.stop_subagent(tool_use_id)

    def answer_permission(
        self,
        request_id: str,
        *,
        allow: bool,
        scope: str = "once",
        reason: str = "",
        patterns: Sequence[str] = (),
        input: JsonObject | None = None,
    ) -> bool:
        """Answer a tool call that waits for permission; returns False if it no longer waits.

        With `input` the call runs with these arguments. A question of the agent (`PermissionAsked.is_question`) is
        answered with its own arguments and `answers`, a mapping from each question to the chosen label or a text.
        """
        reply = PermissionReply(allow, scope, reason, tuple(patterns), input)
        return self._assembly.gate.answer(request_id, reply)

    def answer_elicitation(
        self,
        request_id: str,
        action: ElicitationAction,
        values: Mapping[str, object] | None = None,
        *,
        unattended: bool = False,
    ) -> bool:
        """Answer what an MCP server asks for (`ElicitationAsked`); returns False if it no longer waits.

        `accept` fills in the form with `values`, by the names of its fields, or agrees to open the page. `unattended`
        records that no person was asked.

        Raises:
            FormError: a value does not fit its field; the request still waits.
        """
        return self._assembly.elicitation.answer(request_id, action, values, unattended=unattended)

    @property
    def permission_mode(self) -> str:
        """What happens to calls that no rule decides: `default`, `acceptEdits`, `plan` or `bypassPermissions`."""
        return self._assembly.gate.mode

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Change the permission mode, from the next call on; calls that wait for permission are judged again.

        A plan that waits is approved by any other mode than `plan`. The choice is valid until the session ends.

        Raises:
            SettingsError: there is no such mode, or it skips every check and the program runs as root.
        """
        if mode not in get_args(PermissionMode):
            raise SettingsError(
                f"{clean(mode)} is not a permission mode: use {', '.join(get_args(PermissionMode))}."
            )
        if mode == "bypassPermissions":
            refuse_skip_as_root("The mode that skips every permission check")
        before = self.permission_mode
        if self._finished or not self._assembly.gate.change_mode(mode):
            return
        loop = self._agent.loop
        if loop is not None and loop.is_alive and "plan" in (before, mode):
            await loop.client.set_plan_mode(on=mode == "plan")

    def finish_auth(self, outcome: AuthOutcome) -> None:
        """Report how the pending authentication ended; when it is complete the agent continues."""
        self.auth.finish(outcome)

    async def restart(self) -> None:
        """Restart the agent after it died; the conversation continues, and no query is sent again."""
        if self.state is SessionState.FAILED:
            self.state = SessionState.STARTING
            await self._connect_or_fail()

    @cached_property
    def _rewinding(self) -> Rewinding:
        from ua_tui.core.session.rewinding import Rewinding

        base, agent_home = self.settings.workspace_base, self._assembly.agent_home
        return Rewinding(self.workspace, self._versions, base, agent_home)

    async def look_back(self, query_id: str) -> Prospect:
        """Find out what `rewind` to before a query would change; nothing is changed.

        Raises:
            JournalError, WorkspaceError: it cannot be found out.
        """
        return await asyncio.to_thread(self._rewinding.look, query_id, self._view.then(()))

    async def rewind(self, query_id: str, changes: Sequence[Change] = ()) -> None:
        """Go back to before a query: the agent starts again, and knows only what came before it.

        The way forward is kept as a fork. Of the files only those change that `changes` has, from `look_back`. Waiting
        queries stay, paused.

        Raises:
            UniversalAgentError: it is not possible, as when a query runs; nothing has changed.
        """
        is_going = self._going_back is not None and not self._going_back.done()
        if self._finished or is_going or self._at_work.locked():
            raise AgentError("a query is running: stop it with Esc, then rewind")
        # Whoever waits for it may be cancelled; the change of the files may not.
        self._going_back = asyncio.create_task(self._go_back(query_id, changes))
        await asyncio.shield(self._going_back)

    async def _go_back(self, query_id: str, changes: Sequence[Change]) -> None:
        async with self._at_work:
            await self._agent.disconnect()
            await self._assembly.keep_conversation()
            try:
                prepared = await asyncio.to_thread(self._rewinding.prepare, query_id, changes)
            except UniversalAgentError:
                await self._reconnect()
                raise
            await self._complete(prepared)

    async def _complete(self, prepared: Prepared) -> None:
        self.bus.publish(prepared.event)
        self.queue.pause()
        try:
            for reason in (await asyncio.to_thread(self._rewinding.change_files, prepared)).values():
                self._report("records", AgentError(f"a file could not be restored: {reason}"))
        except WorkspaceError as error:
            self._report("records", error)
        try:
            await self._assembly.continue_with(prepared.event.provider_session_id, begun=prepared.begun)
        except WorkspaceError as error:
            self._report("agent", error)
        await self._reconnect()

    async def _reconnect(self) -> None:
        self.state = SessionState.STARTING
        await self._connect_or_fail()

    async def close(self, reason: str) -> None:
        """End the session: stop the work, let the observers finish, publish the end, close the records."""
        if self._finished:
            return
        self._finished = True
        if reason == "quit" and self.state in (SessionState.RUNNING, SessionState.STOPPING):
            # Who leaves while a query runs stops it.
            reason = "interrupted"
        await self._runner.stop()
        if self._going_back is not None:
            await asyncio.wait({self._going_back}, timeout=_CLOSE_TIMEOUT)
        await self.interrupt()
        if self.state is SessionState.STOPPING:
            try:
                await asyncio.wait_for(self._runner.wait_idle(), _CLOSE_TIMEOUT)
            except TimeoutError:
                log.warning("the running query was cut off")
        self.state = SessionState.CLOSED
        try:
            await self._agent.close()
            await self._assembly.keep_conversation()
            # Its configuration has keys: it must not remain on the disk, whatever happens next.
            self._assembly.close()
            self.auth.stop_polling()
            self._attachments.close()
            await self.references.close()
            await self._runner.end(_CLOSE_TIMEOUT)
        finally:
            await self._finish(reason)

    async def _finish(self, reason: str) -> None:
        """Let the observers finish, publish the end and close the records."""
        try:
            self._assembly.close()
            for lost in await self._parts.drain():
                message = f"there was no time left to observe {lost}"
                self.bus.publish(ErrorRaised(where="observers", message=message))
            if self._keeping is not None:
                # Observers may have saved files since the last query ended.
                await self._keeping
                await self._keep_files(f"q{self._last_query}", "end")
        finally:
            self.bus.publish(self._end(reason))
            try:
                await self._parts.after_finish()
            finally:
                self.workspace.close()

    def _end(self, reason: str) -> SessionFinished:
        view = self._view
        unpriced = view.costs.unpriced
        if self._budget.stopped_query:
            reason = "limit"
        return SessionFinished(
            reason=reason,
            queries=view.query_count,
            tool_calls=view.call_count,
            artifacts=view.artifact_count,
            cost_usd=None if unpriced else view.costs.spent,
            unpriced=list(unpriced),
            duration_ms=self._previous.earlier_ms + (time.monotonic() - self._began) * 1000,
        )

    def _continue(self) -> None:
        if not self._finished:
            self.queue.add_first(AUTH_COMPLETE)
            self._runner.wake()

    async def _seal(self, *, synced: bool = True) -> None:
        try:
            await asyncio.to_thread(seal_session, self.workspace.root, synced=synced)
        except WorkspaceError as error:
            log.warning("the session cannot be recognised later as this user's: %s", error)

    async def _connect_or_fail(self) -> None:
        try:
            await self._connect()
        except Exception as error:
            if not isinstance(error, UniversalAgentError):
                log.error("connecting failed", exc_info=error)
            if not self._finished:
                self._fail(error)

    async def _connect(self) -> None:
        if await self._agent.connect():
            self.state = SessionState.IDLE

    def _died(self, error: Exception) -> None:
        # A running query reports it itself.
        if self.state is SessionState.IDLE:
            self._fail(error)

    async def _run_query(self, text: str) -> str:
        async with self._at_work:
            self._last_query += 1
            context = AgentContext(session_id=self.workspace.session_id, query_id=f"q{self._last_query}")
            started = time.monotonic()
            self._interrupting = False
            expanded, failed = Expanded(self._with_command(text)), None
            try:
                expanded = await self._expand(text)
            except UniversalAgentError as error:
                failed = error
            prompt = clean(expanded.prompt) if expanded.prompt != text else ""
            self.bus.publish(QueryReceived(query_id=context.query_id, text=clean(text), prompt=prompt))
            outcome = TurnOutcome("interrupted")
            try:
                await self._keep_files(context.query_id, "begin")
                if failed is not None:
                    raise failed
                outcome = await self._attempt(text, expanded, context)
            except Exception as error:
                outcome = await self._path.recover(text, context, self._assembly.system_prompt, error)
                if isinstance(error, AgentUnavailable):
                    self._fail(error)
            finally:
                loop = self._agent.loop
                if self.state in {SessionState.RUNNING, SessionState.STOPPING, SessionState.STARTING}:
                    # One that was stopped is started again by the next query.
                    usable = loop is not None and (loop.is_alive or loop.was_stopped)
                    self.state = SessionState.IDLE if usable else SessionState.FAILED
                for message in reversed(loop.undelivered if loop is not None else ()):
                    self.queue.add_first(message)
                self.last_error = outcome.exception
                self._budget.ends_at_limit |= outcome.error == AT_LIMIT
                self.bus.publish(
                    QueryFinished(
                        query_id=context.query_id,
                        status=outcome.status,
                        error=self._parts.redactor.redact(outcome.error) if outcome.error else None,
                        duration_ms=(time.monotonic() - started) * 1000,
                        turns=outcome.turns,
                        cost_usd=outcome.cost_usd,
                        unpriced=list(outcome.unpriced),
                        usage=outcome.usage,
                        context_window=outcome.context_window,
                        output=outcome.output,
                        text=outcome.text,
                    )
                )
                self._keeping = asyncio.create_task(self._keep_files(context.query_id, "end"))
            return outcome.status

    async def _keep_files(self, query_id: str, when: When) -> None:
        """Keep what the files are now; if that fails, report it, once, and continue."""
        try:
            await asyncio.to_thread(self._versions.keep, query_id, when)
            self._keeps = True
        except (WorkspaceError, OSError) as error:
            if self._keeps and not self._finished:
                problem = f"the current content of the files could not be kept, so a rewind cannot restore it: {error}"
                self._report("records", AgentError(problem))
            self._keeps = False

    def _with_command(self, text: str) -> str:
        """The prompt of a custom command, or the text itself."""
        return expand(text, self.custom_commands)

    async def _expand(self, text: str) -> Expanded:
        return await self.references.expand(self._with_command(text))

    async def _read_files(self, text: str, prompt: str) -> tuple[str, Sequence[Attachment]]:
        """The text that is sent for a prompt, which names copies of files elsewhere, and the files that go with it."""
        prompt = await self._attachments.copy_outside(prompt, text)
        return prompt, await self._attachments.of(prompt)

    async def _attempt(self, text: str, expanded: Expanded, context: AgentContext) -> TurnOutcome:
        if not self._agent.is_current:
            self.state = SessionState.STARTING
            await self._connect()
        # What the agent does not know of its model it may have reported only at the end of a query.
        self._assembly.refuse_unpriced()
        self.state = SessionState.RUNNING
        prompt, files = await self._read_files(text, expanded.prompt)
        self._report_files(context.query_id, files, expanded)
        return await self._path.follow(
            prompt,
            context,
            loop_for=self._loop_for,
            system_prompt=self._assembly.system_prompt or "",
            interrupted=lambda: self._interrupting,
            files=files,
        )

    async def _loop_for(self, schema: JsonMapping | None) -> AgentLoop:
        self._assembly.output_schema = schema
        if not self._agent.is_current:
            self.state = SessionState.STARTING
            await self._connect()
            self.state = SessionState.RUNNING
        assert self._agent.loop is not None
        return self._agent.loop

    def _report_files(self, query_id: str, files: Sequence[Attachment], expanded: Expanded) -> None:
        """Report what goes to the model with a query: pictures and PDF files, and copies of resources."""
        copies = dict(expanded.copies)
        sent = [
            replace(each.file, resource=copies.pop(each.file.path).resource)
            if each.file.path in copies
            else each.file
            for each in files
        ]
        if sent or copies:
            self.bus.publish(FilesAttached(query_id=query_id, files=[*sent, *copies.values()]))

    def _stop_at_limit(self) -> None:
        if self._agent.loop is not None:
            self._agent.loop.stop_at_limit()

    def _fail(self, error: Exception) -> None:
        if self.state is not SessionState.CLOSED:
            self.state = SessionState.FAILED
        self.last_error = error
        # Its log says why.
        self.workspace.unused = False
        self._report("agent", error)

    def _report(self, where: str, error: Exception) -> None:
        self.bus.publish(error_raised(where, error, self._parts.redactor))
