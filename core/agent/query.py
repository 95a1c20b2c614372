"""The path of one query through pipelines, classifier and agent, to an answer or a failure.

The path is SIMPLE for a query that can be answered from general knowledge: by the rules in `classifier.toml`, or
by the model. Everything unclear, failed or late is COMPLEX, so that a mistake costs time and never an answer.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Literal

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.attachments.blocks import Attachment
from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.agent.messages.translate import TurnOutcome
from ua_tui.core.agent.messages.usage import Prices, usage_of
from ua_tui.core.agent.output_schema import checked_schema
from ua_tui.core.agent.turn import TurnFailed
from ua_tui.core.bus import Publish
from ua_tui.core.errors import AgentError, Denied, UniversalAgentError
from ua_tui.core.events.types import QueryClassified, Usage
from ua_tui.core.json_values import JsonMapping, table_of
from ua_tui.core.log import log
from ua_tui.core.pipelines import (
    AfterExecute,
    AgentContext,
    AgentErrored,
    AgentResponse,
    BeforeExecute,
    Pipelines,
)
from ua_tui.core.provider.request import AskModel
from ua_tui.core.text import clean, clean_line

Decision = Literal["SIMPLE", "COMPLEX"]
Source = Literal["rule", "model", "fallback"]

CLASSIFIER_PROMPT = """\
You sort questions. SIMPLE: the question can be answered well from general knowledge alone, in one go.
COMPLEX: it needs tools, files, the web, fresh or private data, code, several steps, or it only makes sense
after an earlier message (such as "yes, go on"). When in doubt: COMPLEX.
Answer with exactly one word: SIMPLE or COMPLEX."""


class Classification(msgspec.Struct, frozen=True):
    """A decision, who took it, the reply or the reason, and what it used and cost if known."""

    decision: Decision
    source: Source
    raw_response: str
    cost_usd: float | None = None
    usage: Usage | None = None


def decide_by_rules(text: str) -> tuple[Decision, str] | None:
    """Decide without a model; None if no rule applies. The second item names the rule."""
    words = len(text.split())
    if not words:
        return "COMPLEX", "empty"
    if words > 30 or "\n" in text.strip():
        return "COMPLEX", "it is long"
    for decision, reason, pattern in _rules():
        if found := pattern.search(text):
            return decision, reason.format(found[0].strip()[:30])
    return None


@cache
def _rules() -> list[tuple[Decision, str, re.Pattern[str]]]:
    read = table_of(__file__, "classifier.toml")["rules"]
    return [
        (rule["decision"], rule["reason"], re.compile(rule["pattern"].replace("\n", ""), re.IGNORECASE))
        for rule in read
    ]


def read_decision(reply: str) -> Decision | None:
    """Read a model's reply; None unless it is one clear word."""
    decisions: dict[str, Decision] = {"SIMPLE": "SIMPLE", "COMPLEX": "COMPLEX"}
    return decisions.get(reply.strip().strip(".!\"'*`").upper())


class Classifier(msgspec.Struct, eq=False):
    """Rules, then one small request outside the conversation, then COMPLEX.

    `ask(system_prompt, text)` returns the model's reply or raises an exception; with None only the rules decide.
    `prices` tells what a reply cost that has its tokens only.
    """

    ask: AskModel | None = None
    prices: Prices | None = None
    deadline: float = 5.0

    async def classify(self, text: str) -> Classification:
        """Classify one query; never raises, never takes longer than the deadline."""
        if ruled := decide_by_rules(text):
            return Classification(ruled[0], "rule", ruled[1])
        if self.ask is None:
            return Classification("COMPLEX", "fallback", "no rule matched")
        try:
            reply = await asyncio.wait_for(self.ask(CLASSIFIER_PROMPT, text), self.deadline)
        except TimeoutError:
            return Classification("COMPLEX", "fallback", f"no answer within {self.deadline:g} s")
        except Exception as error:
            log.info("the classifier's request failed: %s", error)
            return Classification("COMPLEX", "fallback", f"{type(error).__name__}: {error}")
        decision = read_decision(reply.text)
        source: Source = "fallback" if decision is None else "model"
        usage, cost = usage_of(reply.usage), reply.cost_usd
        if cost is None and usage is not None and self.prices is not None:
            cost = self.prices.cost_of(reply.model, usage)
        return Classification(decision or "COMPLEX", source, clean_line(reply.text), cost, usage)


AGENT_NAME = "universal-agent"
_INTERNAL = "ua-tui could not run the query because of an internal error; details are in run.log"


class QueryPath(msgspec.Struct, eq=False):
    """Runs queries on the SIMPLE or the COMPLEX path; both use the same agent and the same conversation.

    `simple_model` is used on the SIMPLE path. Without a classifier every query is COMPLEX. `schema` is the JSON Schema
    of every answer, unless a handler changes it for a query.
    """

    pipelines: Pipelines
    classifier: Classifier | None
    publish: Publish
    simple_model: str | None
    schema: JsonMapping | None = None
    _running: BeforeExecute | None = None

    async def follow(
        self,
        text: str,
        context: AgentContext,
        *,
        loop_for: Callable[[JsonMapping | None], Awaitable[AgentLoop]],
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
        started, decided = time.monotonic(), Classification("COMPLEX", "rule", "the classifier is off")
        if self.classifier is not None:
            decided = await self.classifier.classify(text)
        self.publish(
            QueryClassified(
                query_id=query_id,
                decision=decided.decision,
                source=decided.source,
                raw_response=clean(decided.raw_response),
                duration_ms=(time.monotonic() - started) * 1000,
            )
        )
        return decided
