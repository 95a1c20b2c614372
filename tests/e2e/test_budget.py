"""What a session may cost: with the real agent, which counts real prices, and a model that says what it took."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import DEADLINE, Finished, model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, last_query, scripted_model
from tests.e2e.terminal import terminal
from tests.journals import read_journal
from ua_tui.core.events import types as ev

LIST = "mcp__local_toolkit__list_directory"
MODEL = "claude-sonnet-5"


class Spender:
    """Calls a tool twice, once in a sub-agent, then answers; each message is a few hundred tokens."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        self.requests += 1
        _, results = last_query(body, "Look at the folder", "Look once")
        if "Look once" in json.dumps(body["messages"][:1]):
            return (Use(LIST, {"path": ""}),) if results == 0 else (Text("Seen."),)
        if results == 0:
            given = {"subagent_type": "report-creation-expert", "description": "Look", "prompt": "Look once"}
            return Text("I have it looked at."), Use("Agent", given)
        return Text("The folder is empty."), *([Use(LIST, {"path": ""})] if results == 1 else [])


class Sub:
    """Has a report made by two sub-agents at once, each of which says `said` before every one of its calls."""

    def __init__(self, shown_text: str, calls: int) -> None:
        self.shown_text, self.calls = shown_text, calls
        self.requests = 0

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        if "Look once" in json.dumps(body["messages"][:1]):
            self.requests += 1
            if results < self.calls:
                return Text(self.shown_text), Use(LIST, {"path": ""})
            return (Text("Seen."),)
        given = {"subagent_type": "report-creation-expert", "description": "A report", "prompt": "Look once"}
        return (*(Use("Agent", given) for _ in range(2)),) if results == 0 else (Text("Done."),)


@pytest.mark.slow
def test_the_cost_moves_while_a_query_runs_and_a_limit_ends_it_also_when_it_is_resumed(
    tmp_path: Path,
) -> None:
    model = Spender()
    with scripted_model(model) as url:
        env = model_environment(tmp_path, url)

        def ask(*options: str) -> Finished:
            return run(
                tmp_path, "run", "--model", MODEL, "--allow", LIST, *options, "Look at the folder", env=env
            )

        done = ask()
        assert done.code == 0, done.stderr
        spent, (finished,) = done.of(ev.TokensSpent), done.of(ev.QueryFinished)
        last = [each for each in done.of(ev.MessageFinished) if each.parent_tool_use_id is None][-1]
        resume = ("--resume", "latest", "--max-cost")
        requests = model.requests
        refused = ask(*resume, "0.000001")
        assert (refused.code, model.requests) == (2, requests)
        assert "--max-cost" in refused.stderr
        # What is left pays for half of it.
        limit = finished.cost_usd * 1.5
        limited = ask(*resume, f"{limit:.6f}")
        assert limited.code == 1
        assert "budget" in limited.stderr
        assert "--max-cost" in limited.stderr.strip().splitlines()[-1]
        assert "Traceback" not in limited.stderr
        assert limited.of(ev.QueryFinished)[-1].cost_usd < finished.cost_usd
        reached = limited.of(ev.BudgetReached)
        (cost,) = [each.cost_usd for each in limited.of(ev.SessionFinished)][1:]
        # Without a limit it goes on.
        more = ask("--resume", "latest")
        assert more.code == 0, more.stderr
    assert {each.model for each in spent} == {MODEL}
    assert any(each.parent_tool_use_id for each in spent)
    # The agent lists what its models cost. Of its own messages the stream tells all; what a sub-agent wrote, which
    # this model takes nine tokens for however short it is, is estimated from its length.
    own = [each for each in spent if each.parent_tool_use_id is None]
    whole = sum(each.usage.input_tokens + 5 * each.usage.output_tokens for each in own) * 2 / 1e6
    assert sum(each.cost_usd for each in own) == pytest.approx(whole)
    assert whole < sum(each.cost_usd for each in spent) <= finished.cost_usd
    messages = len({each.message_id for each in spent})
    assert finished.cost_usd == pytest.approx((100 + 5 * 9) * messages * 2 / 1e6)
    assert spent[0].cost_usd < finished.cost_usd / 2
    assert finished.context_window >= 200_000
    assert spent[-1].seq > last.seq
    assert [each.level for each in reached][-1] == "spent"
    assert reached[-1].spent_usd >= limit * 0.999
    assert not reached[-1].refused
    assert more.of(ev.BudgetReached) == reached
    assert more.of(ev.SessionFinished)[-1].cost_usd > cost > finished.cost_usd


def test_a_limit_needs_the_price_of_a_model_that_the_agent_does_not_know(tmp_path: Path) -> None:
    seen: list[Mapping[str, str]] = []
    secret = "hush-4711-hush"
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"team": {"type": "string"}}, "required": ["team"]}')

    def model(_body: dict[str, Any], _results: int) -> tuple[Block, ...]:
        return (Use("StructuredOutput", {"team": secret}),)

    with scripted_model(model, requested=seen.append) as url:
        variables = {
            "ANTHROPIC_CUSTOM_HEADERS": f"X-Team: {secret}\nX-Org: research",
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "40960",
            "UA_PRICES": "qwen3:14b=2/4",
        }
        options = ("run", "--model", "qwen3:14b", "--max-cost", "1", "Hello")
        env = model_environment(tmp_path, url)
        refused = run(tmp_path / "refused", *options, env=env)
        assert seen == []
        known = run(tmp_path / "known", *options, "--output-schema", str(schema), env=env | variables)
    assert refused.code == 1
    assert "needs the price of qwen3:14b, which is unknown: set it with the setting prices" in refused.stderr
    (finished,) = known.of(ev.QueryFinished)
    assert (known.code, finished.context_window) == (0, 40_960), known.stderr
    assert finished.cost_usd == pytest.approx((2 * 100 + 4 * 9) / 1e6)
    assert [(each["X-Team"], each["X-Org"]) for each in seen] == [(secret, "research")]
    assert known.stdout == '{"team": "[redacted]"}\n'


