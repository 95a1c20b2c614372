"""The permission dialog: which tool would run, with which arguments, and the possible answers."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from ua_tui.core.agent.permissions.actions import (
    Action,
    actions_of,
    server_of,
    short_name,
)
from ua_tui.core.agent.permissions.gate import REASON_LIMIT, PermissionReply
from ua_tui.core.agent.permissions.policy import is_free
from ua_tui.core.agent.permissions.proposals import exact_pattern, first_word, rules_problem, split_rules
from ua_tui.core.events.types import PermissionAsked
from ua_tui.core.text import as_sentence
from ua_tui.tui.screens.requests.arguments import ArgumentsView, call_lines, reveal, thought_of
from ua_tui.tui.screens.requests.arguments_editor import ArgumentsEditor
from ua_tui.tui.screens.requests.headings import heading_of
from ua_tui.tui.screens.requests.text_answer import TextAnswer, WritingDialog, characters_left
from ua_tui.tui.terminal.foreground import start_in_front
from ua_tui.tui.widgets.dialog import Box, Choice, FactRows, Foot, Words

DENY = PermissionReply(allow=False)
ONCE = PermissionReply(allow=True)
_UNTIL = {
    "session": "Allow for this session, until it ends",
    "folder": "Allow in this folder, until you remove it in /permissions",
    "everywhere": "Allow everywhere, until you remove it in /permissions",
}
_LABELS = {"session": "This session", "folder": "This folder", "everywhere": "Everywhere"}
_FEW_ROWS = [(0, "-few-rows"), (20, "-many-rows")]
_REASON = "write('#reasoning')"
_EXCEPT = "except those that reach beyond this machine or can do anything, which still ask."
_READ_ON = "↓ to read the rest before allowing"
_SUBMIT = {
    "session": "Allow for this session",
    "folder": "Allow in this folder",
    "everywhere": "Allow everywhere",
}


class PermissionScreen(WritingDialog[PermissionReply | None]):
    """Asks about one tool call; Deny has the focus, Esc denies. The result None means that it is not answered here.

    Rules for the session, the folder and everywhere are offered only if one is narrow enough: for a tool that acts
    outside or can do anything, one that names where it may go. Relative paths begin at `folder`.

    What the call does is first, and nothing allows it before the end of that was in view, also after a jump to the end.
    """

    VERTICAL_BREAKPOINTS = _FEW_ROWS
    FIRST = "deny"
    RETURNS_TO = "#deny"

    def __init__(
        self,
        event: PermissionAsked,
        waiting: int = 0,
        folder: Path = Path(),
    ) -> None:
        super().__init__()
        self.event = event
        self._folder = folder
        self._scope = "session"
        self._waiting = waiting
        self._is_read = False
        self._subjects = event.subjects or [short_name(event.tool_name)]
        # A pattern can be judged by eye only if the names have no invisible characters.
        hidden = any(reveal(subject) != subject for subject in self._subjects)
        self._scopes = (
            () if event.once_only or hidden else tuple(each for each in _UNTIL if each in event.scopes)
        )
        self._actions = _in_question(event, self._subjects)
        self._proposed = tuple(event.proposed) or tuple(map(exact_pattern, self._subjects))

    def compose(self) -> ComposeResult:
        """Show what the call does with every argument, then the tool and why it asks, and the answers."""
        event = self.event
        server, tool = _split(event.tool_name)
        subjects = [reveal(subject) for subject in event.subjects]
        runs = [subject for subject in subjects if subject not in (tool, reveal(event.tool_name))]
        facts = [
            ("Tool", f"{tool} ({server})" if server else tool),
            ("Runs", ", ".join(runs)),
            ("Purpose", reveal(thought_of(event.input))),
            ("Why", " ".join(as_sentence(each) for each in reveal(event.reason).split("; ") if each)),
        ]
        with Box("Permission", "-asks"):
            yield Words(heading_of(event.tool_name, event.input, subjects), "heading")
            yield ArgumentsView(call_lines(event.input))
            yield FactRows([row for row in facts if row[1]])
            denials = (Choice("d", "Deny", "deny"), Choice("r", "Deny + reason", "reason", _REASON))
            change = Choice("c", "Change", "change")
            once = Choice("a", "Allow once", "once")
            labels = _LABELS if len(self._scopes) > 1 else _SUBMIT
            rules = [Choice(scope[0], labels[scope], scope, f"remember('{scope}')") for scope in self._scopes]
            waits = [Choice("Esc", "Decide later", "later", "back")] if self.can_wait else []
            if rules or waits:
                yield Vertical(
                    Foot(*denials, change), Foot(once, *rules, *waits, classes="-more"), id="answers"
                )
            else:
                yield Foot(*denials, once, change, id="answers")
            yield TextAnswer(
                "Why do you deny it? The model sees your reason.",
                "Deny",
                lambda text: (characters_left(text, REASON_LIMIT) or "Optional.", True),
                most=REASON_LIMIT,
                id="reasoning",
            )
            yield ArgumentsEditor(event.input, id="changed")
            for scope in self._scopes:
                yield TextAnswer(
                    _UNTIL[scope] + (f", on server {server}:" if server else ":"),
                    _SUBMIT[scope],
                    self._explain_rules,
                    text=" ".join(self._proposed),
                    id="patterns" if scope == "session" else f"patterns-{scope}",
                )

    def on_mount(self) -> None:
        """Show how many more questions wait, and note when the end of what the call does is in view."""
        self.show_waiting(self._waiting)
        for what in ("scroll_y", "virtual_size"):
            # There is no box if the application ends as the dialog comes up.
            for box in self.query(Box):
                self.watch(box, what, self._check_later, init=False)
        self._check_later()

    def on_resize(self, event: events.Resize) -> None:
        """More of it may be in view."""
        self._check_later()

    def _check_later(self) -> None:
        self.call_after_refresh(self._note_read)

    def show_waiting(self, count: int) -> None:
        """Show how many more questions wait, and that there is more to read."""
        self._waiting = count
        parts = ["" if self._is_read else _READ_ON, f"{count} more waiting" if count else ""]
        self.show_note(" · ".join(filter(None, parts)))

    def _note_read(self) -> None:
        # Neither is there yet in a dialog that is still being composed.
        for box, arguments in zip(self.query(Box), self.query(ArgumentsView), strict=False):
            view = arguments.virtual_region
            if view and view.bottom <= box.scroll_offset.y + box.rows_in_view:
                self._is_read = True
        for choice in self.query("#answers Choice").results(Choice):
            choice.disabled = not self._is_read and choice.id not in ("deny", "reason", "later")
        self.show_waiting(self._waiting)

    def _may_allow(self) -> bool:
        """Whether an answer that allows the call counts; what is missing is shown."""
        if self.accepts_answers and not self._is_read:
            # Short, because it may cover a line that is to be read.
            self.notify("Read to the end first: press ↓, Space or End.", timeout=2)
        return self._is_read

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Answer with a text."""
        if event.text_answer.id == "reasoning":
            self.answer(PermissionReply(False, reason=event.text))
        else:
            self.answer(PermissionReply(True, self._scope, patterns=split_rules(event.text)))

    def action_deny(self) -> None:
        """Deny the call."""
        self.answer(DENY)

    def action_once(self) -> None:
        """Allow this call."""
        if self._may_allow():
            self.answer(ONCE)

    def action_remember(self, scope: str) -> None:
        """Ask what is allowed from now on, and where."""
        if scope in self._scopes and not self.is_writing and self._may_allow():
            self._scope = scope
            self.action_write("#patterns" if scope == "session" else f"#patterns-{scope}")

    def leave(self) -> None:
        """Deny, or let the question wait."""
        self.wait_or(self.action_deny)

    def action_change(self) -> None:
        """Let the person change the arguments."""
        if not self.is_writing and self._may_allow():
            self.action_write("ArgumentsEditor")

    def action_allow_changed(self) -> None:
        """Allow the call with the arguments in the field, if they are valid."""
        editor = self.query_one(ArgumentsEditor)
        if editor.display and (changed := editor.changed) is not None:
            given = changed if changed != self.event.input else None
            self.answer(PermissionReply(allow=True, input=given))

    def action_edit_outside(self) -> None:
        """Change the arguments as JSON in the person's editor; a failure leaves the fields unchanged."""
        editor = self.query_one(ArgumentsEditor)
        if editor.display:
            start_in_front(self.app, partial(self._edit_outside, editor))

    async def _edit_outside(self, editor: ArgumentsEditor) -> None:
        from ua_tui.core.errors import UniversalAgentError
        from ua_tui.tui.terminal.programs import edit, edit_draft

        try:
            await editor.edit_outside(lambda text, name: edit_draft(text, partial(edit, self.app), name))
        except UniversalAgentError as error:
            self.warn(str(error))

    def _explain_rules(self, text: str) -> tuple[str, bool]:
        rules = split_rules(text)
        if (problem := rules_problem(rules, self._actions, self._folder)) is not None:
            return problem, False
        if any("(" in rule for rule in rules):
            return "Covers calls with these arguments. You are still asked about others.", True
        if set(rules) == {exact_pattern(subject) for subject in self._subjects}:
            count = "this tool" if len(rules) == 1 else f"these {len(rules)} tools"
            return f"Covers only {count}. Use * to cover more, e.g. {first_word(self._subjects[0])}*", True
        return f"Covers {', '.join(self._subjects)}, and other matching tools, {_EXCEPT}", True


def _in_question(event: PermissionAsked, subjects: Collection[str]) -> list[Action]:
    """The actions that a rule must cover: those in the arguments, as far as they are shown completely."""
    actions = actions_of(event.tool_name, event.input)
    if {action.name for action in actions} != set(subjects):
        server = server_of(event.tool_name)
        actions = tuple(
            Action(f"mcp__{server}__{subject}" if server else subject, event.input) for subject in subjects
        )
    return [replace(action, here=event.acts_here) for action in actions if not is_free(action)]


def _split(tool_name: str) -> tuple[str, str]:
    parts = tool_name.split("__", 2)
    if len(parts) == 3 and parts[0] == "mcp":
        return reveal(parts[1]), reveal(parts[2])
    return "", reveal(tool_name)
