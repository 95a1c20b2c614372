"""Permission rules: what allows, asks about or denies which tool calls. Their grammar is in docs/permissions.md.

A rule that allows compares exactly, and every value that its condition is about must match. A rule that asks or denies
ignores case, Unicode forms and invisible characters, and any matching value is enough; what it cannot read, it matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.agent.permissions.actions import TOOLS, Action, can_be_remembered, is_wrapper
from ua_tui.core.agent.permissions.arguments import fold, is_plain_option, leaves
from ua_tui.core.agent.permissions.conditions import (
    Condition,
    condition,
    conditions_in,
    leaves_destination_open,
)

Effect = Literal["allow", "ask", "deny"]
Origin = Literal["demo", "option", "environment", "config.toml", "session", "folder", "everywhere"]
LONGEST_RULE = 1_000
_FORM = re.compile(r"(?P<tool>[^\s()]+)(?:\((?P<given>.*)\))?", re.DOTALL)
_NAMES_TOOL_OF_SERVER = re.compile(r"mcp__[^*?\[]+?__[^*?\[]")
_FROM_DIALOG = frozenset({"session", "folder", "everywhere"})
MAIN_ARGUMENTS: Mapping[str, str] = TOOLS["main_arguments"]
"""The argument that a rule about a built-in tool is about if it names none."""


class Rule(msgspec.Struct, frozen=True):
    """A rule and where it comes from.

    One from a dialog allows a tool that acts outside, or can do anything, only if it names a destination.

    Attributes:
        text: as it was written, such as `GMAIL_SEND_EMAIL(recipient_email=*@ourfirm.example)`.
        origin: an option, the environment, the user's own settings file, or an answer in a dialog: for the session,
            for a folder, or everywhere.
        server: the only MCP server whose tools it is about; None if it is about those of any.
    """

    effect: Effect
    text: str
    origin: Origin = "option"
    server: str | None = None

    @property
    def tool(self) -> str:
        """The pattern for the tool's name."""
        return self._parts[0]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the arguments must be; all of them must match."""
        return self._parts[1]

    @property
    def names_destination(self) -> bool:
        """Whether the rule says where something may go, which files it is about, or which command is run."""
        return any(each.is_destination for each in self.conditions)

    def names_arguments(self, action: Action) -> bool:
        """Whether the rule names each argument of an action that can hold a text; `T()` is about a call without any."""
        if action.arguments is None or not (self.conditions or self._is_bare_call):
            return False
        covered = {each.name for each in self.conditions}
        return all(
            ".".join(path) in covered or is_plain_option(path, value)
            for path, value in leaves(action.arguments)
        )

    def matches(self, action: Action, folder: Path) -> bool:
        """Whether the rule is about this action; relative paths begin at `folder`."""
        if self.server is not None and self.server != action.server:
            return False
        if self.effect != "allow":
            pattern = fold(self.tool)
            return any(fnmatchcase(fold(name), pattern) for name in (action.name, action.tool)) and all(
                each.matches_any(action.arguments, folder) for each in self.conditions
            )
        if not self._names(action) or not (self.names_destination or self._may_name_only(action)):
            return False
        if not self.conditions:
            return not self._is_bare_call or self.names_arguments(action)
        given = action.arguments
        return (
            given is not None
            and all(each.matches_all(given, folder) for each in self.conditions)
            and not leaves_destination_open(self.conditions, given, folder)
        )

    def _may_name_only(self, action: Action) -> bool:
        if self.origin not in _FROM_DIALOG or action.here or can_be_remembered(action.name):
            return True
        return action.is_own and self.names_arguments(action)

    @property
    def _is_bare_call(self) -> bool:
        return self.text.rstrip().endswith("()")

    @property
    def _parts(self) -> tuple[str, tuple[Condition, ...]]:
        return _parse(self.text)

    def _names(self, action: Action) -> bool:
        if is_wrapper(action.name):
            return False
        if not action.wrapped:
            return any(fnmatchcase(name, self.tool) for name in (action.name, action.tool))
        # The name of a server covers the tools that it lists itself, not all that one of them can run.
        name = action.tool if _NAMES_TOOL_OF_SERVER.match(self.tool) else action.name
        return fnmatchcase(name, self.tool)


def rule_for(rules: Iterable[Rule], effect: Effect, action: Action, folder: Path) -> Rule | None:
    """The first rule with this effect that matches an action."""
    return next((rule for rule in rules if rule.effect == effect and rule.matches(action, folder)), None)


def check(text: str) -> str | None:
    """What is wrong with the text of a rule, in a sentence; None if it can be used."""
    try:
        _parse(text)
    except ValueError as error:
        return str(error)
    return None


# Every call is compared with every rule, and the stored ones are made anew for each.
@lru_cache(4_096)
def _parse(text: str) -> tuple[str, tuple[Condition, ...]]:
    if len(text) > LONGEST_RULE:
        raise ValueError(f"A rule has at most {LONGEST_RULE:,} characters.")
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            "Write TOOL or TOOL(argument=pattern), such as GMAIL_SEND_EMAIL(to=*@ourfirm.example)."
        )
    tool, given = found["tool"], found["given"]
    if given is None or (given == "" and tool not in MAIN_ARGUMENTS):
        return tool, ()
    positional = MAIN_ARGUMENTS.get(tool)
    if positional is not None and not given.startswith(f"{positional}="):
        return tool, (condition(tool, positional, given.strip()),)
    return tool, tuple(condition(tool, name, pattern) for name, pattern in conditions_in(given))
