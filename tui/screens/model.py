"""What answers: the models the agent lists, any other by its name, how hard it thinks, and what to fall back on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from core.models import KnownModel, ModelChoice
from core.settings import EFFORTS, Effort
from core.text import clean_line
from tui.format import tail_cut
from tui.screens.choice_list import ChoiceList
from tui.screens.closing import Closing
from tui.screens.dialog import NARROW, Box, Foot
from tui.screens.writing import Writing

__all__ = ["ModelScreen"]

_NAME = 22
_LONGEST = 200


class ModelScreen(Closing[ModelChoice | None]):
    """Lists models; closes with what was chosen, or None. The cursor begins on the one that answers now.

    Args:
        now: what answers.
        known: what the agent lists; empty before it is connected.
        running: whether a query runs now, which another choice is too late for.
    """

    HORIZONTAL_BREAKPOINTS = NARROW
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "step('down')", "Down", show=False),
        Binding("k", "step('up')", "Up", show=False),
        Binding("e", "effort", "Effort", show=False),
        Binding("o", "write('model')", "Another model", show=False),
        Binding("f", "write('fallback')", "Fallback", show=False),
        Binding("escape,q", "back", "Leave it", show=False),
    ]

    def __init__(self, now: ModelChoice, known: Sequence[KnownModel], *, running: bool = False) -> None:
        super().__init__()
        self._choice = now
        self._works = running
        rows = [each for each in known if each.name != "default"]
        if now.model is not None and all(each.name != now.model for each in rows):
            rows.insert(0, KnownModel(now.model, about="as it is set"))
        self._rows = [KnownModel("", "As the agent chooses", _of_default(known)), *rows]

    def compose(self) -> ComposeResult:
        """Put down the list, what goes with it, and the lines to write in."""
        with Box(classes="box") as box:
            box.border_title = Content("Model")
            yield ChoiceList(
                *(Option(_told(each)) for each in self._rows), id="models", markup=False, compact=True
            )
            yield Static(id="model-more", classes="facts")
            yield Static(Content(self._when), classes="advice")
            yield Foot(
                hint="Enter use it   e effort   o another by name   f fallback   Esc leave it", id="answers"
            )
            yield Writing(
                "Which model? Its name, as the server knows it.",
                "Use it",
                _explain,
                text=self._choice.model or "",
                most=_LONGEST,
                id="model",
            )
            yield Writing(
                "Which model is to answer when the first one is overloaded? Nothing for none.",
                "Take it",
                self._explain_fallback,
                text=self._choice.fallback or "",
                most=_LONGEST,
                id="fallback",
            )

    def on_mount(self) -> None:
        """Begin with what answers now."""
        names = [each.name for each in self._rows]
        wanted = self._choice.model or ""
        self._list.highlighted = names.index(wanted) if wanted in names else 0
        self._list.focus()
        self._show_more()

    @property
    def _list(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    @property
    def _when(self) -> str:
        now = (
            "The running query keeps its model; another one answers from the next on. " if self._works else ""
        )
        return f"{now}It holds for this session; `ua-tui config set model NAME` keeps it."

    def _show_more(self) -> None:
        effort = self._choice.effort or "as the model chooses"
        rows = [("Effort", effort), ("Fallback", self._choice.fallback or "none")]
        lines = [
            Content.assemble((f"{label:<10}", "$text-muted"), clean_line(text, 100)) for label, text in rows
        ]
        self.query_one("#model-more", Static).update(Content("\n").join(lines))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the model of the row."""
        event.stop()
        self.dismiss(replace(self._choice, model=self._rows[event.option_index].name or None))

    def on_writing_written(self, event: Writing.Written) -> None:
        """Close with the model that was written, or keep the fallback."""
        event.stop()
        if event.writing.id == "model":
            self.dismiss(replace(self._choice, model=event.text))
            return
        self._choice = replace(self._choice, fallback=event.text or None)
        self._end_writing(event.writing)
        self._show_more()

    def on_writing_given_up(self, event: Writing.GivenUp) -> None:
        """Go back to the list."""
        event.stop()
        self.action_back()

    def action_step(self, way: str) -> None:
        """Go to the next model, or to the one before."""
        if way == "down":
            self._list.action_cursor_down()
        else:
            self._list.action_cursor_up()

    def action_effort(self) -> None:
        """Take the next level of effort; after the highest it is the model's to choose again."""
        levels: list[Effort | None] = [None, *EFFORTS]
        at = levels.index(self._choice.effort)
        self._choice = replace(self._choice, effort=levels[(at + 1) % len(levels)])
        self._show_more()

    def action_write(self, which: str) -> None:
        """Have a name written."""
        self.query_one("#answers").display = False
        self.query_one(f"#{which}", Writing).begin()

    def action_back(self) -> None:
        """Leave the line that is written in; with none, leave everything as it is."""
        for writing in self.query(Writing).results(Writing):
            if writing.display:
                self._end_writing(writing)
                return
        self.dismiss(None)

    def _end_writing(self, writing: Writing) -> None:
        writing.end()
        self.query_one("#answers").display = True
        self._list.focus()

    def _explain_fallback(self, text: str) -> tuple[str, bool]:
        if not text:
            return "A query fails when its model stays overloaded.", True
        if text == self._choice.model:
            return "That is the model itself: name another one.", False
        return _explain(text)


def _explain(text: str) -> tuple[str, bool]:
    if not text:
        return "Write a name, such as claude-sonnet-5 or qwen3:32b.", False
    if " " in text or not text.isprintable():
        return "Names of models have no blanks.", False
    return "", True


def _of_default(known: Sequence[KnownModel]) -> str:
    return next((each.about for each in known if each.name == "default"), "")


def _told(model: KnownModel) -> Content:
    shown = tail_cut(model.name or model.title, _NAME)
    about = model.about if not model.name else model.about or model.title
    return Content.assemble(f"{shown:<{_NAME}}  ", (about, "$text-muted"))
