"""The completion of the prompt: offers files, resources and commands while a person types, and inserts the choice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.widgets import TextArea

from ua_tui.core.agent.attachments.mentions import mention_of
from ua_tui.core.errors import UniversalAgentError
from ua_tui.tui.panes.prompt.completion import (
    MOST_OFFERED,
    CompletionList,
    Offer,
    Sought,
    argument_note,
    folder_of,
    prompt_offers,
    resource_offers,
    server_offers,
    sought_at,
)
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.agent.mcp.client import Contents
    from ua_tui.core.agent.mcp.references import ServerReferences
    from ua_tui.tui.panes.prompt.file_index import FileIndex, FoundFile
    from ua_tui.tui.widgets.command import Command

_FRESH_SECONDS = 1.0


class Completer:
    """Reads what is before the cursor of `area` and shows what it may become.

    Files are listed in a thread, again each second while they are offered. What was closed with Esc stays
    closed until another name is begun. `choose` is called with the offer that was clicked.

    Attributes:
        list: shows what is offered; Tab, Enter, Esc and the arrows belong to it while it is open.
        is_searching: whether the files to offer are still being listed.
        commands: those that are offered.
        references: the resources and prompts of MCP servers, which are listed when a server is named.
        of_agent: returns the names of the agent's own commands, which are sent as they are typed.
    """

    def __init__(self, area: TextArea, choose: Callable[[Offer], None]) -> None:
        self._area = area
        self.list = CompletionList(choose)
        self.commands: Sequence[Command] = ()
        self.references: ServerReferences | None = None
        self.of_agent: Callable[[], Collection[str]] = tuple
        self._failed: dict[str, str] = {}
        self._index: FileIndex | None = None
        self._files: Sequence[Sequence[FoundFile]] | None = None
        self._listed: tuple[str, bool] | None = None
        self.is_searching = False
        self._scanning = False
        self._scanned = float("-inf")
        self._timer: Timer | None = None
        self._sought: Sought | None = None
        self._closed_at: tuple[int, int] | None = None

    # -- what there is to offer -------------------------------------------------------------------

    def offer_files(self, index: FileIndex) -> None:
        """Offer the files of `index` from now on."""
        self._index = index
        self._files = self._listed = None
        self.update()

    # -- while a person types ---------------------------------------------------------------------

    def update(self) -> None:
        """Offer what the text before the cursor may become."""
        row, column = self._area.cursor_location
        before = self._area.document.get_line(row)[:column] if self._area.is_mounted else ""
        sought = sought_at(row, before)
        if sought is not None and sought.kind != "file" and not self.commands:
            sought = None
        place = (row, sought.column) if sought is not None else None
        if place != self._closed_at:
            self._closed_at = None
        if sought is None or self._closed_at is not None:
            self._hide()
            return
        self._sought = sought
        if sought.kind == "command":
            self._show_commands(sought.text)
        elif sought.kind == "argument":
            self._show_choices(sought)
        else:
            self._show_files(sought.text)

    def update_if_open(self) -> None:
        """Update the offers if there are any."""
        if self.list.is_open:
            self.update()

    def close(self) -> None:
        """Close what is offered until another name is begun."""
        if self._sought is not None:
            self._closed_at = (self._area.cursor_location[0], self._sought.column)
        self._hide()

    def hide(self) -> None:
        """Offer nothing, as after the text was sent."""
        self._closed_at = None
        self._hide()

    def show_work(self, note: str) -> None:
        """Show what the prompt is waiting for, until `hide`."""
        self._hide()
        self._open("Sending", (), note)

    def write(self, offer: Offer) -> None:
        """Replace what was typed by an offer."""
        sought = self._sought
        if sought is None:
            return
        if offer.written is None:
            self._area.notify(
                "The name of this file has characters that cannot be typed: rename it first.",
                severity="warning",
            )
            return
        row, column = self._area.cursor_location
        written = offer.written if offer.continues else f"{offer.written} "
        self._area.replace(written, (row, sought.column), (row, column))
        self._area.move_cursor((row, sought.column + len(written)))
        self._hide()
        if offer.continues or offer.arguments:
            self.update()

    # -- inside -----------------------------------------------------------------------------------

    def _show_commands(self, typed: str) -> None:
        from ua_tui.tui.widgets.command import commands_for

        server, colon, name = typed.partition(":")
        if colon and server in self._servers:
            self._show_contents(
                server, lambda contents: prompt_offers(server, name, contents.prompts), "prompts"
            )
            return
        found = commands_for(typed, self.commands)
        servers = self._offer_servers(typed, "/")
        if not found and not servers:
            self._hide()
            return
        offers = [
            Offer(f"/{each.name}", f"{each.title} · {each.help}", f"/{each.name}", each) for each in found
        ]
        is_ours = any(typed.casefold() in each.names for each in found)
        if is_ours:
            # What was pointed at before does not count: Enter runs what is named.
            self.list.close()
        self._open("Commands", [*offers, *servers], first=is_ours or typed not in self.of_agent())

    def _show_choices(self, sought: Sought) -> None:
        """Offer what may follow the name of a command; what is chosen runs it."""
        if (note := self._arguments_of(sought.command)) is not None:
            self._open(f"/{sought.command}", (), note)
            return
        command = next((each for each in self.commands if sought.command in each.names), None)
        choices = command.argument.choices if command is not None and command.argument is not None else None
        if command is None or choices is None:
            self._hide()
            return
        typed = sought.text.casefold()
        offers = [
            Offer(name, meaning, name, command.with_argument(name))
            for name, meaning in choices().items()
            if name.casefold().startswith(typed)
        ]
        if offers:
            # Enter right after the name means the command alone.
            self._open(command.title, offers, first=bool(typed))
        else:
            self._hide()

    @property
    def _servers(self) -> Sequence[str]:
        return self.references.servers if self.references is not None else ()

    def _offer_servers(self, typed: str, mark: str) -> list[Offer]:
        # Naming one again asks it again.
        self._failed.clear()
        return server_offers(typed, self._servers, mark)

    def _arguments_of(self, command: str) -> str | None:
        """What may follow the name of a prompt that is known; None if it is no such name."""
        server, _, name = command.partition(":")
        contents = self.references.contents.get(server) if self.references is not None and name else None
        prompt = contents.prompt(name) if contents is not None else None
        return None if prompt is None else argument_note(prompt)

    def _show_contents(self, server: str, offers: Callable[[Contents], list[Offer]], kind: str) -> None:
        """Show something of what a server offers, as soon as it has said so."""
        assert self.references is not None
        title = f"{kind.capitalize()} of {server}"
        if (contents := self.references.contents.get(server)) is not None:
            self._open(title, offers(contents), f"No matching {kind}.")
        elif (error := self._failed.get(server)) is not None:
            self._open(title, (), error)
        else:
            self._open(title, (), f"Asking {server}…")
            start_job(self._area, partial(self._ask_server, server), f"contents/{server}")

    async def _ask_server(self, server: str) -> None:
        assert self.references is not None
        try:
            await self.references.list(server)
        except UniversalAgentError as error:
            self._failed[server] = f"{error}."
        self.update_if_open()

    def _show_files(self, typed: str) -> None:
        server, colon, uri = typed.partition(":")
        if colon and server in self._servers:
            from ua_tui.tui.panes.prompt.file_index import search

            self._show_contents(
                server,
                lambda contents: resource_offers(server, search(uri, contents.resources, MOST_OFFERED)),
                "resources",
            )
            return
        servers = self._offer_servers(typed, "@")
        if self._index is None:
            self._open("Files", (), "Opening the session…")
            return
        self._scan_soon()
        if self._timer is None:
            self._timer = self._area.set_interval(_FRESH_SECONDS, self._scan_soon)
        if self._files is None or self._listed != folder_of(typed):
            self._open("Files", (), "Searching files…")
            self.is_searching = True
            return
        from ua_tui.tui.panes.prompt.file_index import file_offers, search_files

        files = file_offers(search_files(typed, self._files, MOST_OFFERED), self._index.places)
        if typed.endswith("/"):
            files.insert(0, Offer(typed, "this folder", mention_of(typed)))
        offers = [*servers, *files] if typed else [*files, *servers]
        self._open("Files", offers, "No matching file." if typed else "No files yet.")

    def _open(self, title: str, offers: Sequence[Offer], note: str = "", *, first: bool = True) -> None:
        self.list.show(title, offers, note, first=first)
        self.is_searching = False

    def _hide(self) -> None:
        self._sought = None
        self._failed.clear()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.list.close()

    def _scan_soon(self) -> None:
        sought = self._sought
        if self._scanning or sought is None or sought.kind != "file":
            return
        if self._listed != folder_of(sought.text) or time.monotonic() - self._scanned >= _FRESH_SECONDS:
            self._scanning = True
            start_job(self._area, partial(self._scan, sought.text), "files", replacing=False)

    async def _scan(self, typed: str) -> None:
        index = self._index
        try:
            files = await asyncio.to_thread(index.refresh, typed) if index is not None else ()
        finally:
            self._scanning = False
            self._scanned = time.monotonic()
        if index is self._index:
            self._listed, self._files = folder_of(typed), files
            self.update_if_open()
