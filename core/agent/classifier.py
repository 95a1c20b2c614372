"""Decides whether a query takes the SIMPLE or the COMPLEX path: rules first, then the model.

SIMPLE is a query that can be answered from general knowledge. Everything unclear, failed or late is COMPLEX, so that
a mistake costs time and never an answer.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.agent.messages.usage import Prices, usage_of
from ua_tui.core.events.types import Usage
from ua_tui.core.provider.request import AskModel, SmallReply
from ua_tui.core.text import clean_line

log = logging.getLogger(__name__)

Decision = Literal["SIMPLE", "COMPLEX"]
Source = Literal["rule", "model", "fallback"]

CLASSIFIER_PROMPT = """\
You sort questions. SIMPLE: the question can be answered well from general knowledge alone, in one go.
COMPLEX: it needs tools, files, the web, fresh or private data, code, several steps, or it only makes sense
after an earlier message (such as "yes, go on"). When in doubt: COMPLEX.
Answer with exactly one word: SIMPLE or COMPLEX."""


class Classification(msgspec.Struct, frozen=True):
    """A decision, who took it, the reply or the reason, the milliseconds, and what it used and cost if known."""

    decision: Decision
    source: Source
    raw_response: str = ""
    duration_ms: float = 0.0
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
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["rules"]
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
        started = time.monotonic()

        def took() -> float:
            return (time.monotonic() - started) * 1000

        if ruled := decide_by_rules(text):
            return Classification(ruled[0], "rule", ruled[1], took())
        if self.ask is None:
            return Classification("COMPLEX", "fallback", "no rule matched", took())
        try:
            reply = await asyncio.wait_for(self.ask(CLASSIFIER_PROMPT, text), self.deadline)
        except TimeoutError:
            return Classification("COMPLEX", "fallback", f"no answer within {self.deadline:g} s", took())
        except Exception as error:
            log.info("the classifier's request failed: %s", error)
            return Classification("COMPLEX", "fallback", f"{type(error).__name__}: {error}", took())
        decision = read_decision(reply.text)
        source: Source = "fallback" if decision is None else "model"
        usage = usage_of(reply.usage)
        cost = self._cost_of(reply, usage)
        return Classification(decision or "COMPLEX", source, clean_line(reply.text), took(), cost, usage)

    def _cost_of(self, reply: SmallReply, usage: Usage | None) -> float | None:
        if reply.cost_usd is not None or usage is None or self.prices is None:
            return reply.cost_usd
        return self.prices.cost_of(reply.model, usage)
