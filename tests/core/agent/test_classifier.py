from __future__ import annotations

import asyncio

from tests.core.cases import cases_of
from ua_tui.core.agent.messages.usage import Prices
from ua_tui.core.agent.query import Classifier, decide_by_rules, read_decision
from ua_tui.core.provider.request import SmallReply
from ua_tui.core.settings.parsers import ModelPrice

CASES = cases_of(__file__)

RULED = CASES["ruled"]


def test_stable_knowledge_is_simple_and_what_needs_tools_or_context_complex_by_rule() -> None:
    for decision, texts in RULED.items():
        for text in texts:
            assert (decide_by_rules(text) or ("", ""))[0] == decision, text
    # What may have changed is left to the model.
    assert decide_by_rules("Who is the CEO of Northwind Silicon?") is None


def test_only_one_clear_word_counts() -> None:
    decisions = {
        "SIMPLE": "SIMPLE", " simple.\n": "SIMPLE", "**COMPLEX**": "COMPLEX", "NOT SIMPLE": None, "": None,
        "SIMPLE or COMPLEX": None, "It is SIMPLE": None,
    }  # fmt: skip
    assert {reply: read_decision(reply) for reply in decisions} == decisions


async def test_the_model_decides_where_rules_are_silent() -> None:
    asked: list[str] = []

    async def ask(_system: str, text: str) -> SmallReply:
        asked.append(text)
        return SmallReply("SIMPLE", 0.25)

    decided = await Classifier(ask).classify("Who is the CEO of Northwind Silicon?")
    assert (decided.decision, decided.source, decided.cost_usd) == ("SIMPLE", "model", 0.25)
    assert asked == ["Who is the CEO of Northwind Silicon?"]
    ruled = await Classifier(ask).classify("What is the capital of France?")
    assert ruled.source == "rule"
    assert len(asked) == 1


async def test_a_reply_with_its_tokens_only_costs_what_its_model_costs() -> None:
    async def ask(_system: str, _text: str) -> SmallReply:
        return SmallReply("SIMPLE", model="m", usage={"input_tokens": 1_000, "output_tokens": 2})

    for prices, cost in (({"m": ModelPrice(0.001, 0.01, 0, 0)}, 1.02), ({}, None)):
        decided = await Classifier(ask, Prices(prices)).classify("Who is the CEO of Northwind Silicon?")
        assert decided.cost_usd == cost


async def test_anything_unclear_late_or_failed_is_complex() -> None:
    async def never(_system: str, _text: str) -> SmallReply:
        await asyncio.Event().wait()
        return SmallReply("SIMPLE")

    async def broken(_system: str, _text: str) -> SmallReply:
        raise ConnectionRefusedError("nobody there")

    async def chatty(_system: str, _text: str) -> SmallReply:
        return SmallReply("I think it is SIMPLE")

    question = "Who is the CEO of Northwind Silicon?"
    late = await Classifier(never, deadline=0.01).classify(question)
    failed = await Classifier(broken).classify(question)
    unclear = await Classifier(chatty).classify(question)
    alone = await Classifier(None).classify(question)
    for decided in (late, failed, unclear, alone):
        assert (decided.decision, decided.source) == ("COMPLEX", "fallback")
    assert "nobody there" in failed.raw_response
    assert unclear.raw_response == "I think it is SIMPLE"
