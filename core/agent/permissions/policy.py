"""Which tool calls run, which are denied and which wait for a person's answer.

Rules apply to what a call would really run: a call that wraps others (`MULTI_EXECUTE`) is judged by every tool inside
it, so that a rule on the wrapper's name never allows anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from ua_tui.core.agent.output_schema import OUTPUT_TOOL
from ua_tui.core.agent.permissions.actions import Action, actions_of, is_outbound, is_wrapper
from ua_tui.core.agent.permissions.rules import Effect, Rule, rule_for
from ua_tui.core.errors import PathRefused
from ua_tui.core.events.types import ASK_USER, EXIT_PLAN, LIST_RESOURCES, READ_RESOURCE
from ua_tui.core.storage.kinds import check_writable


class Verdict(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True)
class Judgement:
    """A verdict, its reason, the tools it is about, and the rule that decided, if one did."""

    verdict: Verdict
    reason: str
    subjects: tuple[str, ...] = ()
    rule: Rule | None = None


@dataclass(frozen=True)
class _Call:
    tool: str
    input: Mapping[str, Any]
    actions: tuple[Action, ...]
    subjects: tuple[str, ...]

    @classmethod
    def of(cls, tool_name: str, tool_input: Mapping[str, Any], actions: tuple[Action, ...]) -> _Call:
        return cls(tool_name, tool_input, actions, tuple(dict.fromkeys(each.name for each in actions)))

    @property
    def itself(self) -> Action:
        return Action(self.tool, self.input)

    def judged(self, verdict: Verdict, reason: str, rule: Rule | None = None) -> Judgement:
        return Judgement(verdict, reason, self.subjects, rule)


CONTAINED = frozenset(
    {
        "mcp__local_toolkit__crawl_parallel",
        "mcp__local_toolkit__save_corpus",
        "mcp__local_toolkit__write_local_file",
        "mcp__local_toolkit__read_local_file",
        "mcp__local_toolkit__list_directory",
        # It only downloads a file; uploads ask.
        "mcp__local_toolkit__workbench_download",
    }
)
KNOWLEDGE_TOOLS = frozenset(
    f"mcp__local_toolkit__{name}" for name in ("knowledge_search", "knowledge_read", "knowledge_sources")
)
"""The tools that read what earlier sessions found."""
HARMLESS = frozenset(
    {
        "Agent",
        "Skill",
        "Task",
        "TodoWrite",
        "ToolSearch",
        "WebSearch",
        LIST_RESOURCES,
        OUTPUT_TOOL,
        *KNOWLEDGE_TOOLS,
    }
)
PAGE_READERS = frozenset({"mcp__web_reader__webReader"})
READERS = {"Read": "file_path", "Glob": "path", "Grep": "path"}
PLANNABLE = frozenset(
    {
        "mcp__local_toolkit__read_local_file",
        "mcp__local_toolkit__list_directory",
        "WebFetch",
        READ_RESOURCE,
        *HARMLESS,
        *PAGE_READERS,
        *READERS,
    }
)
"""The tools that only read, with which a plan can be made."""
PLAN_DENIAL = (
    "The session is in plan mode: only tools that read or search may run, and nothing is written or sent. "
    f"Write the complete plan in your message, then call {EXIT_PLAN}."
)
WRITERS = frozenset({"Write", "Edit"})
HOUSEKEEPING = frozenset(
    {
        "COMPOSIO_SEARCH_TOOLS",
        "COMPOSIO_GET_TOOL_SCHEMAS",
        "COMPOSIO_MANAGE_CONNECTIONS",
        "COMPOSIO_WAIT_FOR_CONNECTIONS",
    }
)
CONNECTING = frozenset({"COMPOSIO_MANAGE_CONNECTIONS"})
# The server whose tools have the names above and below; other servers may use any names.
_ROUTER = "composio"
SEARCH_TOOLKITS = (
    "COMPOSIO_SEARCH_",
    "SERPAPI_",
    "SERPER_",
    "TAVILY_",
    "EXA_",
    "BRAVE_",
    "BRAVE_SEARCH_",
    "PERPLEXITYAI_",
    "LINKUP_",
    "YOU_SEARCH",
    "FIRECRAWL_SEARCH",
)


def is_search(subject: str) -> bool:
    """Whether a tool only searches the public web."""
    return subject.upper().startswith(SEARCH_TOOLKITS) and not is_outbound(subject)


@dataclass
class PermissionPolicy:
    """Judges calls, in steps of which the first that decides counts.

    Rules that deny come first and hold in every mode, then rules that ask. `mode` may change at any time: in `plan`
    only what reads or searches runs, until a plan is approved; in `acceptEdits` files of the workspace may be edited,
    and in `bypassPermissions` everything else runs. The built-in readers may see only `workspace` and the folders
    `readable`. `taint` gives reasons to ask that lie in what the agent has read. `describe` adds to an action what is
    known of the MCP server of its tool.

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

    def actions_of(self, tool_name: str, tool_input: Mapping[str, Any]) -> tuple[Action, ...]:
        """What a call would really run, with what is known of the servers."""
        return tuple(map(self.describe, actions_of(tool_name, tool_input)))

    def would_allow(self, action: Action, rule: Rule, *, here: bool = False) -> bool:
        """Whether an action would run unasked by this rule, if there were one; with `here` if its server acted here."""
        describe = self.describe if not here else lambda action: replace(action, here=True)
        changed = replace(self, rules=(*self.rules, rule), describe=describe)
        judged = changed.judge(action.tool, action.arguments or {})
        return judged.verdict is Verdict.ALLOW and rule.matches(describe(action), self.workspace)

    def judge(self, tool_name: str, tool_input: Mapping[str, Any]) -> Judgement:
        """Decide what happens to a call."""
        call = _Call.of(tool_name, tool_input, self.actions_of(tool_name, tool_input))
        for step in (
            self.denied_by_rule,
            self.denied_elsewhere,
            self.judged_as_question,
            self.judged_as_plan,
            self.denied_in_plan_mode,
            self.asked_by_rule,
            self.allowed_in_skip_mode,
            self.asked_for_taint,
            self.allowed_without_rule,
            self.allowed_by_rule,
        ):
            if (judgement := step(call)) is not None:
                return judgement
        return self._asked(call)

    def denied_by_rule(self, call: _Call) -> Judgement | None:
        """Deny a call if a rule denies any of its actions."""
        for action in (*call.actions, call.itself):
            if (rule := self._rule_for("deny", action)) is not None:
                return call.judged(Verdict.DENY, f"the rule {rule.text} denies it", rule)
        return None

    def denied_elsewhere(self, call: _Call) -> Judgement | None:
        """Deny files of this machine that only its user may allow, and did not."""
        if self.elsewhere is None or self.mode == "bypassPermissions":
            return None
        reads = call.tool in READERS and not self._reads_inside(call.tool, call.input)
        if not reads and not (call.tool in WRITERS and not self._is_inside(call.input.get("file_path"))):
            return None
        if rule_for(self.elsewhere, "allow", call.itself, self.workspace) is not None:
            return None
        return call.judged(
            Verdict.DENY,
            "it is outside of the session's folder, where only the settings of this machine can allow files",
        )

    def judged_as_question(self, call: _Call) -> Judgement | None:
        """Let the agent ask the person something, whatever the mode."""
        return call.judged(Verdict.ASK, "the agent asks you") if call.tool == ASK_USER else None

    def judged_as_plan(self, call: _Call) -> Judgement | None:
        """Ask about the plan that ends plan mode; in another mode there is nothing left to approve."""
        if call.tool != EXIT_PLAN:
            return None
        if self.mode == "plan":
            return call.judged(Verdict.ASK, "the plan is ready")
        return call.judged(Verdict.ALLOW, "the session is not in plan mode")

    def denied_in_plan_mode(self, call: _Call) -> Judgement | None:
        """Deny what is not known to only read or search while the agent plans."""
        if self.mode != "plan" or call.tool in PLANNABLE:
            return None
        if all(is_free(action) and action.name not in CONNECTING for action in call.actions):
            return None
        return call.judged(Verdict.DENY, PLAN_DENIAL)

    def asked_by_rule(self, call: _Call) -> Judgement | None:
        """Ask about a call if a rule asks about any of its actions."""
        for action in (*call.actions, call.itself):
            if (rule := self._rule_for("ask", action)) is not None:
                return call.judged(Verdict.ASK, f"the rule {rule.text} asks each time", rule)
        return None

    def allowed_in_skip_mode(self, call: _Call) -> Judgement | None:
        """Allow everything that no rule denies or asks about, if every check is switched off."""
        if self.mode == "bypassPermissions":
            return call.judged(Verdict.ALLOW, "every permission check is switched off")
        return None

    def asked_for_taint(self, call: _Call) -> Judgement | None:
        """Ask if what the agent has read is a reason to, except where a rule names the destination of the action.

        One that names all its arguments allows what it does with them, but no new address.
        """
        for action in call.actions:
            allowing = [
                each for each in self.rules if each.effect == "allow" and each.matches(action, self.workspace)
            ]
            if any(rule.names_destination for rule in allowing):
                continue
            named = any(rule.names_arguments(action) for rule in allowing)
            if (reason := self.taint(replace(action, named=named))) is not None:
                return call.judged(Verdict.ASK, reason)
        return None

    def allowed_without_rule(self, call: _Call) -> Judgement | None:
        """Allow what cannot leave the workspace, only reads the public web, or changes nothing."""
        if reason := self._harmless(call):
            return call.judged(Verdict.ALLOW, reason)
        return None

    def allowed_by_rule(self, call: _Call) -> Judgement | None:
        """Allow a call if rules allow each of its actions that needs one."""
        allowing = [self._rule_for("allow", action) for action in call.actions if not is_free(action)]
        rule = next(filter(None, allowing), None)
        if rule is None or not all(allowing):
            return None
        reason = "allowed for this session" if rule.origin == "session" else "an allow pattern names it"
        return call.judged(Verdict.ALLOW, reason, rule)

    def _asked(self, call: _Call) -> Judgement:
        if any(is_wrapper(action.name) for action in call.actions):
            return call.judged(Verdict.ASK, "what it would run cannot be determined")
        if call.tool in READERS:
            return call.judged(Verdict.ASK, "it reads outside the workspace")
        if any(is_outbound(action.name) and not (is_free(action) or action.here) for action in call.actions):
            return call.judged(Verdict.ASK, "it can change something outside the workspace")
        return call.judged(Verdict.ASK, "ua-tui cannot tell whether this tool only reads")

    def _rule_for(self, effect: Effect, action: Action) -> Rule | None:
        return rule_for(self.rules, effect, action, self.workspace)

    def _harmless(self, call: _Call) -> str:
        """Why a call needs no rule; empty if it does."""
        tool, given = call.tool, call.input
        if tool in WRITERS and self.mode == "acceptEdits" and self._may_edit(given.get("file_path")):
            return "it edits inside the workspace"
        if tool in CONTAINED:
            return "its files stay in the workspace"
        if tool in PAGE_READERS:
            return "it reads a public page, as the crawler does"
        if tool in HARMLESS:
            return "it changes nothing"
        if tool in READERS and self._reads_inside(tool, given):
            return "it reads inside the workspace"
        if all(is_free(action) for action in call.actions):
            return "it only searches or asks what can be done"
        return ""

    def _reads_inside(self, tool: str, given: Mapping[str, Any]) -> bool:
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


def is_free(action: Action) -> bool:
    """Whether an action needs no rule, because it only searches or asks what can be done."""
    return action.server == _ROUTER and (action.name in HOUSEKEEPING or is_search(action.name))
