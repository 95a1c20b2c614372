"""The fields of a form that an MCP server asks for: a line to type in, or choices; each with its problem below it."""

from __future__ import annotations

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ua_tui.core.agent.mcp.elicitation import checked_value, field_hint
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import FormField, FormOption
from ua_tui.core.text import as_sentence
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.screens.requests.arguments import reveal, reveal_line
from ua_tui.tui.widgets.choice_list import ChoiceList
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.input_line import InputLine

_YES_NO = (FormOption(value="yes", title="yes"), FormOption(value="no", title="no"))


class FieldRow(Horizontal):
    """One field: its title, what is entered, what may be entered, and what is wrong with it."""

    BINDINGS = bindings("FieldRow")

    def __init__(self, field: FormField) -> None:
        self.field = field
        if field.options or field.kind == "boolean":
            self._entry: FieldChoices | InputLine = FieldChoices(field)
        else:
            example = "hidden" if field.secret else ""
            self._entry = InputLine(_initial(field), example, _one_line, hidden=field.secret)
        mark = ("*", "bold $warning") if field.required else ""
        hint, about = field_hint(field), reveal(field.about)
        parts = [about if not about or about.endswith((".", "?", "!", ":")) else f"{about}."]
        parts.append(as_sentence(hint) if hint else "")
        below = Words(" ".join(filter(None, parts)), "about")
        below.display = bool(field.about or hint)
        super().__init__(
            Words(Content.assemble(reveal_line(field.title), mark), "label"),
            Vertical(self._entry, below, Words(kind="wrong")),
            classes="field",
        )

    def on_mount(self) -> None:
        """Hide the line that says nothing."""
        self._show_problem("")

    @property
    def value(self) -> object:
        """What is entered; None if nothing is."""
        return self._entry.value if isinstance(self._entry, FieldChoices) else self._entry.text

    @property
    def draft(self) -> str:
        """The text that a person has typed; empty for a choice, a default and what is hidden."""
        if isinstance(self._entry, FieldChoices) or self.field.secret:
            return ""
        text = self._entry.text
        return "" if text == _initial(self.field) else text

    @property
    def problem(self) -> str:
        """What is wrong with what is entered; empty if nothing is."""
        try:
            checked_value(self.field, self.value)
        except FormError as error:
            return str(error)
        return ""

    def check(self) -> bool:
        """Show what is wrong with what is entered; returns whether it can be sent."""
        problem = self.problem
        self._show_problem(problem)
        return not problem

    def begin(self, *, scroll: bool = True) -> None:
        """Focus the entry, and scroll to it."""
        self._entry.focus(scroll_visible=scroll)

    def on_input_changed(self, event: InputLine.Changed) -> None:
        """Remove the problem once it is fixed, and show what is typed."""
        if event.input.has_focus:
            self.scroll_visible(animate=False)
        self._recheck()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose a row, or mark it."""
        if isinstance(event.option_list, FieldChoices):
            event.option_list.choose(event.option_index)
        self._recheck()

    def _recheck(self) -> None:
        if self.query_one(".wrong").display:
            self.check()

    def _show_problem(self, problem: str) -> None:
        self.query_one(".wrong", Words).show(f"✗ {problem}" if problem else "")


class FieldChoices(ChoiceList):
    """The choices of a field: one of them, or several; a choice that is not required can be taken back."""

    BINDINGS = bindings("FieldChoices")

    def __init__(self, field: FormField) -> None:
        self._choices = field.options or _YES_NO
        self._field = field
        self._several = field.kind == "choices"
        default = field.default
        if field.kind == "boolean" and default is not None:
            default = "yes" if default else "no"
        chosen = default if isinstance(default, list) else [default]
        self._chosen = {at for at, choice in enumerate(self._choices) if choice.value in chosen}
        super().__init__(*(Option(self._prompt(at)) for at in range(len(self._choices))))

    @property
    def value(self) -> object:
        """What is chosen; None if nothing is."""
        found = [self._choices[at].value for at in sorted(self._chosen)]
        if self._several:
            return found
        if self._field.kind == "boolean":
            return found[0] == "yes" if found else None
        return found[0] if found else None

    def on_mount(self) -> None:
        """Place the cursor on what is chosen."""
        self.highlighted = min(self._chosen, default=0)

    def choose(self, row: int) -> None:
        """Choose a row, or take that back."""
        if self._several:
            self._chosen ^= {row}
        else:
            self._chosen = set() if self._chosen == {row} and not self._field.required else {row}
        for at in range(len(self._choices)):
            self.replace_option_prompt_at_index(at, self._prompt(at))

    def action_cursor_up(self) -> None:
        """Move up, from the first row to the field above."""
        if self.highlighted:
            super().action_cursor_up()
        else:
            self.screen.focus_previous()

    def action_cursor_down(self) -> None:
        """Move down, from the last row to the field below."""
        if self.highlighted == len(self._choices) - 1:
            self.screen.focus_next()
        else:
            super().action_cursor_down()

    def _prompt(self, at: int) -> Content:
        open_, close, sign = ("[", "]", "x") if self._several else ("(", ")", "•")
        mark = f"{open_}{sign if at in self._chosen else ' '}{close} "
        return Content(mark + reveal_line(self._choices[at].title))


def _initial(field: FormField) -> str:
    return "" if field.default is None else _one_line(str(field.default))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines()).strip()
