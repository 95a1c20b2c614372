"""The dialog in which the agent asks the person something: one of several answers, some of them, or a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from ua_tui.core.agent.permissions.gate import PermissionReply
from ua_tui.core.events.types import PermissionAsked
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.screens.requests.arguments import reveal
from ua_tui.tui.screens.requests.text_answer import TextAnswer, WritingDialog
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, Words

_EXPLAINED = "The agent receives your answer exactly as you write it."


@dataclass(frozen=True)
class AgentQuestion:
    """A question as the agent wrote it: its text, answers with a description each, whether several count, its topic."""

    text: str
    options: tuple[tuple[str, str], ...]
    several: bool
    header: str = ""


def agent_questions(event: PermissionAsked) -> list[AgentQuestion]:
    """Return the questions that the agent asks; what is malformed is left out, and each question is there once."""
    found: dict[str, AgentQuestion] = {}
    asked = event.input.get("questions")
    for each in asked if isinstance(asked, list) else []:
        if isinstance(each, dict) and isinstance(each.get("question"), str):
            given = each.get("options")
            options = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
            rows = tuple((str(row.get("label") or ""), str(row.get("description") or "")) for row in options)
            found[each["question"]] = AgentQuestion(
                each["question"],
                rows,
                each.get("multiSelect") is True,
                clean_line(str(each.get("header") or ""), 40),
            )
    return list(found.values())


class QuestionScreen(WritingDialog[PermissionReply | None]):
    """Shows the questions one after the other; Esc declines. The result None means that it is not answered here."""

    AT_ONCE = Dialog.AT_ONCE | {"mark"}
    RETURNS_TO = "#options"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("QuestionScreen"),
        *(Binding(str(number), f"pick({number})", show=False) for number in range(1, 10)),
    ]
    _rows = getters.query_one(LetterKeyList)

    def __init__(self, event: PermissionAsked) -> None:
        super().__init__()
        self.event = event
        self._questions = agent_questions(event) or [
            AgentQuestion("The question cannot be shown.", (), several=False)
        ]
        self._answers: dict[str, str] = {}
        self._marked: set[int] = set()

    @property
    def _question(self) -> AgentQuestion:
        return self._questions[min(len(self._answers), len(self._questions) - 1)]

    def compose(self) -> ComposeResult:
        """Create the question, its answers and the keys."""
        with Box("Question", "-asks"):
            yield Words(kind="heading", id="question")
            yield LetterKeyList(id="options")
            yield Foot(
                Choice("Enter", "Answer", "accept"),
                Choice("Space", "Mark", "mark"),
                Choice("t", "Write", "write"),
                Choice("←", "Back", "previous"),
                *(
                    (Choice("Ctrl+N", "Decline", "decline"), Choice("Esc", "Later", "later", "back"))
                    if self.can_wait
                    else (Choice("Esc", "Decline", "decline"),)
                ),
                id="answers",
            )
            yield TextAnswer(
                "Your answer:", "Answer", lambda text: (_EXPLAINED, bool(text)), most=4_000, id="reasoning"
            )

    def on_mount(self) -> None:
        """Show the first question."""
        self._show_question()

    def is_held_back(self, action: str) -> bool:
        """A number that only marks an answer is not held back."""
        marks = self._question.several and action.startswith("pick")
        return not marks and super().is_held_back(action)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Answer with the row, or with those that are marked."""
        self._choose(event.option_index)

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Answer with a text."""
        event.text_answer.clear()
        self._answer_with(event.text)

    def action_accept(self) -> None:
        """Answer with the row under the cursor, or with those that are marked."""
        if (row := self._rows.highlighted) is not None:
            self._choose(row)

    def action_mark(self) -> None:
        """Mark the row under the cursor, or remove its mark."""
        row = self._rows.highlighted
        if row is not None and self._question.several and self.accepts_answers:
            self._marked ^= {row}
            self._show_rows(row)

    def action_pick(self, number: int) -> None:
        """Choose the row with this number, or mark it if several may be chosen."""
        if number > len(self._question.options) or not self.accepts_answers:
            return
        self._rows.highlighted = number - 1
        if self._question.several:
            self.action_mark()
        else:
            self._choose(number - 1)

    def action_previous(self) -> None:
        """Go back to the question before, to answer it again."""
        if self._answers:
            self._answers.popitem()
            self._show_question()

    def action_back(self) -> None:
        """Close the text line, unless there is nothing else to answer with."""
        if self._question.options:
            super().action_back()
        else:
            self.leave()

    def leave(self) -> None:
        """Decline, or let the question wait."""
        self.wait_or(self.action_decline)

    def action_decline(self) -> None:
        """Do not answer."""
        self.answer(PermissionReply(allow=False))

    def _choose(self, row: int) -> None:
        if self.accepts_answers:
            rows: Sequence[int] = sorted(self._marked) or [row]
            self._answer_with(", ".join(self._question.options[each][0] for each in rows))

    def _answer_with(self, text: str) -> None:
        if not self.accepts_answers:
            return
        self._answers[self._question.text] = text
        if len(self._answers) < len(self._questions):
            self._show_question()
        else:
            given: dict[str, Any] = {**self.event.input, "answers": self._answers}
            self.answer(PermissionReply(allow=True, input=given))

    def _show_question(self) -> None:
        self._marked.clear()
        count = len(self._questions)
        place = f"question {len(self._answers) + 1} of {count}" if count > 1 else ""
        self.show_note(" · ".join(filter(None, (self._question.header, place))))
        self.query_one("#question", Words).update(reveal(self._question.text))
        self.query_one("#mark").display = self._question.several
        self.query_one("#previous").display = bool(self._answers)
        self._show_rows(0)
        if self._question.options:
            self.query_one(TextAnswer).end()
            self._rows.focus()
        else:
            self.query_one(TextAnswer).begin()

    def _show_rows(self, row: int) -> None:
        rows, options = self._rows, self._question.options
        rows.show_rows((self._row(at) for at in range(len(options))), row)
        rows.display = bool(options)

    def _row(self, at: int) -> Content:
        label, description = self._question.options[at]
        mark = ("[x] " if at in self._marked else "[ ] ") if self._question.several else ""
        first = Content.assemble((f"{at + 1} ", "bold $accent"), mark, (reveal(label), "bold"))
        indented = f"\n  {' ' * len(mark)}{reveal(description)}" if description else ""
        return Content.assemble(first, (indented, "$text-on-rows"))
