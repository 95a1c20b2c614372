"""Permission rules: what allows, asks about or denies which tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from core.agent.permissions.actions import Action

__all__ = ["Effect", "Rule", "rule_for"]

Effect = Literal["allow", "ask", "deny"]


@dataclass(frozen=True)
class Rule:
    """A rule: its effect, the text it was written as, and where it comes from."""

    effect: Effect
    text: str
    origin: str = "option"

    @property
    def names_arguments(self) -> bool:
        """Whether the rule says with which arguments a tool may run, and not only which tool."""
        return False

    def matches(self, action: Action) -> bool:
        """Whether the rule is about this action."""
        names = (action.name,) if action.wrapped else (action.name, action.tool)
        return any(fnmatchcase(name, self.text) for name in names)


def rule_for(rules: Iterable[Rule], effect: Effect, action: Action) -> Rule | None:
    """The first rule with this effect that matches an action."""
    return next((rule for rule in rules if rule.effect == effect and rule.matches(action)), None)
