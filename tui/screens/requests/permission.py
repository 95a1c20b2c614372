"""The permission dialog: which tool would run, with which arguments, and the possible answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from core.agent.permissions.actions import can_be_remembered, server_of, short_name
from core.agent.permissions.gate import REASON_LIMIT
from core.agent.permissions.patterns import (
    SessionPattern,
    exact_pattern,
    first_word,
    pattern_problem,
    split_patterns,
)
from core.events.types import PermissionAsked
from tui.keys.places import KeyPlace, key_binding
from tui.screens.requests.arguments import ArgumentsView, call_lines, inner_tools, reveal
from tui.screens.requests.text_answer import TextAnswer
from tui.widgets.dialog import Box, Choice, Dialog, Foot, fields

__all__ = ["PermissionAnswer", "PermissionScreen"]


@dataclass(frozen=True)
class PermissionAnswer:
    """The person's decision.

    `scope` is `once` or `session`; `patterns` say what the latter covers, `reason` why the call is denied.
    """

    allow: bool
    scope: str = "once"
    reason: str = ""
    patterns: tuple[str, ...] = ()


DENY = PermissionAnswer(allow=False)
ONCE = PermissionAnswer(allow=True)
MOST_NAMED = 4


class PermissionScreen(Dialog[PermissionAnswer | None]):
    """Asks about one tool call; Deny has the focus, Esc denies. The result None means that it was answered elsewhere.

    "For this session" is offered only if the call runs no tool that acts outside or can do anything. `seen` are the
    tools that ran in this session, each with its server; they show what a pattern would cover.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("When a tool needs permission")
    FIRST = "deny"
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("permission.deny", "d", "deny", "deny"),
        key_binding("permission.reason", "r", "reason", "deny with a reason for the model"),
        key_binding("permission.once", "a", "once", "allow once"),
        key_binding("permission.session", "s", "session", "allow for this session, by a pattern"),
        key_binding("permission.back", "escape", "back", "deny"),
    ]

    def __init__(
        self,
        event: PermissionAsked,
        waiting: int = 0,
        seen: Collection[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self.event = event
        self._waiting = waiting
        self._subjects = event.subjects or [short_name(event.tool_name)]
        self._seen = seen
        # A pattern can be judged by eye only if the names have no invisible characters.
        hidden = any(reveal(subject) != subject for subject in self._subjects)
        self._once_only = event.once_only or hidden

    def compose(self) -> ComposeResult:
        """Show the tool, what it would run, every argument, and the answers."""
        event = self.event
        server, tool = _split(event.tool_name)
        subjects = [reveal(subject) for subject in event.subjects] or inner_tools(event.input)
        runs = [subject for subject in subjects if subject not in (tool, reveal(event.tool_name))]
        rows = [("Tool", f"{tool} ({server})" if server else tool)]
        if runs:
            rows.append(("Runs", ", ".join(runs)))
        if event.reason:
            rows.append(("Why", reveal(event.reason)))
        with Box("Permission", "-asks"):
            yield Static(Content(f"Allow {_headline(tool, runs)}?"), classes="heading")
            yield Static(fields(*rows), classes="facts")
            yield ArgumentsView(call_lines(event.input))
            yield Foot(
                Choice("d", "Deny", "deny"),
                Choice("r", "Deny, with a reason", "reason"),
                Choice("a", "Allow once", "once"),
                *([] if self._once_only else [Choice("s", "For this session", "session")]),
                id="answers",
            )
            yield TextAnswer(
                "Why do you deny it? The model sees your reason.",
                "Deny",
                self._explain_reason,
                most=REASON_LIMIT,
                id="reasoning",
            )
            if not self._once_only:
                yield TextAnswer(
                    "Allow for this session" + (f", on server {server}:" if server else ":"),
                    "Allow for this session",
                    self._explain_patterns,
                    text=" ".join(exact_pattern(subject) for subject in self._subjects),
                    id="patterns",
                )

    def on_mount(self) -> None:
        """Show how many more questions wait."""
        self.show_waiting(self._waiting)

    def show_waiting(self, count: int) -> None:
        """Show how many more questions wait."""
        self._waiting = count
        self.show_note(f"{count} more waiting" if count else "")

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Answer with a text."""
        event.stop()
        if event.text_answer.id == "patterns":
            self.answer(PermissionAnswer(True, "session", patterns=split_patterns(event.text)))
        else:
            self.answer(PermissionAnswer(False, reason=event.text))

    def action_deny(self) -> None:
        """Deny the call."""
        self.answer(DENY)

    def action_once(self) -> None:
        """Allow this call."""
        self.answer(ONCE)

    def action_session(self) -> None:
        """Ask what is allowed until the session ends."""
        if not self._once_only:
            self._write("#patterns")

    def action_reason(self) -> None:
        """Ask why the call is denied."""
        self._write("#reasoning")

    def action_back(self) -> None:
        """Close the text line; deny if none is open."""
        if any(line.end() for line in self.query(TextAnswer)):
            self.focus_choice("#deny")
        else:
            self.action_deny()

    def _write(self, which: str) -> None:
        if self.accepts_answers:
            self.query_one(which, TextAnswer).begin()

    def _explain_reason(self, text: str) -> tuple[str, bool]:
        left = f"{REASON_LIMIT - len(text):,} characters left." if len(text) > REASON_LIMIT // 2 else ""
        return left or "Optional.", True

    def _explain_patterns(self, text: str) -> tuple[str, bool]:
        patterns = split_patterns(text)
        if (problem := pattern_problem(patterns, self._subjects)) is not None:
            return problem, False
        if set(patterns) == {exact_pattern(subject) for subject in self._subjects}:
            count = "this tool" if len(patterns) == 1 else f"these {len(patterns)} tools"
            return f"Covers only {count}. Use * to cover more, e.g. {_wider(self._subjects[0])}", True
        return (
            f"Covers {_covered(patterns, self._subjects, server_of(self.event.tool_name), self._seen)}.",
            True,
        )


def _wider(subject: str) -> str:
    return f"{first_word(subject)}*"


def _covered(
    patterns: Collection[str], subjects: Collection[str], server: str, seen: Collection[tuple[str, str]]
) -> str:
    """Describe what patterns cover: the tools of the call, others that ran already, and all others that match."""
    names = [
        name
        for where, name in sorted(seen)
        if where == server
        and name not in subjects
        and can_be_remembered(name)
        and any(SessionPattern(server, pattern).covers(server, name) for pattern in patterns)
    ]
    covered = [*subjects, *(reveal(name) for name in names)]
    more = len(covered) - MOST_NAMED
    listed = ", ".join(covered[:MOST_NAMED]) + (f" and {more} more that ran here" if more > 0 else "")
    return f"{listed}, and any other match except tools that act outside or can do anything: these still ask"


def _split(tool_name: str) -> tuple[str, str]:
    parts = tool_name.split("__", 2)
    if len(parts) == 3 and parts[0] == "mcp":
        return reveal(parts[1]), reveal(parts[2])
    return "", reveal(tool_name)


def _headline(tool: str, runs: list[str]) -> str:
    match runs:
        case []:
            return tool
        case [one]:
            return one
        case [first, *others]:
            return f"{first} and {len(others)} more"
    return tool
