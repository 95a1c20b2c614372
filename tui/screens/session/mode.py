"""The choice of the permission mode, and the confirmation of the one that skips every check."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ua_tui.core.events.describe import MODE_RULES
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot

_IN_USE = "●"
_NAMES = {"default": "ask", "acceptEdits": "allow edits", "bypassPermissions": "allow all"}
_ADVICE = (
    "The mode applies to this session, from the next call on; waiting calls are judged again. "
    "Rules that deny or ask apply in every mode."
)
_SKIP = (
    "Every tool runs without asking, even one that sends, changes or deletes something, and even if a page or an "
    "e-mail tells the agent to. Rules that deny or ask still apply."
)


class ModeScreen(Dialog[str | None]):
    """Lists the permission modes; closes with the chosen one, or None. The cursor starts on the current one."""

    BINDINGS = bindings("ModeScreen")

    def __init__(self, mode: str) -> None:
        super().__init__(requested=True)
        self._mode = mode

    def compose(self) -> ComposeResult:
        """Create the list."""
        width = max(cell_len(_name(mode)) for mode in MODE_RULES)
        with Box("Permission mode"):
            yield LetterKeyList(
                *(Option(self._row(mode, rule, width), id=mode) for mode, rule in MODE_RULES.items()),
                id="modes",
            )
            yield Static(Content(_ADVICE), classes="advice")
            yield Foot(hint="Enter select   Esc cancel", id="answers")

    def _row(self, mode: str, rule: str, width: int) -> Content:
        mark = _IN_USE if mode == self._mode else " "
        style = "bold $text-error" if mode == "bypassPermissions" else ""
        return Content.assemble(
            (f"{mark} ", "$accent"), (f"{_name(mode):<{width}}", style), "  ", (rule, "$text-on-rows")
        )

    def on_mount(self) -> None:
        """Start on the current mode."""
        modes = self.query_one(LetterKeyList)
        modes.highlighted = list(MODE_RULES).index(self._mode) if self._mode in MODE_RULES else 0
        modes.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the mode of the row."""
        event.stop()
        self.dismiss(event.option_id)


def confirm_skip() -> ConfirmScreen:
    """The question before all tools run without asking."""
    skip = "Allow all tools without asking?"
    return ConfirmScreen("Permission mode", skip, _SKIP, yes="Allow all", no="Back", risky=True)


def _name(mode: str) -> str:
    return _NAMES.get(mode, mode)
