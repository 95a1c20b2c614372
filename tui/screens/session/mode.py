"""The choice of the permission mode, and the confirmation of the one that skips every check."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from ua_tui.core.events.describe import MODE_RULES
from ua_tui.tui.screens.files.headings import ChoiceScreen
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Words

_IN_USE = "●"
_NAMES = {"default": "ask", "acceptEdits": "allow edits", "bypassPermissions": "allow all"}
_ADVICE = (
    "The mode applies to this session, from the next call on; waiting calls are checked again. "
    "Rules that deny or ask apply in every mode."
)
_SKIP = (
    "Every tool runs without asking, even one that sends, changes or deletes something, and even if a page or an "
    "e-mail tells the agent to. Rules that deny or ask still apply."
)


class ModeScreen(ChoiceScreen[str]):
    """Lists the permission modes; closes with the chosen one, or None. The cursor starts on the current one."""

    def __init__(self, mode: str) -> None:
        width = max(cell_len(_NAMES.get(each, each)) for each in MODE_RULES)
        rows = LetterKeyList(id="modes")
        modes = list(MODE_RULES)
        at = modes.index(mode) if mode in MODE_RULES else 0
        rows.show_rows((_row(each, width, is_current=each == mode) for each in modes), at)
        advice = Words(_ADVICE, "advice")
        super().__init__("Permission mode", rows, modes, "select", advice, leave="cancel")


def _row(mode: str, width: int, *, is_current: bool) -> Content:
    style = "bold $text-error" if mode == "bypassPermissions" else ""
    return Content.assemble(
        (f"{_IN_USE if is_current else ' '} ", "$accent"),
        (f"{_NAMES.get(mode, mode):<{width}}", style),
        "  ",
        (MODE_RULES[mode], "$text-on-rows"),
    )


def confirm_skip() -> ConfirmScreen:
    """The question before all tools run without asking."""
    skip = "Allow all tools without asking?"
    return ConfirmScreen("Permission mode", skip, _SKIP, yes="Allow all", no="Back", risky=True)
