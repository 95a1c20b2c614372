"""The path of one query through pipelines, classifier and agent, to an answer or a failure."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.attachments.blocks import Attachment
from ua_tui.core.agent.classifier import Classification, Classifier
from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.agent.messages.translate import TurnOutcome
from ua_tui.core.agent.output_schema import checked_schema
from ua_tui.core.agent.turn import TurnFailed
from ua_tui.core.errors import AgentError, Denied, UniversalAgentError
from ua_tui.core.events.types import Event, QueryClassified, Usage
from ua_tui.core.pipelines import (
    AfterExecute,
    AgentContext,
    AgentErrored,
    AgentResponse,
    BeforeExecute,
    Pipelines,
)
from ua_tui.core.text import clean

log = logging.getLogger(__name__)

AGENT_NAME = "universal-agent"
_INTERNAL = "ua-tui could not run the query because of an internal error; details are in run.log"


class QueryPath(msgspec.Struct, eq=False):
    """Runs queries on the SIMPLE or the COMPLEX path; both use the same agent and the same conversation.

    `simple_model` is used on the SIMPLE path. Without a classifier every query is COMPLEX. `schema` is the JSON Schema
    of every answer, unless a handler changes it for a query.
    """

    pipelines: Pipelines
    classifier: Classifier | None
    publish: Callable[[Event], Event]
    simple_model: str | None
    schema: Mapping[str, Any] | None = None
    _running: BeforeExecute | None = None

    async def follow(
        self,
        text: str,
        context: AgentContext,
        *,
        loop_for: Callable[[Mapping[str, Any] | None], Awaitable[AgentLoop]],
        system_prompt: str,
        interrupted: Callable[[], bool],
        files: Sequence[Attachment] = (),
    ) -> TurnOutcome:
        """Run one query to its end, with the files that it names; `loop_for` connects an agent for an output schema.

        Raises:
            Denied: a handler denied it.
            AgentError: the agent failed.
            SettingsError: a handler set an output schema that is not valid.
            AgentUnavailable: the agent is gone.
        """
        before = await self.pipelines.run("agent.before_execute", self._query(text, context))
        self._running = before
        if before.denied is not None:
            raise Denied(before.denied)
        schema = before.schema
        if schema is not None and schema != self.schema:
            where = "the output schema that a handler of agent.before_execute set"
            schema = await asyncio.to_thread(checked_schema, schema, where)
        loop = await loop_for(schema)
        decided = await self._classify(context.query_id, before.input)
        if interrupted():
            return TurnOutcome("interrupted", cost_usd=decided.cost_usd, usage=decided.usage)
        simple = decided.decision == "SIMPLE"
        outcome = await loop.run(
            context.query_id,
            before.input,
            simple=simple,
            model=self.simple_model if simple else None,
            files=files,
        )
        if decided.cost_usd is not None and not outcome.unpriced:
            outcome = replace(outcome, cost_usd=(outcome.cost_usd or 0.0) + decided.cost_usd)
        if decided.usage is not None:
            outcome = replace(outcome, usage=(outcome.usage or Usage()) + decided.usage)
        if outcome.status == "error":
            raise TurnFailed(outcome)
        if outcome.status == "interrupted":
            return outcome
        after = await self.pipelines.run(
            "agent.after_execute",
            AfterExecute(
                agent=AGENT_NAME,
                input=before.input,
                system_prompt=system_prompt,
                response=AgentResponse(
                    text=outcome.text,
                    output=outcome.output,
                    tool_calls=outcome.tool_calls,
                    usage=outcome.usage,
                    cost_usd=outcome.cost_usd,
                    turns=outcome.turns,
                ),
                context=dataclasses.replace(before.context, decision=decided.decision),
            ),
        )
        return replace(outcome, text=after.response.text, output=after.response.output)

    async def recover(
        self, text: str, context: AgentContext, system_prompt: str | None, error: Exception
    ) -> TurnOutcome:
        """Let the error pipeline answer instead of the agent; otherwise the query failed with `error`."""
        if not isinstance(error, UniversalAgentError):
            log.error("a query failed", exc_info=error)
            internal = AgentError(_INTERNAL)
            internal.__cause__ = error
            error = internal
        query = self._running
        if query is None or query.context.query_id != context.query_id:
            query = self._query(text, context)
        payload = await self.pipelines.run(
            "agent.on_error",
            AgentErrored(
                agent=AGENT_NAME,
                input=query.input,
                schema=query.schema,
                context=query.context,
                system_prompt=system_prompt,
                exception=error,
            ),
        )
        failed = error.outcome if isinstance(error, TurnFailed) else TurnOutcome("error")
        if payload.recovery is not None:
            return replace(failed, status="success", text=payload.recovery, error=None)
        return replace(failed, text="", error=clean(str(error)) or type(error).__name__, exception=error)

    def _query(self, text: str, context: AgentContext) -> BeforeExecute:
        schema = None if self.schema is None else dict(self.schema)
        return BeforeExecute(agent=AGENT_NAME, input=text, schema=schema, context=context)

    async def _classify(self, query_id: str, text: str) -> Classification:
        if self.classifier is None:
            decided = Classification("COMPLEX", "rule", "the classifier is off")
        else:
            decided = await self.classifier.classify(text)
        self.publish(
            QueryClassified(
                query_id=query_id,
                decision=decided.decision,
                source=decided.source,
                raw_response=clean(decided.raw_response),
                duration_ms=decided.duration_ms,
            )
        )
        return decided
