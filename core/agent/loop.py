"""The agent loop: one connection, one reader, one query at a time."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.attachments.blocks import Attachment
from ua_tui.core.agent.auth.wait import find_auth_link
from ua_tui.core.agent.bounds import REPLY_SECONDS
from ua_tui.core.agent.client import AgentClient
from ua_tui.core.agent.hooks import AgentHooks, HookCopies
from ua_tui.core.agent.mcp.elicitation import ElicitationGate
from ua_tui.core.agent.mcp.servers import Servers
from ua_tui.core.agent.messages.results import RawResult
from ua_tui.core.agent.messages.translate import (
    OpenCall,
    SteeringAccepted,
    TurnOutcome,
    TurnStarted,
    is_ping,
)
from ua_tui.core.agent.messages.usage import Spending, usage_between
from ua_tui.core.agent.turn import SilenceWatch, Stopping, Turn
from ua_tui.core.errors import AgentUnavailable, ConnectionFailed
from ua_tui.core.events.types import (
    EXIT_PLAN,
    AgentSilent,
    ApiRetry,
    ConversationCleared,
    ErrorRaised,
    Event,
    MessageFinished,
    PathFellBack,
    QuerySteered,
    SubagentFinished,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.json_values import JsonMapping, JsonObject, text_in
from ua_tui.core.log import log
from ua_tui.core.observation import AnyObservation, FinishedCall, ToolCall, ToolResult
from ua_tui.core.provider.error_messages import AT_LIMIT, refusal
from ua_tui.core.provider.models import Models
from ua_tui.core.tasks import end_tasks
from ua_tui.core.text import clean

if TYPE_CHECKING:
    import claude_agent_sdk as sdk


_UNREADABLE = "a message from the agent could not be read (details are in run.log): restart the agent"


class AgentLoop:
    """Drives one connected agent; every connection has its own loop.

    `on_result` is called with every finished tool call, and must return at once. `spent_before` is what the
    agent has already counted for a resumed conversation. `while_starting` is that of the client.
    """

    def __init__(
        self,
        options: sdk.ClaudeAgentOptions,
        *,
        hooks: AgentHooks,
        elicitation: ElicitationGate,
        servers: Servers,
        on_result: Callable[[ToolResult], None],
        models: Models,
        while_starting: Callable[[], None],
        spent_before: Spending | None = None,
    ) -> None:
        self._translator, self._publish = hooks.translator, hooks.gate.publish
        self.client = AgentClient(options, self._translator.malformed, self._answer_server, while_starting)
        self._servers_here = frozenset(options.mcp_servers) if isinstance(options.mcp_servers, dict) else ()
        self._hooks = hooks
        self._elicitation = elicitation
        self._gates = (hooks.gate, elicitation)
        self.servers = servers
        self._on_result = on_result
        self._turn: Turn | None = None
        self._spent = spent_before or Spending()
        self._session_model = models.choice.model
        self._models = models
        self._stopping = Stopping(self.client)
        self._silence = SilenceWatch(self._publish, self._waits_for, self.client.servers)
        self.failure: AgentUnavailable | None = None
        self.undelivered: list[str] = []
        self.commands: frozenset[str] = frozenset()
        self.ended = asyncio.Event()

    @property
    def is_alive(self) -> bool:
        """Whether the agent can run a query."""
        return not self.ended.is_set()

    @property
    def was_stopped(self) -> bool:
        """Whether it was ended because it did not stop when asked."""
        return self.client.was_killed

    async def connect(self) -> None:
        """Start the agent, without the servers that a person switched off.

        Raises:
            AgentUnavailable: it could not be started.
        """
        await self.client.connect()
        try:
            listed = await self.client.listed("models")
            self._translator.prices.read_list(listed)
            self._models.read_list(listed)
            commands = await self.client.listed("commands")
            self.commands = frozenset(filter(None, (text_in(each, "name") for each in commands)))
            await self.servers.attach(lambda: self.client if self.is_alive else None, self._servers_here)
        except BaseException:
            await self.client.disconnect()
            raise

    async def read(self) -> None:
        """Read the agent until it ends; the one reader. Ends, never raises, when the agent does."""
        try:
            async for message in self.client.messages():
                if not is_ping(message):
                    self._silence.note_message()
                self._hooks.note_subagent_active(getattr(message, "parent_tool_use_id", None))
                for item in self._translator.feed(message):
                    await self._handle_item(item)
            self._end(None)
        except AgentUnavailable as error:
            self._end(error)
        except asyncio.CancelledError:
            self._end(None)
            raise
        except Exception:
            log.exception("reading the agent failed")
            self._end(AgentUnavailable(_UNREADABLE))
        await self.client.end_orphans()

    async def run(
        self,
        query_id: str,
        text: str,
        *,
        simple: bool,
        model: str | None,
        files: Sequence[Attachment] = (),
    ) -> TurnOutcome:
        """Run one query to its end, with its files.

        Raises:
            AgentUnavailable: the agent is gone, or died during the query.
        """
        if self.failure is not None:
            raise self.failure
        turn = Turn(query_id, text, simple, asyncio.get_running_loop().create_future())
        self._turn = turn
        self._translator.begin(query_id, text)
        self._hooks.on_simple_path = simple
        self._hooks.stopping = False
        self._hooks.final_plan = ""
        watching = asyncio.create_task(self._silence.watch(query_id))
        try:
            if not simple:
                await self._wait_for_servers(turn)
            async with self._model(model):
                if not turn.interrupted:
                    await self.client.query(text, files=files)
                    turn.sent = True
                elif not turn.done.done():
                    turn.done.set_result(TurnOutcome("interrupted"))
                result = await turn.done
        except AgentUnavailable as error:
            if not (turn.interrupted and self.was_stopped):
                raise
            result = TurnOutcome("interrupted", text=self._translator.last_text, error=str(error))
        finally:
            await end_tasks(watching)
            for opened in self._translator.calls.values():
                self._note_finished(opened.call)
            self._turn = None
            self.undelivered = list(turn.steering.values())
            self._close_open()
            if (report := self._translator.malformed.pop_report()) is not None:
                self._publish(ErrorRaised(where="agent", message=report))
        # The agent counts the cost of the whole conversation, and adds to it at the end of each turn.
        if (spending := result.spending) is not None:
            cost, unpriced = self._translator.prices.cost_between(self._spent, spending)
            # The agent's own figure for the query leaves out its sub-agents.
            usage = usage_between(self._spent, spending) or result.usage
            self._spent = max(spending, self._spent, key=lambda each: each.total_usd)
            result = replace(result, cost_usd=cost, unpriced=tuple(unpriced), usage=usage)
        if self._hooks.final_plan and result.status == "success":
            result = replace(result, text=self._hooks.final_plan)
        return turn.outcome(result)

    async def _wait_for_servers(self, turn: Turn) -> None:
        """Wait for the servers that start, as the query may need their tools; reported unless it is for a moment."""
        began, reported = time.monotonic(), ""
        while not turn.interrupted and (starting := await self.servers.starting()):
            self._silence.note_message()
            names = ", ".join(map(clean, starting))
            waited_ms = 1000 * (time.monotonic() - began)
            if names != reported and waited_ms >= 1000:
                reported = names
                self._publish(
                    AgentSilent(query_id=turn.query_id, waits_for="server", name=names, silent_ms=waited_ms)
                )
            await asyncio.sleep(0.1)
        if reported:
            self._publish(AgentSilent(query_id=turn.query_id, waits_for="server", name=reported, over=True))

    async def steer(self, text: str, files: Sequence[Attachment] = ()) -> bool:
        """Send a message to the running query, with its files; returns False if no query can accept it.

        The agent accepts it at its next step, which `query_steered` reports. Messages that it did not accept before
        the query ended are then in `undelivered`.
        """
        turn = self._turn
        if turn is None or not turn.sent or turn.interrupted or turn.done.done():
            return False
        message_id = str(uuid.uuid4())
        turn.steering[message_id] = text
        try:
            await self.client.query(text, message_id, files)
        except AgentUnavailable:
            return turn.steering.pop(message_id, None) is None
        return True

    async def interrupt(self) -> None:
        """Stop the running query, by force if it does not stop when asked."""
        turn = self._turn
        if turn is None:
            return
        turn.interrupted = self._hooks.stopping = True
        self._cancel_questions("The person interrupted the work.")
        await self._stopping.stop(turn.done)
        if not (await asyncio.wait((turn.done,), timeout=1.0))[0]:
            # The end of the agent is read behind a large result, whose process does not react.
            self._hooks.results.end_worker()

    async def stop_subagent(self, tool_use_id: str) -> bool:
        """Stop the sub-agent that a call started; the query continues, and its model is informed.

        Returns False if it does not run.

        Raises:
            ConnectionFailed: the agent refused.
        """
        tasks = self._translator.tasks
        running = tasks.of_call(tool_use_id)
        if running:
            # The agent reports the end before it answers.
            tasks.note_stopped(tool_use_id)
        try:
            for task_id in running:
                await self.client.stop_task(task_id)
        except ConnectionFailed:
            tasks.note_stopped(tool_use_id, stopped=False)
            raise
        return bool(running)

    def stop_at_limit(self) -> None:
        """Stop the running query at the spending limit, without waiting for its end."""
        turn = self._turn
        if turn is not None and turn.refusal is None and not turn.interrupted:
            turn.refusal = AT_LIMIT
            self._hooks.stopping = True
            self._cancel_questions("The session has reached its spending limit.")
            self._stopping.ask_until(turn.done)

    async def _answer_server(self, request: JsonMapping) -> JsonObject:
        """Ask the person what a server wants to know."""
        prefix = f"mcp__{request.get('mcp_server_name')}__"
        calls = [key for key, each in self._translator.calls.items() if each.call.name.startswith(prefix)]
        # The request does not name its call.
        return await self._elicitation.ask(request, calls[0] if len(calls) == 1 else None)

    async def close(self) -> None:
        """Close the connection."""
        self._cancel_questions("The session is closing.")
        await self._stopping.close()
        await self.client.disconnect()

    @asynccontextmanager
    async def _model(self, model: str | None) -> AsyncIterator[None]:
        """Use another model for one query, then switch back to the session's own."""
        if model is None:
            yield
            return
        await self.client.set_model(model)
        try:
            yield
        finally:
            if self.is_alive:
                try:
                    await self.client.set_model(self._session_model)
                except Exception as error:
                    log.warning("the model could not be switched back: %s", error)

    async def _handle_item(
        self, item: Event | RawResult | TurnOutcome | SteeringAccepted | TurnStarted
    ) -> None:
        match item:
            case RawResult():
                await self._finish_call(item)
            case TurnOutcome():
                self._end_turn(item)
            case TurnStarted():
                if self._turn is not None and self._turn.steering_timeout is not None:
                    self._turn.steering_timeout.cancel()
            case SteeringAccepted(message_id=message_id):
                if self._turn is not None:
                    self._report_steered(self._turn, message_id)
            case SubagentFinished(status="error") if self._turn is not None and self._turn.is_stopped:
                self._publish(replace(item, status="cancelled"))
            case Event():
                # Where nothing listens, the agent would try again more often than we let it.
                if not isinstance(item, ApiRetry) or item.attempt <= item.max_attempts:
                    self._publish(item)
                self._react(item)

    def _report_steered(self, turn: Turn, message_id: str) -> None:
        if (text := turn.steering.pop(message_id, None)) is not None:
            self._publish(QuerySteered(query_id=turn.query_id, text=clean(text)))

    def _end_turn(self, result: TurnOutcome) -> None:
        turn = self._turn
        if turn is None or turn.done.done():
            return
        if turn.interrupted and turn.before is not None:
            # The agent began a further turn with the waiting messages, and was stopped before it reported that.
            for message_id in list(turn.steering):
                self._report_steered(turn, message_id)
        if result.status == "error" and result.error is None:
            reason = self._translator.last_retry or self.client.last_line or "it gave no reason"
            result = replace(result, error=f"the agent ended the query with an error: {reason}")
        turn.end(result)
        if turn.done.done():
            return
        turn.steering_timeout = asyncio.get_running_loop().call_later(
            REPLY_SECONDS, self._end_without_steering, turn
        )
        if turn.interrupted:
            # The agent is about to begin a turn with the last message, which must be stopped, too. It ignores a request
            # to stop before that turn has begun, and does not report when it begins.
            self._stopping.ask_until(turn.done)

    @staticmethod
    def _end_without_steering(turn: Turn) -> None:
        if not turn.done.done() and turn.steering and (result := turn.before):
            turn.done.set_result(result)

    def _react(self, event: Event) -> None:
        turn = self._turn
        if isinstance(event, ConversationCleared):
            # The agent counts the cost of the new conversation from nothing.
            self._spent = Spending()
        if isinstance(event, ToolCallStarted) and event.name == EXIT_PLAN:
            self._hooks.note_plan(
                event.tool_use_id, str(event.input.get("plan") or self._translator.current_text)
            )
        if turn is None:
            return
        match event:
            case ToolCallStarted(parent_tool_use_id=None) if turn.simple:
                turn.simple = False
                self._publish(PathFellBack(query_id=turn.query_id, tool_name=event.name))
            case MessageFinished():
                self._note_link(event.text, None)
            case ApiRetry():
                self._silence.note_message(expected_in=event.delay_ms / 1000)
                if turn.refusal is None and (message := refusal(event)):
                    # The agent would retry for minutes; a key that is refused once is always refused.
                    turn.refusal = message
                    self._stopping.ask_until(turn.done)

    async def _finish_call(self, raw: RawResult) -> None:
        opened = self._translator.calls.get(raw.tool_use_id)
        if opened is None:
            if self._translator.was_called(raw.tool_use_id):
                log.info("a result came for the call %s, which had already ended", raw.tool_use_id)
            else:
                self._translator.malformed.note("a result without a call", raw.tool_use_id)
            return
        call = opened.call
        copies = self._hooks.copies.pop(raw.tool_use_id, HookCopies())
        if copies.effective_input is not None:
            call = replace(call, input=copies.effective_input)
        duration_ms = (time.monotonic() - opened.started) * 1000
        denial = self._hooks.gate.denied.get(raw.tool_use_id)
        denied = denial is not None
        observation, shown = await asyncio.to_thread(
            self._hooks.results.store,
            replace(
                raw,
                hook_copy=copies.response,
                hook_error=copies.error,
                files=copies.files,
                transcript=copies.transcript,
            ),
            {
                "tool_name": call.name,
                "tool_use_id": call.tool_use_id,
                "tool_input": call.input,
                "started_at": opened.started_at,
                "ended_at": datetime.now(UTC),
                "duration_ms": duration_ms,
            },
            None if denial is None else clean(denial),
        )
        status: Literal["success", "error", "denied", "cancelled", "waiting", "blocked"] = (
            "denied" if denied else observation.held or ("error" if observation.has_error else "success")
        )
        stopped = any(map(self._translator.tasks.was_stopped, self._translator.works_for(raw.tool_use_id)))
        if status == "error" and (stopped or (self._turn is not None and self._turn.is_stopped)):
            status = "cancelled"
        if self._translator.calls.pop(raw.tool_use_id, None) is None:
            # Its query has ended meanwhile, and the call with it.
            return
        if stopped:
            self._cancel_below(call.tool_use_id)
        self._publish(
            ToolCallFinished(
                tool_use_id=call.tool_use_id,
                status=status,
                observation=shown,
                duration_ms=duration_ms,
                ran=not denied and copies.effective_input is not None,
            )
        )
        if call.name.startswith("mcp__composio__"):
            self._note_link(observation.output[:200_000], call.tool_use_id)
        self._note_finished(call, shown)
        if not denied and observation.held is None:
            try:
                self._on_result(ToolResult(call=call, observation=observation))
            except Exception:
                log.exception("a tool result could not be handed to the observers")

    def _cancel_below(self, tool_use_id: str) -> None:
        """End the calls of a sub-agent that was stopped: their results may not come."""
        calls = self._translator.calls
        below = [key for key, each in calls.items() if each.call.parent_tool_use_id == tool_use_id]
        for key in below:
            self._cancel_below(key)
            self._publish_cancelled(calls.pop(key))

    def _note_finished(self, call: ToolCall, result: AnyObservation | None = None) -> None:
        if self._turn is not None:
            self._turn.calls.append(FinishedCall(**msgspec.structs.asdict(call), result=result))

    def _publish_cancelled(self, opened: OpenCall) -> None:
        self._note_finished(opened.call)
        duration_ms = (time.monotonic() - opened.started) * 1000
        self._publish(
            ToolCallFinished(tool_use_id=opened.call.tool_use_id, status="cancelled", duration_ms=duration_ms)
        )

    def _note_link(self, text: str, tool_use_id: str | None) -> None:
        turn = self._turn
        link = find_auth_link(text, from_connections=tool_use_id is not None)
        if turn is None or link is None or link.url in turn.links:
            return
        turn.links.add(link.url)
        self._publish(replace(link, tool_use_id=tool_use_id))

    def _close_open(self) -> None:
        for event in [*self._translator.close_message(), *self._translator.tasks.close()]:
            self._publish(event)
        for opened in list(self._translator.calls.values()):
            self._publish_cancelled(opened)
        self._translator.calls.clear()
        self._hooks.forget()

    def _waits_for(self) -> tuple[str, str]:
        """What the running query waits for, and its name."""
        if any(gate.is_waiting for gate in self._gates):
            return "person", ""
        return self._translator.waits_for()

    def _cancel_questions(self, reason: str) -> None:
        for gate in self._gates:
            gate.cancel_all(reason)

    def _end(self, error: AgentUnavailable | None) -> None:
        self.failure = error or AgentUnavailable("the agent ended without a result: restart it")
        self.ended.set()
        self._cancel_questions("The agent has stopped.")
        turn = self._turn
        if turn is None:
            # Calls that began after the end of a query get no result any more.
            self._close_open()
        elif not turn.done.done():
            turn.done.set_exception(self.failure)
