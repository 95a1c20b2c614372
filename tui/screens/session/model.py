"""The choice of the model, its effort and the fallback model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from rich.cells import cell_len
from textual import getters
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ua_tui.core.provider.models import KnownModel, ModelChoice
from ua_tui.core.settings.model import EFFORTS, Effort
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import effort_of, fallback_of, middle_cut, tail_cut
from ua_tui.tui.screens.requests.text_answer import TextAnswer, WritingDialog
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot, Words, fields

_NAME = 22
_GAP = 2
_LONGEST = 200
_IN_USE = "●"
_PRICE = re.compile(r"\$[\d.,]+/\$[\d.,]+")


class ModelScreen(WritingDialog[ModelChoice | None]):
    """Lists models; closes with the choice, or None. The cursor starts on the current model.

    A fallback model applies as soon as it is entered; the effort applies together with the model.

    Args:
        now: the current choice.
        known: the models the agent lists; empty before it is connected.
        apply: applies a choice while the list stays open; returns False if it is refused.
        running: whether a query runs, to which a new choice does not apply.
    """

    AT_ONCE = Dialog.AT_ONCE | {"effort"}
    RETURNS_TO = "#models"
    _list = getters.query_one(LetterKeyList)

    def __init__(
        self,
        now: ModelChoice,
        known: Sequence[KnownModel],
        apply: Callable[[ModelChoice], bool],
        *,
        running: bool = False,
    ) -> None:
        self._now = self._choice = now
        self._apply = apply
        rows = [each for each in known if each.name != "default"]
        if now.model is not None and all(each.name != now.model for each in rows):
            rows.insert(0, KnownModel(now.model, about="from your settings"))
        default = next((each.about for each in known if each.name == "default"), "")
        self._rows = [KnownModel("", "Default", default), *rows]
        later = "A new model applies from the next query. " if running else ""
        when = f"{later}This session only; `ua-tui config set model NAME` makes it the default."
        hint = "Enter select   e effort   o other model…   f fallback…   Esc cancel"
        box = Box(
            "Model",
            "",
            LetterKeyList(*(Option(each.name) for each in self._rows), id="models"),
            Words(id="model-about"),
            Words(kind="facts", id="model-more"),
            Words(when, "advice"),
            Foot(hint=hint, id="answers"),
            TextAnswer(
                "Name of the model, as the server knows it:",
                "Select",
                _explain,
                text=now.model or "",
                most=_LONGEST,
                replaceable=True,
                id="model",
            ),
            TextAnswer(
                "Fallback model, used when the model is overloaded; leave empty for none:",
                "Set fallback",
                self._explain_fallback,
                text=now.fallback or "",
                most=_LONGEST,
                replaceable=True,
                id="fallback",
            ),
        )
        super().__init__(box, requested=True)

    def on_mount(self) -> None:
        """Start on the current model."""
        names = [each.name for each in self._rows]
        wanted = self._choice.model or ""
        self._list.highlighted = names.index(wanted) if wanted in names else 0
        self._list.focus()
        self._show_more()

    def on_resize(self) -> None:
        """Lay out the rows for a new width, once the list has it."""
        self.call_after_refresh(self._lay_out)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show in full what may be cut in the row."""
        about = _about(self._rows[event.option_index])
        self.query_one("#model-about", Words).update(about)

    def _lay_out(self) -> None:
        width = self._list.scrollable_content_region.width
        name = min(_NAME, max(cell_len(_name(each)) for each in self._rows))
        now = self._now.model or ""
        for at, each in enumerate(self._rows):
            row = _row(each, name, width, in_use=each.name == now)
            self._list.replace_option_prompt_at_index(at, row)

    def _show_more(self) -> None:
        effort = effort_of(self._choice.effort)
        if self._choice.effort != self._now.effort:
            effort += f" (was: {effort_of(self._now.effort)}); press Enter on a model to apply"
        rows = [
            ("Current", f"{_IN_USE} {self._now.model or 'default'}"),
            ("Effort", effort),
            ("Fallback", fallback_of(self._choice.fallback)),
        ]
        facts = fields(*((label, clean_line(text, 100)) for label, text in rows))
        self.query_one("#model-more", Words).update(facts)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the model of the row."""
        self.dismiss(replace(self._choice, model=self._rows[event.option_index].name or None))

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Close with the entered model, or apply the entered fallback."""
        if event.text_answer.id == "model":
            self.dismiss(replace(self._choice, model=event.text))
            return
        fallback = event.text or None
        if not self._apply(replace(self._now, fallback=fallback)):
            return
        self._now = replace(self._now, fallback=fallback)
        self._choice = replace(self._choice, fallback=fallback)
        self.action_back()
        self._show_more()

    def action_effort(self) -> None:
        """Change to the next effort level; after the highest comes the default."""
        levels: list[Effort | None] = [None, *EFFORTS]
        at = levels.index(self._choice.effort)
        self._choice = replace(self._choice, effort=levels[(at + 1) % len(levels)])
        self._show_more()

    def leave(self) -> None:
        """Close the dialog without a change."""
        self.dismiss(None)

    def _explain_fallback(self, text: str) -> tuple[str, bool]:
        if not text:
            return "Without a fallback, a query fails if its model stays overloaded.", True
        if text == self._now.model:
            return "This is the model itself. Enter another one.", False
        return _explain(text)


def _explain(text: str) -> tuple[str, bool]:
    if not text:
        return "Enter a name, e.g. claude-sonnet-5 or qwen3:32b.", False
    if " " in text or not text.isprintable():
        return "Model names contain no spaces.", False
    return "", True


def _name(model: KnownModel) -> str:
    return middle_cut(model.name or model.title, _NAME)


def _about(model: KnownModel) -> str:
    return model.about if not model.name else model.about or model.title


def _row(model: KnownModel, name: int, width: int, *, in_use: bool) -> Content:
    """Lay out a model in `width` cells: a mark, its name in `name` cells, a description, and its price at the right."""
    mark = f"{_IN_USE if in_use else ' '} "
    shown = _name(model)
    about, price = _about(model), ""
    if (found := _PRICE.search(about)) is not None:
        about, price = about[: found.start()].rstrip(" ·"), found[0]
    used = cell_len(mark) + name + _GAP + (cell_len(price) + _GAP if price else 0)
    about = tail_cut(about, max(0, width - used))
    space = " " * max(0, width - used - cell_len(about) + _GAP) if price else ""
    return Content.assemble(
        (mark, "$accent"),
        shown + " " * (name - cell_len(shown) + _GAP),
        (about, "$text-on-rows"),
        space,
        (price, "$text-on-rows"),
    )
