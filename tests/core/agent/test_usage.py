"""What a query costs while it runs: counted message by message, priced by what the agent tells of its models."""

from __future__ import annotations

from typing import Any

import claude_agent_sdk as sdk
import pytest

from tests.core.agent.hooks import a_translator
from tests.core.agent.test_translate import begin, fed, result, stream
from tests.core.cases import cases_of
from ua_tui.core.agent.messages.translate import TurnOutcome
from ua_tui.core.agent.messages.usage import (
    ModelReport,
    Prices,
    Spending,
    model_reports,
    read_context_usage,
    usage_between,
)
from ua_tui.core.events.types import TokensSpent, Usage
from ua_tui.core.settings.parsers import read_prices

CASES = cases_of(__file__)

MODELS = CASES["models"]
MILLION = Usage(input_tokens=1_000_000)


def reported(**counts: Any) -> dict[str, Any]:
    nothing = {"inputTokens": 0, "outputTokens": 0, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    return {**nothing, "webSearchRequests": 0, "contextWindow": 1_000_000, **counts}


def used(**counts: Any) -> ModelReport:
    return model_reports({"m": reported(**counts)})["m"]


def priced() -> Prices:
    prices = Prices()
    prices.read_list(MODELS)
    return prices


def test_prices_are_those_the_agent_lists_and_of_an_unknown_model_nothing_is_shown() -> None:
    listed = {
        "claude-opus-9-1": 4.0, "claude-sonnet-9-5": 2.0, "claude-haiku-9-5": 0.1, "claude-sonnet-9": 2.0,
    }  # fmt: skip
    assert {model: priced().cost_of(model, MILLION) for model in listed} == pytest.approx(listed)
    assert priced().cost_of("glm-4.6", MILLION) is None


def test_a_list_and_an_end_that_say_nothing_change_no_price() -> None:
    lists: list[list[Any]] = [[None, 3, {}], [{"description": "$x/$y per Mtok"}], [{"description": None}]]
    ends: list[Any] = [None, "x", {"m": None}, {"m": reported(costUSD=1.0)}, {"m": reported(inputTokens=5)}]
    prices = Prices()
    for models in lists:
        prices.read_list(models)
    for end in ends:
        prices.measure(model_reports(end))
    assert prices.cost_of("claude-sonnet-9-5", MILLION) is prices.cost_of("m", MILLION) is None


def test_what_a_query_really_cost_is_the_price_from_then_on() -> None:
    prices = priced()
    prices.measure({"claude-sonnet-9-5": used(inputTokens=500_000, outputTokens=100_000, costUSD=3.0)})
    assert prices.cost_of("claude-sonnet-9-5", MILLION) == pytest.approx(3.0)
    weighed = Usage(
        output_tokens=100_000, cache_creation_input_tokens=80_000, cache_read_input_tokens=1_000_000
    )
    assert prices.cost_of("claude-sonnet-9-5", weighed) == pytest.approx(0.5 * 3 + 0.1 * 3 + 0.1 * 3)
    prices.measure({"claude-x": used(inputTokens=1_000_000, webSearchRequests=10, costUSD=1.1)})
    assert prices.cost_of("claude-x", MILLION) == pytest.approx(1.0)


def test_the_agents_guess_for_an_unknown_model_is_not_used() -> None:
    prices = priced()
    guess = {
        "qwen3:14b": used(inputTokens=1000, costUSD=5.0, costBasis="unknown"),
        "claude-sonnet-9-5": used(inputTokens=1000, costUSD=2.0, costBasis="list"),
    }
    prices.measure(guess)
    assert prices.cost_of("qwen3:14b", MILLION) is None
    assert not prices.is_known("qwen3:14b")
    assert prices.window_of(guess, "qwen3:14b") is None
    assert prices.window_of(guess, "claude-sonnet-9-5") == 1_000_000
    assert prices.cost_between(Spending(), Spending(7.0, guess)) == (None, ["qwen3:14b"])
    more = {**guess, "claude-sonnet-9-5": used(inputTokens=1500, costUSD=3.0, costBasis="list")}
    assert prices.cost_between(Spending(7.0, guess), Spending(8.0, more)) == (1.0, [])


def test_the_tokens_of_a_query_are_those_of_all_models_since_the_one_before() -> None:
    before = Spending(0.0, {"m": used(inputTokens=10, outputTokens=1)})
    now = Spending(0.0, {"m": used(inputTokens=15, outputTokens=3), "n": used(cacheReadInputTokens=7)})
    assert usage_between(before, now) == Usage(input_tokens=5, output_tokens=2, cache_read_input_tokens=7)
    assert usage_between(now, now) is None


def test_the_users_prices_replace_those_of_the_agent() -> None:
    prices = Prices(read_prices(["qwen3:14b=1/2/0.5/4", "claude-sonnet-9-5=0/0"]), window=40_000)
    prices.read_list(MODELS)
    counts = {
        "inputTokens": 1000, "outputTokens": 100, "cacheReadInputTokens": 10, "cacheCreationInputTokens": 1,
    }  # fmt: skip
    report = {
        "qwen3:14b": used(**counts, costUSD=5.0, costBasis="unknown"),
        "claude-sonnet-9-5": used(inputTokens=1000, costUSD=2.0, costBasis="list"),
        "claude-haiku-9-5": used(inputTokens=1000, costUSD=1.0, costBasis="list"),
    }
    prices.measure(report)
    own = (1000 + 2 * 100 + 0.5 * 10 + 4) / 1e6
    cost, unpriced = prices.cost_between(Spending(), Spending(8.0, report))
    assert cost == pytest.approx(1.0 + own)
    assert unpriced == []
    assert prices.cost_of("qwen3:14b", MILLION) == pytest.approx(1.0)
    assert prices.window_of(report, "qwen3:14b") == 40_000
    assert [prices.is_known(each) for each in ("qwen3:14b", "sonnet", "claude-opus-3", "glm")] == [
        True, True, True, False,
    ]  # fmt: skip


def whispered(*blocks: Any, message_id: str = "s1", parent: str = "toolu_1") -> sdk.AssistantMessage:
    usage = {"input_tokens": 12, "cache_read_input_tokens": 1800, "output_tokens": 1}
    return sdk.AssistantMessage(
        content=list(blocks),
        model="claude-sonnet-9-5",
        parent_tool_use_id=parent,
        message_id=message_id,
        usage=usage,
    )


def test_each_part_of_a_sub_agents_message_counts_once_also_when_two_work_at_once() -> None:
    translator = a_translator()
    translator.begin("q1", "hello")
    translator.prices.read_list(MODELS)
    call = sdk.ToolUseBlock(id="t2", name="Read", input={"path": "x" * 389})
    text = sdk.TextBlock(text="y" * 80)
    items = fed(
        translator, whispered(text), whispered(call), whispered(sdk.TextBlock(text=""), message_id="s2"),
        whispered(text, message_id="o1", parent="toolu_2"), whispered(text, message_id="s2"),
    )  # fmt: skip
    spent = [item for item in items if isinstance(item, TokensSpent)]
    assert [(each.message_id, each.usage) for each in spent] == [
        ("s1", Usage(input_tokens=12, cache_read_input_tokens=1800, output_tokens=20)),
        ("s1", Usage(output_tokens=100)),
        ("s2", Usage(input_tokens=12, cache_read_input_tokens=1800, output_tokens=1)),
        ("o1", Usage(input_tokens=12, cache_read_input_tokens=1800, output_tokens=20)),
        ("s2", Usage(output_tokens=20)),
    ]
    assert [each.parent_tool_use_id for each in spent] == ["toolu_1"] * 3 + ["toolu_2", "toolu_1"]
    assert spent[1].cost_usd == pytest.approx(100 * 10 / 1e6)


def test_of_a_report_only_the_malformed_figures_are_lost() -> None:
    bad = {
        "inputTokens": 5,
        "outputTokens": -1,
        "cacheReadInputTokens": "x",
        "costUSD": 2.0,
        "costBasis": None,
    }
    (report,) = model_reports({"m": {**bad, "contextWindow": None}, "n": 3}).values()
    assert (report.input_tokens, report.output_tokens, report.cost_usd, report.context_window) == (
        5,
        0,
        2.0,
        0,
    )
    parts = [{"id": "messages", "name": None, "tokens": 7}, {"id": "x", "name": "X", "tokens": "y"}, None]
    (part,) = read_context_usage({"categories": parts}).parts
    assert part.tokens == 7


def test_the_end_of_a_turn_shows_how_much_the_model_takes_in() -> None:
    translator = a_translator()
    translator.begin("q1", "hello")
    models = {
        "claude-haiku-9-5": reported(inputTokens=1, costUSD=0.1, contextWindow=200_000),
        "claude-x": reported(inputTokens=10, costUSD=0.1, contextWindow=1_000_000),
    }
    items = fed(translator, begin(), stream("message_stop"), result(model_usage=models))
    (end,) = [item for item in items if isinstance(item, TurnOutcome)]
    assert end.context_window == 1_000_000
    assert translator.prices.cost_of("claude-x", Usage(input_tokens=10)) == pytest.approx(0.1)
