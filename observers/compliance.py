"""Checks the compliance rules of sub-agents: what must exist before a sub-agent may stop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from core.agent.definitions.prompts import shipped_subagents
from core.agent.definitions.rules import Rule, is_satisfied
from core.observation import ToolCall, ToolResult
from core.storage.workspace import Workspace
from observers.base import ObserverContext, ObserverSpec, Outcome, input_text

__all__ = ["OBSERVER", "Compliance", "Rule", "check_subagent", "shipped_rules"]


@cache
def shipped_rules() -> tuple[Rule, ...]:
    """The rules of the built-in sub-agents, read from their definitions once."""
    return tuple(rule for subagent in shipped_subagents() for rule in subagent.rules)


def check_subagent(
    agent: str, request: str, workspace: Workspace, rules: Sequence[Rule] | None = None
) -> Rule | None:
    """Find the first rule that `agent` has not met for the task `request`; None if all are met.

    `rules` are the shipped ones by default.
    """
    for rule in shipped_rules() if rules is None else rules:
        if rule.holds(agent, request) and not is_satisfied(rule, workspace):
            return rule
    return None


class Compliance:
    """Observer that reports for every finished sub-agent whether it met its rules."""

    name = "compliance"

    def __init__(self, rules: Sequence[Rule] | None = None) -> None:
        self._rules = shipped_rules() if rules is None else tuple(rules)

    def wants(self, call: ToolCall) -> bool:
        """Calls of sub-agents that have a rule."""
        agent = input_text(call.input, "subagent_type")
        return call.name in ("Agent", "Task") and any(rule.agent == agent for rule in self._rules)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Check the rules against the workspace; nothing is saved."""
        if result.observation.has_error:
            # Stopped in the middle of its work it has left no rule unkept.
            return Outcome(note="the sub-agent did not finish")
        arguments = result.call.input
        agent = input_text(arguments, "subagent_type") or ""
        request = " ".join(text for key in ("description", "prompt") if (text := input_text(arguments, key)))
        unmet = check_subagent(agent, request, context.workspace, self._rules)
        if unmet is None:
            return Outcome(note="every rule was met")
        return Outcome(rejected=1, note=f"rule {unmet.name} was not met: {unmet.required} is missing")


OBSERVER = ObserverSpec(Compliance, order=70)
