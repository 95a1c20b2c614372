"""Which tool calls run, which are denied and which wait for a person's answer.

Rules apply to what a call would really run: a call that wraps others (`MULTI_EXECUTE`) is judged by every tool inside
it, so that a rule on the wrapper's name never allows anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.permissions.actions import (
    TOOLS,
    Action,
    OfTool,
    actions_of,
    is_outbound,
    is_wrapper,
    server_of,
    short_name,
)
from ua_tui.core.agent.permissions.arguments import Arguments
from ua_tui.core.agent.permissions.rules import Effect, Rule, rule_for
from ua_tui.core.errors import PathRefused
from ua_tui.core.events.types import ASK_USER, EXIT_PLAN
from ua_tui.core.storage.kinds import check_writable


class Judgement(msgspec.Struct, frozen=True):
    """A verdict, its reason, the tools it is about, and the rule that decided, if one did."""

    verdict: Effect
    reason: str
    subjects: tuple[str, ...] = ()
    rule: Rule | None = None


KNOWLEDGE_TOOLS = frozenset(TOOLS["knowledge"])
"""The tools that read what earlier sessions found."""
HARMLESS = KNOWLEDGE_TOOLS | set(TOOLS["harmless"])
PAGE_READERS = frozenset(TOOLS["page_readers"])
READERS: Mapping[str, str] = TOOLS["readers"]
PLANNABLE = HARMLESS | PAGE_READERS | set(TOOLS["plannable"]) | set(READERS)
"""The tools that only read, with which a plan can be made."""
PLAN_DENIAL = (
    "The session is in plan mode: only tools that read or search may run, and nothing is written or sent. "
    f"Write the complete plan in your message, then call {EXIT_PLAN}."
)
_ELSEWHERE = "it is outside the session's folder, and only the settings of this machine can allow such files"
HOUSEKEEPING = frozenset(TOOLS["housekeeping"])
CONNECTING = frozenset({"COMPOSIO_MANAGE_CONNECTIONS"})
# The server whose tools have the names above and below; other servers may use any names.
_ROUTER = "composio"
SEARCH_TOOLKITS = tuple(TOOLS["search_toolkits"])


def is_search(subject: str) -> bool:
    """Whether a tool only searches the public web."""
    return subject.upper().startswith(SEARCH_TOOLKITS) and not is_outbound(subject)


class PermissionPolicy(msgspec.Struct):
    """Judges calls: of what `judge` looks at in turn, the first that decides counts.

    Rules that deny come first and hold in every mode, then rules that ask. `mode` may change at any time: in `plan`
    only what reads or searches runs, until a plan is approved; in `acceptEdits` files of the workspace may be edited,
    and in `bypassPermissions` everything else runs. The built-in readers may see only `workspace` and the folders
    `readable`. `taint` gives reasons to ask that lie in what the agent has read. `describe` adds to an action what is
    known of the MCP server of its tool, and `offers` says whether a server offers a tool: (server, tool) -> bool.
    `repeats` gives the reason to ask about an action that was done before this session was forked; it asks in every
    mode, and whatever the rules allow.

    `elsewhere` are the rules that alone allow the built-in tools to open files outside of these folders: whoever wrote
    the query, and answers, has no right to them. With None any rule and any answer does.
    """

    workspace: Path
    rules: Iterable[Rule] = ()
    mode: str = "default"
    readable: tuple[Path, ...] = ()
    taint: Callable[[Action], str | None] = lambda _action: None
    elsewhere: tuple[Rule, ...] | None = None
    describe: Callable[[Action], Action] = lambda action: action
    offers: OfTool = lambda _server, _tool: True
    repeats: Callable[[Action], str | None] = lambda _action: None

    def actions_of(self, tool_name: str, tool_input: Arguments) -> tuple[Action, ...]:
        """What a call would really run, with what is known of the servers."""
        return tuple(map(self.describe, actions_of(tool_name, tool_input)))

    def would_allow(self, action: Action, rule: Rule, *, here: bool = False) -> bool:
        """Whether an action would run unasked by this rule, if there were one; with `here` if its server acted here."""
        describe = self.describe if not here else lambda action: replace(action, here=True)
        changed = replace(self, rules=(*self.rules, rule), describe=describe)
        judged = changed.judge(action.tool, action.arguments or {})
        return judged.verdict == "allow" and rule.matches(describe(action), self.workspace)

    def judge(self, tool_name: str, tool_input: Arguments) -> Judgement:
        """Decide what happens to a call."""
        actions = self.actions_of(tool_name, tool_input)
        everything = (*actions, Action(tool_name, tool_input))
        verdict, reason, rule = self._decided(tool_name, tool_input, actions, everything)
        return Judgement(verdict, reason, tuple(dict.fromkeys(each.name for each in actions)), rule)

    def _decided(
        self, tool: str, given: Arguments, actions: Sequence[Action], everything: Sequence[Action]
    ) -> tuple[Effect, str, Rule | None]:
        if (rule := self._first_rule("deny", everything)) is not None:
            return "deny", f"the rule {rule.text} denies it", rule
        if not self.offers(server_of(tool), short_name(tool)):
            return "deny", "the setting `tools` of its server does not offer it", None
        if self._is_elsewhere(tool, given):
            # Whoever wrote the query has no right to files of this machine.
            return "deny", _ELSEWHERE, None
        if tool == ASK_USER:
            return "ask", "the agent asks you", None
        if tool == EXIT_PLAN and self.mode == "plan":
            return "ask", "the plan is ready", None
        if tool == EXIT_PLAN:
            return "allow", "the session is not in plan mode", None
        # In plan mode a call must be known to only read or search.
        if self.mode == "plan" and not (
            tool in PLANNABLE or all(is_free(each) and each.name not in CONNECTING for each in actions)
        ):
            return "deny", PLAN_DENIAL, None
        if (rule := self._first_rule("ask", everything)) is not None:
            return "ask", f"the rule {rule.text} asks each time", rule
        if (reason := next(filter(None, map(self.repeats, actions)), None)) is not None:
            return "ask", reason, None
        if self.mode == "bypassPermissions":
            return "allow", "every permission check is switched off", None
        if (reason := next(filter(None, map(self._taint_of, actions)), None)) is not None:
            return "ask", reason, None
        if reason := self._harmless(tool, given, actions):
            return "allow", reason, None
        allowing = [self._first_rule("allow", (each,)) for each in actions if not is_free(each)]
        if allowing and all(allowing) and (rule := allowing[0]) is not None:
            by = "allowed for this session" if rule.origin == "session" else "a rule allows it"
            return "allow", by, rule
        return "ask", _why_asked(tool, actions), None

    def _first_rule(self, effect: Effect, actions: Iterable[Action]) -> Rule | None:
        found = (rule_for(self.rules, effect, each, self.workspace) for each in actions)
        return next(filter(None, found), None)

    def _is_elsewhere(self, tool: str, given: Arguments) -> bool:
        """Whether a call opens files that only the settings of this machine may allow, and do not."""
        if self.elsewhere is None or self.mode == "bypassPermissions":
            return False
        reads = tool in READERS and not self._reads_inside(tool, given)
        writes = tool in TOOLS["writers"] and not self._is_inside(given.get("file_path"))
        call = Action(tool, given)
        return (reads or writes) and rule_for(self.elsewhere, "allow", call, self.workspace) is None

    def _taint_of(self, action: Action) -> str | None:
        """A reason to ask in what the agent has read, except where a rule names the destination of the action.

        One that names all its arguments allows what it does with them, but no new address.
        """
        allowing = [
            each for each in self.rules if each.effect == "allow" and each.matches(action, self.workspace)
        ]
        if any(rule.names_destination for rule in allowing):
            return None
        return self.taint(replace(action, named=any(rule.names_arguments(action) for rule in allowing)))

    def _harmless(self, tool: str, given: Arguments, actions: Iterable[Action]) -> str:
        """Why a call needs no rule: it stays in the workspace, only reads the web, or changes nothing; else empty."""
        if tool in TOOLS["writers"] and self.mode == "acceptEdits" and self._may_edit(given.get("file_path")):
            return "it edits inside the workspace"
        if tool in TOOLS["contained"]:
            return "its files stay in the workspace"
        if tool in PAGE_READERS:
            return "it reads a public page, as the crawler does"
        if tool in HARMLESS:
            return "it changes nothing"
        if tool in READERS and self._reads_inside(tool, given):
            return "it reads inside the workspace"
        return "it only searches, or lists available actions" if all(map(is_free, actions)) else ""

    def _reads_inside(self, tool: str, given: Arguments) -> bool:
        pattern = given.get("pattern") if tool == "Glob" else None
        if isinstance(pattern, str) and (pattern.startswith(("/", "~")) or ".." in pattern):
            return False
        asked = given.get(READERS[tool]) or "."
        return any(self._is_inside(asked, root) for root in (self.workspace, *self.readable))

    def _may_edit(self, asked: object) -> bool:
        """Whether a file may be edited unasked: it is in the workspace, no record, and nothing other programs obey."""
        if not isinstance(asked, str) or not self._is_inside(asked):
            return False
        root = self.workspace.resolve()
        path = (root / asked).resolve().relative_to(root).as_posix()
        try:
            check_writable(path)
        except PathRefused:
            return False
        return True

    def _is_inside(self, asked: object, folder: Path | None = None) -> bool:
        # The agent trims blanks and expands `~` before it opens a path.
        if not isinstance(asked, str) or asked != asked.strip() or asked.startswith("~"):
            return False
        try:
            return (
                (self.workspace.resolve() / asked)
                .resolve()
                .is_relative_to((folder or self.workspace).resolve())
            )
        except (OSError, ValueError, RuntimeError):
            return False


def _why_asked(tool: str, actions: Sequence[Action]) -> str:
    if any(is_wrapper(each.name) for each in actions):
        return "what it would run cannot be determined"
    if tool in READERS:
        return "it reads outside the workspace"
    if any(is_outbound(each.name) and not (is_free(each) or each.here) for each in actions):
        return "it can change something outside the workspace"
    return "ua-tui cannot tell whether this tool only reads"


def is_free(action: Action) -> bool:
    """Whether an action needs no rule, because it only searches, or lists available actions."""
    return action.server == _ROUTER and (action.name in HOUSEKEEPING or is_search(action.name))
