"""The pages of the setup: the ways to a model, what each asks for, and how the trial of it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from core.provider.setup import LOCAL_URL, SetupInput, SetupMethod, normalize_address, normalize_key
from tui.screens.requests.arguments import reveal

__all__ = ["FORMS", "WAYS", "Form", "FormField", "FormText", "MessagePage", "WayRow", "paragraphs"]

WAYS = (
    ("anthropic", "Anthropic API key", "paid for by use"),
    ("login", "Claude login", "with a Pro, Max or Team plan"),
    ("zai", "Z.AI", "the GLM models, with a key of theirs"),
    ("server", "Local or other server", "Ollama, LM Studio, llama.cpp, gateways"),
    ("demo", "Demo", "a scripted session, without any key"),
)
"""The ways in their order: name, title, and for whom it is."""
_TITLE_WIDTH = max(len(title) for _, title, _ in WAYS)


class WayRow(Button):
    """A way to choose, on a line of its own."""

    def __init__(self, number: int, name: str, title: str, meaning: str) -> None:
        words = Content.assemble(
            (f"{number}", "bold $accent"), f"  {title:<{_TITLE_WIDTH}}  ", (meaning, "$text-muted")
        )
        super().__init__(words, id=name, compact=True)
        # While a button looks pressed Textual ignores it: an early click would swallow the one that counts.
        self.active_effect_duration = 0


class FormField(Input):
    """A line to write or paste into; what is pasted is tidied, and a hidden one can be neither read nor copied."""

    def __init__(
        self, field: str, text: str, tidy: Callable[[str], str], example: str, *, hidden: bool
    ) -> None:
        super().__init__(text, example, password=hidden, compact=True, select_on_focus=False)
        self.field = field
        self._tidied = tidy

    @property
    def text(self) -> str:
        """What was entered, tidied."""
        return self._tidied(self.value)

    def _on_paste(self, event: events.Paste) -> None:
        # Textual's own takes the first line, which of a key that was copied with a line end before it is none.
        event.prevent_default()
        event.stop()
        text = self._tidied(event.text)
        if self.selection.is_empty:
            self.insert_text_at_cursor(text)
        else:
            self.replace(text, *self.selection)

    def action_copy(self) -> None:
        """Copy what is selected, unless it is hidden."""
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        """Cut what is selected; what is hidden is only deleted."""
        if self.password:
            self.delete_selection()
        else:
            super().action_cut()


@dataclass(frozen=True)
class FormText:
    """The words of a form: what it is for, where things come from, and its lines: field, label, example."""

    title: str
    where: str
    lines: tuple[tuple[str, str, str], ...]


FORMS: dict[SetupMethod, FormText] = {
    "anthropic": FormText(
        "Anthropic API key",
        "Keys are made at console.anthropic.com, under API keys.",
        (("key", "Key", "paste it here; it is not shown"),),
    ),
    "zai": FormText(
        "Z.AI",
        "Keys are made at z.ai, under API keys. Without a model Z.AI takes the one it deems right.",
        (("key", "Key", "paste it here; it is not shown"), ("model", "Model", "may be empty")),
    ),
    "server": FormText(
        "Local or other server",
        "Any server that speaks the Anthropic Messages API: Ollama, LM Studio, llama.cpp, a gateway. "
        "An empty address is that of Ollama on this machine.",
        (
            ("address", "Address", LOCAL_URL),
            ("model", "Model", "as the server names it"),
            ("key", "Token", "only where the server wants one; it is not shown"),
        ),
    ),
}
_TIDY: dict[str, Callable[[str], str]] = {
    "key": normalize_key,
    "address": normalize_address,
    "model": str.strip,
}


class Form(Vertical):
    """Asks for what one way needs; what was written stays in it."""

    def __init__(self, way: SetupMethod, known: SetupInput) -> None:
        super().__init__(id=f"page-{way}", classes="page")
        self.way = way
        self._known = known
        self._text = FORMS[way]

    def compose(self) -> ComposeResult:
        """Put down what it is for, the lines, and where it will be stored."""
        yield Static(Content(self._text.title), classes="heading")
        yield Static(Content(self._text.where), classes="facts")
        with Vertical(classes="entries"):
            for field, label, example in self._text.lines:
                with Horizontal():
                    yield Static(Content(label), classes="label")
                    yield FormField(
                        field, getattr(self._known, field), _TIDY[field], example, hidden=field == "key"
                    )
        yield Static(classes="wrong")
        yield Static(classes="advice")

    def fill_in(self) -> None:
        """Write the address that is offered into its line, when that is empty."""
        for entry in self.query(FormField):
            if entry.field == "address" and not entry.text:
                entry.value = entry.placeholder

    @property
    def given(self) -> SetupInput:
        """What was entered."""
        return SetupInput(**{entry.field: entry.text for entry in self.query(FormField)})

    def begin(self, stored: str) -> None:
        """Say where things will be stored, and have the first line written in."""
        self.query_one(".advice", Static).update(Content(reveal(stored)))
        self.query(FormField).first().focus()

    def tell(self, field: str, wrong: str) -> None:
        """Say what is wrong with a line, and go there."""
        self.query_one(".wrong", Static).update(Content(reveal(wrong)))
        for entry in self.query(FormField):
            if entry.field == field:
                entry.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """What was wrong is being put right."""
        event.stop()
        self.query_one(".wrong", Static).update("")


class MessagePage(Vertical):
    """A heading, and paragraphs that are told below it."""

    def __init__(self, id: str) -> None:
        super().__init__(Static(classes="heading"), Static(classes="facts"), id=id, classes="page")

    def say(self, heading: str, *said: str, warnings: Sequence[str] = ()) -> None:
        """Say something else."""
        self.query_one(".heading", Static).update(Content(reveal(heading)))
        self.query_one(".facts", Static).update(paragraphs(said, warnings))


def paragraphs(said: Sequence[str], warnings: Sequence[str] = (), gap: str = "\n\n") -> Content:
    """Set out paragraphs with a gap between them, warnings last and marked; text is shown as it is."""
    told = [Content(reveal(each)) for each in said if each]
    told += [Content.assemble(("⚠ ", "bold $warning"), reveal(each)) for each in warnings]
    return Content(gap).join(told)