def test_a_limit_counts_the_price_of_the_settings_and_none_that_the_agent_invents(tmp_path: Path) -> None:
    requests = 0

    def model(_body: dict[str, Any], results: int) -> tuple[Block, ...]:
        nonlocal requests
        requests += 1
        return (Use(LIST, {"path": ""}),) if results < 2 else (Text("Empty."),)

    with scripted_model(model) as url:
        env = model_environment(tmp_path, url)
        # The agent would count some thirty times as much.
        options = ("run", "--model", "qwen3:14b", "--max-cost", "0.0004", "Look")
        free = run(tmp_path / "free", *options, env=env | {"UA_PRICES": "qwen3:14b=0/0"})
        assert (free.code, free.stdout, requests) == (0, "Empty.\n", 3), free.stderr
        stopped = run(tmp_path / "stopped", *options, env=env | {"UA_PRICES": "qwen3:14b=2/4"})
    assert stopped.code == 1
    assert "the agent stopped at the spending limit" in stopped.stderr
    assert requests == 3 + 2


def test_sub_agents_are_stopped_by_what_they_are_estimated_to_spend(tmp_path: Path) -> None:
    model = Sub("I look again. " * 200, 40)
    with scripted_model(model) as url:
        done = run(
            tmp_path, "run", "--model", MODEL, "--allow", LIST, "--max-cost", "0.02", "Look at the folder",
            env=model_environment(tmp_path, url),
        )  # fmt: skip
    assert done.code == 1
    assert "--max-cost" in done.stderr.strip().splitlines()[-1]
    estimates = [each.cost_usd for each in done.of(ev.TokensSpent)]
    # What one message more of each is estimated to be may have come meanwhile.
    assert 0.02 <= sum(estimates) < 0.02 + 3 * max(estimates)
    assert model.requests < 10
    (finished,) = done.of(ev.QueryFinished)
    assert (finished.status, "spending limit" in finished.error) == ("error", True)
    assert [(each.reason, each.state) for each in done.of(ev.SessionFinished)] == [("limit", "stopped")]
    assert not done.of(ev.ErrorRaised)
    assert {each.status for each in done.of(ev.SubagentFinished)} == {"cancelled"}
    assert {each.status for each in done.of(ev.ToolCallFinished)} <= {"success", "cancelled"}


def test_no_rule_is_broken_by_sub_agents_that_the_limit_ends(tmp_path: Path) -> None:
    model, both, never = Sub("It is a long report. " * 150, 0), threading.Barrier(2), threading.Event()

    def reply(body: dict[str, Any], results: int) -> tuple[Block, ...]:
        blocks = model(body, results)
        if "Look once" not in json.dumps(body["messages"][:1]):
            return blocks
        if "has not been saved" in json.dumps(body["messages"]):
            # Whoever is sent back does not get on with it before it is stopped.
            never.wait(DEADLINE)
        else:
            both.wait(DEADLINE)
        return (Text(model.shown_text),)

    with scripted_model(reply) as url:
        # What one of them writes is enough: that of the other may be counted later.
        options = ("--model", MODEL, "--max-cost", "0.008")
        try:
            done = run(tmp_path, "run", *options, "A report", env=model_environment(tmp_path, url))
        finally:
            never.set()
    assert done.code == 1
    assert "spending limit" in done.of(ev.QueryFinished)[0].error
    assert model.requests >= 2
    assert not [*done.of(ev.ComplianceFailed), *done.of(ev.ComplianceEnforced)]


def test_the_limit_is_raised_on_the_screen_and_what_waited_runs(tmp_path: Path) -> None:
    model, may_answer = Spender(), threading.Event()

    def reply(body: dict[str, Any], results: int) -> tuple[Block, ...]:
        may_answer.wait(DEADLINE)
        return model(body, results)

    def events_of(kind: type[Any]) -> list[Any]:
        (session,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
        return [each for each in read_journal(session / "journal.jsonl").events if isinstance(each, kind)]

    with scripted_model(reply) as url:
        options = ("--model", MODEL, "--allow", LIST, "--max-cost", "0.000001", "--workspace", str(tmp_path))
        with terminal(tmp_path, *options, env=model_environment(tmp_path, url)) as screen:
            screen.wait_for("ready")
            screen.type("Look at the folder\r")
            screen.wait_for("Esc stops")
            screen.type("Once more\r")
            screen.wait_for("1 queued")
            may_answer.set()
            screen.wait_for("Spending limit reached.", "Queued  1 query")
            screen.press_until("\x1b", lambda text: "Spending limit reached." not in text)
            # Whoever closes the dialog and asks once more is asked again.
            screen.type("And again\r")
            screen.wait_for("Spending limit reached.", "Queued  2 queries")
            screen.press_until("r", lambda text: "in US dollars" in text)
            screen.type("\x15")
            screen.type("1\r")
            # It is ready for a moment after each of the three queries.
            screen.wait_until(lambda: len(events_of(ev.QueryFinished)) == 3)
            screen.wait_for("The folder is empty.", "● ready", "/$1.00")
            screen.settle()
            screen.quit()
    spent = [each for each in events_of(ev.BudgetReached) if each.level == "spent"]
    assert [each.refused for each in spent] == [False, True, True]
