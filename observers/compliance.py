"""What a sub-agent must have done before it may stop: rules as data, and the check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.observation import ToolCall, ToolResult
from core.workspace import Workspace
from observers.base import ObserverContext, Outcome, input_text

__all__ = ["RULES", "Compliance", "Rule", "Violation", "check_subagent"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What is asked of one sub-agent.

    The rule holds when the request matches `condition`; then `required` must exist in the workspace. `message`
    is said to the sub-agent word for word and never holds text of a tool or a page.
    """

    name: str
    agent: str
    condition: re.Pattern[str]
    required: str
    message: str


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was not kept."""

    rule: str
    agent: str
    required: str
    message: str


RULES: tuple[Rule, ...] = (
    Rule(
        name="corpus-before-report",
        agent="report-creation-expert",
        condition=re.compile(
            r"\b(?:reports?|comprehensive(?:ly)?|detailed|in[- ]depth|analys[ei]s)\b", re.IGNORECASE
        ),
        required="expanded_corpus.json",
        message=(
            "The research corpus has not been saved. Before you finish, call the save_corpus tool so that "
            "expanded_corpus.json exists in the session's workspace, then complete the report."
        ),
    ),
)


def check_subagent(
    agent: str, request: str, workspace: Workspace, rules: Sequence[Rule] = RULES
) -> Violation | None:
    """Find the first rule that `agent`, asked for `request`, has not kept; None when all are kept."""
    for rule in rules:
        if rule.agent == agent and rule.condition.search(request) and not _is_there(workspace, rule.required):
            return Violation(rule.name, agent, rule.required, rule.message)
    return None


def _is_there(workspace: Workspace, required: str) -> bool:
    return workspace.exists(required) and workspace.root.size(required) > 0


class Compliance:
    """Observer that says of every finished sub-agent whether it kept its rules."""

    name = "compliance"

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._rules = rules

    def wants(self, call: ToolCall) -> bool:
        """Calls of sub-agents that a rule speaks of."""
        agent = input_text(call.input, "subagent_type")
        return call.name in ("Agent", "Task") and any(rule.agent == agent for rule in self._rules)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Check the rules as the sub-agent left the workspace; nothing is saved."""
        arguments = result.call.input
        agent = input_text(arguments, "subagent_type") or ""
        request = " ".join(text for key in ("description", "prompt") if (text := input_text(arguments, key)))
        violation = check_subagent(agent, request, context.workspace, self._rules)
        if violation is None:
            return Outcome(note="every rule was kept")
        return Outcome(
            rejected=1, note=f"rule {violation.rule} was not kept: {violation.required} is missing"
        )
