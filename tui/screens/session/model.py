"""What answers: the models the agent lists, any other by its name, how hard it thinks, and what to fall back on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from core.provider.models import KnownModel, ModelChoice
from core.settings.model import EFFORTS, Effort
from core.text import clean_line
from tui.ports import ScreenHost
from tui.render.format import effort_of, fallback_of, middle_cut, tail_cut
from tui.screens.requests.text_answer import TextAnswer
from tui.widgets.choice_list import ChoiceList
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import NARROW, Box, Foot
from tui.widgets.modal import Modal

__all__ = ["COMMAND", "ModelScreen", "open_screen"]

COMMAND = CommandSpec("model", "Model", "Choose the model, effort and fallback", order=20)

_NAME = 22
_GAP = 2
_LONGEST = 200
_IN_USE = "●"
_PRICE = re.compile(r"\$[\d.,]+/\$[\d.,]+")


def open_screen(app: ScreenHost) -> None:
    """Open the choice of the model."""
    app.model_selection.open()


class ModelScreen(Modal[ModelChoice | None]):
    """Lists models; closes with what was chosen, or None. The cursor begins on the one that answers now.

    A model to fall back on is taken as soon as it is written; how hard to think is taken with the model.

    Args:
        now: what answers.
        known: what the agent lists; empty before it is connected.
        take: has something else answer while the list stays; False when that is refused, and told.
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

    def __init__(
        self,
        now: ModelChoice,
        known: Sequence[KnownModel],
        take: Callable[[ModelChoice], bool],
        *,
        running: bool = False,
    ) -> None:
        super().__init__()
        self._now = self._choice = now
        self._take = take
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
                *(Option(each.name) for each in self._rows), id="models", markup=False, compact=True
            )
            yield Static(id="model-about")
            yield Static(id="model-more", classes="facts")
            yield Static(Content(self._when), classes="advice")
            yield Foot(
                hint="Enter use it   e effort   o another by name   f fallback   Esc leave it", id="answers"
            )
            yield TextAnswer(
                "Which model? Its name, as the server knows it.",
                "Use it",
                _explain,
                text=self._choice.model or "",
                most=_LONGEST,
                replaceable=True,
                id="model",
            )
            yield TextAnswer(
                "Which model is to answer when the first one is overloaded? Nothing for none.",
                "Take it",
                self._explain_fallback,
                text=self._choice.fallback or "",
                most=_LONGEST,
                replaceable=True,
                id="fallback",
            )

    def on_mount(self) -> None:
        """Begin with what answers now."""
        names = [each.name for each in self._rows]
        wanted = self._choice.model or ""
        self._list.highlighted = names.index(wanted) if wanted in names else 0
        self._list.focus()
        self._show_more()

    def on_resize(self) -> None:
        """Set the rows out anew for another width; the list has it once that is laid out."""
        self.call_after_refresh(self._set_out)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell in whole what a row has no room for."""
        event.stop()
        about = _about(self._rows[event.option_index])
        self.query_one("#model-about", Static).update(Content(about))

    def _set_out(self) -> None:
        width = self._list.scrollable_content_region.width
        name = min(_NAME, max(cell_len(_name(each)) for each in self._rows))
        now = self._now.model or ""
        for at, each in enumerate(self._rows):
            row = _row(each, name, width, in_use=each.name == now)
            self._list.replace_option_prompt_at_index(at, row)

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
        effort = effort_of(self._choice.effort)
        if self._choice.effort != self._now.effort:
            effort += f" (was: {effort_of(self._now.effort)}); Enter on a model takes it"
        rows = [
            ("In use", f"{_IN_USE} {self._now.model or 'as the agent chooses'}"),
            ("Effort", effort),
            ("Fallback", fallback_of(self._choice.fallback)),
        ]
        lines = [
            Content.assemble((f"{label:<10}", "$text-muted"), clean_line(text, 100)) for label, text in rows
        ]
        self.query_one("#model-more", Static).update(Content("\n").join(lines))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the model of the row."""
        event.stop()
        self.dismiss(replace(self._choice, model=self._rows[event.option_index].name or None))

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Close with the model that was written, or take the fallback."""
        event.stop()
        if event.text_answer.id == "model":
            self.dismiss(replace(self._choice, model=event.text))
            return
        fallback = event.text or None
        if not self._take(replace(self._now, fallback=fallback)):
            return
        self._now = replace(self._now, fallback=fallback)
        self._choice = replace(self._choice, fallback=fallback)
        self._end_writing(event.text_answer)
        self._show_more()

    def on_text_answer_cancelled(self, event: TextAnswer.Cancelled) -> None:
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
        self.query_one(f"#{which}", TextAnswer).begin()

    def action_back(self) -> None:
        """Leave the line that is written in; with none, leave everything as it is."""
        for writing in self.query(TextAnswer).results(TextAnswer):
            if writing.display:
                self._end_writing(writing)
                return
        if self._choice.effort != self._now.effort:
            told = (
                f"The effort stays as it was ({effort_of(self._now.effort)}): Enter on a model takes another."
            )
            self.app.notify(told, markup=False)
        self.dismiss(None)

    def _end_writing(self, writing: TextAnswer) -> None:
        writing.end()
        self.query_one("#answers").display = True
        self._list.focus()

    def _explain_fallback(self, text: str) -> tuple[str, bool]:
        if not text:
            return "A query fails when its model stays overloaded.", True
        if text == self._now.model:
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


def _name(model: KnownModel) -> str:
    return middle_cut(model.name or model.title, _NAME)


def _about(model: KnownModel) -> str:
    return model.about if not model.name else model.about or model.title


def _row(model: KnownModel, name: int, width: int, *, in_use: bool) -> Content:
    """Set out a model in `width` cells: a mark, its name in `name` cells, what it is, and its price at the right."""
    mark = f"{_IN_USE if in_use else ' '} "
    shown = _name(model)
    about, price = _about(model), ""
    if (found := _PRICE.search(about)) is not None:
        about, price = about[: found.start()].rstrip(" ·"), found[0]
    taken = cell_len(mark) + name + _GAP + (cell_len(price) + _GAP if price else 0)
    about = tail_cut(about, max(0, width - taken))
    space = " " * max(0, width - taken - cell_len(about) + _GAP) if price else ""
    return Content.assemble(
        (mark, "$accent"),
        shown + " " * (name - cell_len(shown) + _GAP),
        (about, "$text-on-rows"),
        space,
        (price, "$text-on-rows"),
    )
