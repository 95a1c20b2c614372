"""What the prompt offers to complete: files and resources after an `@`, commands after a `/` that begins the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from ua_tui.core.agent.attachments.mentions import BEGINS, mention_of
from ua_tui.core.events.units import size
from ua_tui.tui.render.format import middle_cut, tail_cut

if TYPE_CHECKING:
    from ua_tui.core.agent.mcp.client import ServerPrompt, ServerResource
    from ua_tui.tui.widgets.command import Command

MOST_OFFERED = 50
ROWS = 8
_FILE = re.compile(BEGINS + r"""(?:"([^"]*)|([^\s"@]*))$""")
_COMMAND = re.compile(r"/([\w:.-]*)$")
_ARGUMENT = re.compile(r"/([\w:.-]+)\s+(\S*)$")


@dataclass(frozen=True)
class Sought:
    """What is being written: `text` of a name of this kind, which begins at `column` (with its `@` or `/`).

    An argument is one of the command with the name `command`.
    """

    kind: Literal["file", "command", "argument"]
    text: str
    column: int
    command: str = ""


@dataclass(frozen=True)
class Offer:
    """One completion: what is shown, and what is inserted or done.

    `written` None means that it cannot be written; `command` is run and not written. What `continues` is the beginning
    of a name. A prompt of a server has `arguments`, empty if it takes none; it is None for everything else.
    """

    shown: str
    detail: str
    written: str | None
    command: Command | None = None
    continues: bool = False
    arguments: str | None = None


def sought_at(row: int, before: str) -> Sought | None:
    """What is being written at the end of `before`, the text of line `row` up to the cursor."""
    if row == 0 and (command := _COMMAND.match(before)) is not None:
        return Sought("command", command[1], 0)
    if (file := _FILE.search(before)) is not None:
        return Sought("file", file[1] if file[1] is not None else file[2], file.start())
    if row == 0 and (argument := _ARGUMENT.match(before)) is not None:
        return Sought("argument", argument[2], argument.start(2), argument[1].casefold())
    return None


def folder_of(typed: str) -> tuple[str, bool]:
    """The folder that a name being written begins with, and whether it continues as that of a hidden file."""
    folder, slash, name = typed.rpartition("/")
    return folder + slash, name.startswith(".")


def server_offers(typed: str, servers: Sequence[str], mark: str) -> list[Offer]:
    """Offer servers whose resources or prompts may be named after the mark, `@` or `/`."""
    kind = "resources" if mark == "@" else "prompts"
    return [
        Offer(f"{mark}{name}:", f"{kind} of the MCP server", f"{mark}{name}:", continues=True)
        for name in servers
        if typed.casefold() in name.casefold()
    ]


def resource_offers(server: str, resources: Sequence[ServerResource]) -> list[Offer]:
    """Offer the resources of a server; of a template its beginning."""
    offers = []
    for each in resources:
        kind = "template" if each.is_template else ""
        bytes_ = size(each.size) if each.size is not None else ""
        facts = (each.title, each.media_type, kind, bytes_)
        detail = " · ".join(fact for fact in facts if fact and fact != each.uri)
        name = f"{server}:{each.uri.partition('{')[0] if each.is_template else each.uri}"
        written = f"@{name}" if each.is_template else mention_of(name)
        offers.append(Offer(each.uri, detail, written, continues=each.is_template))
    return offers


def prompt_offers(server: str, typed: str, prompts: Sequence[ServerPrompt]) -> list[Offer]:
    """Offer the prompts of a server with the words that were typed."""
    found = [each for each in prompts if typed.casefold() in f"{each.name} {each.about}".casefold()]
    return [
        Offer(
            f"/{server}:{each.name}",
            " · ".join(filter(None, (each.about, each.hint))),
            f"/{server}:{each.name}",
            arguments=each.hint,
        )
        for each in found
    ]


def argument_note(prompt: ServerPrompt) -> str:
    """Describe the arguments of a prompt, the required ones first."""
    described = (
        f"{each.name}{'' if each.required else ' (optional)'}{f': {each.about}' if each.about else ''}"
        for each in prompt.arguments
    )
    return " · ".join(described) or "It takes no arguments."


class CompletionList(Widget):
    """A few offers above the prompt, over other panes; the prompt keeps the focus and moves the cursor.

    `choose` is called with the offer that was clicked. `offers` are empty if there is only a note.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion--cursor"}

    def __init__(self, choose: Callable[[Offer], None]) -> None:
        super().__init__()
        self._choose = choose
        self.display = False
        self.offers: Sequence[Offer] = ()
        self._note = ""
        self._cursor = 0
        self._top = 0

    @property
    def offer(self) -> Offer | None:
        """The offer the cursor is on; None before it was moved to one."""
        return self.offers[self._cursor] if self.offers and self._cursor >= 0 else None

    @property
    def is_open(self) -> bool:
        """Whether anything is shown."""
        return bool(self.display)

    def show(self, title: str, offers: Sequence[Offer], note: str = "", *, first: bool = True) -> None:
        """Show `offers`, or `note` when there are none.

        The cursor stays on what it was on, else it is on the first one, or on none if not `first`.
        """
        is_shown = (title, list(offers), note) == (self.border_title, list(self.offers), self._note)
        if self.is_open and is_shown and first and self._cursor >= 0:
            return
        was = self.offer if self.is_open and self._cursor else None
        self.offers, self._note = offers, note
        self._cursor = next((at for at, each in enumerate(offers) if each == was), 0 if first else -1)
        self._top = 0
        self._follow()
        self.border_title = Content(title)
        rows = max(1, min(ROWS, len(offers)))
        self.styles.height = rows + 2
        self.styles.offset = (0, -(rows + 2))
        self.display = True
        self.refresh()

    def close(self) -> None:
        """Show nothing."""
        self.display = False
        self.offers, self._cursor = (), 0

    def move(self, by: int) -> None:
        """Move the cursor, from the last offer to the first and back."""
        if self.offers:
            self._cursor = (max(self._cursor, 0 if by < 0 else -1) + by) % len(self.offers)
            self._follow()
            self.refresh()

    def _follow(self) -> None:
        """Keep the cursor among the rows shown, and its number in the border."""
        self._top = max(0, min(max(self._top, self._cursor - ROWS + 1), self._cursor))
        count = len(self.offers)
        place = f"{self._cursor + 1}/{count} · " if count > ROWS else ""
        self.border_subtitle = Content(f"{place}Tab inserts · Esc closes" if count else "Esc closes")

    def render(self) -> Content:
        """Draw the offers on screen: names cut in the middle, details at the right."""
        width = self.content_size.width
        if not self.offers:
            return Content.styled(tail_cut(self._note, width), "$foreground-muted")
        lines = []
        for at, offer in enumerate(self.offers[self._top : self._top + ROWS], self._top):
            room = max(width // 2, width - len(offer.shown) - 3)
            detail = tail_cut(offer.detail, room)
            shown = middle_cut(offer.shown, width - (len(detail) + 2 if detail else 0))
            name = Content(shown)
            gap = " " * (width - name.cell_length - Content(detail).cell_length)
            if at == self._cursor:
                # Not the visual style: Textual leaves reversing out of it.
                style = Style.from_rich_style(self.get_component_rich_style("completion--cursor"))
                lines.append(Content.styled(f"{shown}{gap}{detail}", style))
            else:
                muted = "$foreground-muted"
                if not (offer.written or offer.command):
                    name = Content.styled(shown, muted)
                lines.append(Content.assemble(name, gap, (detail, muted)))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """Choose the offer under the pointer."""
        event.stop()
        at = self._top + event.y - 1
        if 0 <= event.y - 1 < ROWS and at < len(self.offers):
            self._choose(self.offers[at])
