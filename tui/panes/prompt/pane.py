"""The prompt: a text area with several lines and a history; nothing is lost while the agent works."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from ua_tui.core.agent.attachments.mentions import Mention, mentions_in
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import as_sentence, clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.panes.prompt.attachments import AttachmentBar, dropped_files, may_be_dropped
from ua_tui.tui.panes.prompt.completer import Completer
from ua_tui.tui.panes.prompt.completion import Offer
from ua_tui.tui.panes.prompt.history import PromptHistory
from ua_tui.tui.panes.suggestions import Suggestions
from ua_tui.tui.render.format import first_line, tail_cut
from ua_tui.tui.terminal.foreground import start_in_front
from ua_tui.tui.terminal.output_filter import strip_controls
from ua_tui.tui.widgets.placeholder import ASK
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.agent.attachments.places import AttachmentPlaces
    from ua_tui.core.agent.mcp.references import ServerReferences
    from ua_tui.tui.widgets.command import Command

PASTE_LIMIT = 8_000
_QUEUE_ROWS = 3
_HINTS = (
    ("/", "commands"),
    ("@", "files"),
    ("next_pane", "panes"),
    ("prompt.new_line", "new line"),
    ("prompt.edit", "editor"),
)
_STUB = re.compile(r"\[pasted #(\d+): [^\]\n]*\]")


class Prompt(TextArea):
    """A text area that sends on Enter, grows to eight lines and walks its history at its edges.

    A paste that is too long to edit by hand is one short mark in the text and is sent in full.

    Attributes:
        attach_file: adds a file of this machine to the session, and returns what names it; None before there is one.
        prepare: reads the resources and the prompt of servers that a text names, before it is sent.
        suggestions: queries to try, of which the empty prompt chooses and sends one.
        agent_runs: whether what is sent is queued.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--missing"}
    BINDINGS = bindings("Prompt")

    @property
    def key_hints(self) -> tuple[tuple[str, str], ...]:
        """The most useful keys."""
        if self.agent_runs:
            return (("prompt.send", "queue"), ("prompt.steer", "send now"), *_HINTS)
        return ((("prompt.send", "send"),) if self.suggestions.query else ()) + _HINTS

    @dataclass
    class Sent(Message):
        """The person sends `text`, pastes written out; with `steers` to the running query."""

        text: str
        steers: bool = False

    @dataclass
    class Commanded(Message):
        """The person chose a command, by its name or from what was offered."""

        command: Command

    @dataclass
    class QueueUsed(Message):
        """The newest queued query is to be edited in the prompt, a paused queue sent, or the queue shown."""

        what: Literal["edit", "send", "open"]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=Content(ASK),
        )
        self.cursor_blink = False
        self._history = PromptHistory(None, "", str)
        self._pastes: dict[int, str] = {}
        self._bar = QueueBar(self.action_open_queue)
        self._files = AttachmentBar(self.remove_file, self._on_files_known)
        self._completer = Completer(self, self._choose)
        self._places: AttachmentPlaces | None = None
        self._dropping = 0
        self._send_later: bool | None = None
        self._refused = ""
        self._missing: set[str] = set()
        self.attach_file: Callable[[Path], Awaitable[str]] | None = None
        self.prepare: Callable[[str], Awaitable[None]] | None = None
        self.suggestions = Suggestions()
        self.agent_runs = False
        self._preparing = ""

    def on_mount(self) -> None:
        """Put above the prompt what waits, what is attached and what is offered."""
        parent = self.parent
        assert isinstance(parent, Widget)
        parent.mount(self._bar, self._files, self._completer.list, before=self)

    @property
    def value(self) -> str:
        """What would be sent: the text with its pastes written out."""
        return _STUB.sub(lambda mark: self._pastes.get(int(mark[1]), mark[0]), self.text)

    def use_history(self, history: PromptHistory) -> None:
        """Use `history` from now on."""
        for text in self._history.entries:
            history.add(text)
        self._history = history

    def use_commands_of_agent(self, names: Callable[[], Collection[str]]) -> None:
        """Send the agent's own commands, of which `names` returns the names, like queries."""
        self._completer.of_agent = names

    def offer_commands(self, commands: Sequence[Command]) -> None:
        """Offer these commands after a slash at the beginning, also after one that was typed before."""
        self._completer.commands = commands
        if self.has_focus and self.text.startswith("/"):
            self._completer.update()
        self._send_what_waited()

    def offer_files(self, places: AttachmentPlaces) -> None:
        """Offer the files that names lead to, and the saved reports beside the session's folder, after an `@`."""
        from ua_tui.core.storage.workspace import saved_reports_of
        from ua_tui.tui.panes.prompt.file_index import FileIndex

        self._completer.offer_files(FileIndex(places, saved_reports_of(places.session)))
        self._places = places
        self._show_files()

    def offer_references(self, references: ServerReferences | None) -> None:
        """Offer what MCP servers have when a person names a server."""
        self._completer.references = references
        self._show_files()

    def show_queue(self, texts: Sequence[str], *, paused: bool = False) -> None:
        """Show the queue above the prompt, oldest first; `paused` when it waits for Enter."""
        if (tuple(texts), paused) == (self._bar.texts, self._bar.is_paused):
            return
        count = len(texts)
        keys = keys_of(self.app)
        send = f"{keys.shown('prompt.send')} sends when empty · " if paused else ""
        word = "paused" if paused else "queued"
        every = keys.shown("prompt.queue")
        self.border_subtitle = f"{count} {word} · {send}↑ edits the last · {every} all" if count else ""
        self._bar.show(texts, paused=paused)

    def put(self, text: str) -> None:
        """Replace the text, cursor at its end."""
        self._completer.hide()
        self.load_text(self._fold(text))
        self.move_cursor(self.document.end)

    def put_aside(self, text: str) -> None:
        """Replace the text, which stays in the history."""
        if self.value.strip():
            self._history.add(self.value)
        self.put(text)

    def write(self, text: str) -> None:
        """Write a text at the cursor, as if it were pasted there."""
        written = self._fold(strip_controls_but_lines(text))
        if result := self._replace_via_keyboard(written, *self.selection):
            self.move_cursor(result.end_location)
            if written == text and self.attach_file is not None and may_be_dropped(text):
                self._dropping += 1
                start_job(self, partial(self._attach_dropped, text), "dropped", replacing=False)

    def action_send(self, *, steer: bool = False) -> None:
        """Send what was typed, unless it is blank; a command is run, and an unknown one is sent the second time.

        With `steer` it is sent to the running query.
        """
        if self._dropping:
            # The files that were just dropped belong to what is sent.
            self._send_later = steer
            return
        text = self.value.strip()
        if not text:
            if self._bar.is_paused:
                self.post_message(self.QueueUsed("send"))
            elif self.suggestions.query and not steer:
                self._send(self.suggestions.query, steer=False)
            return
        references = self._completer.references
        names_any = references is not None and references.names_any(text)
        if text.startswith("/") and not names_any:
            from ua_tui.tui.widgets.command import command_problem, typed_command

            commands = self._completer.commands
            if (command := typed_command(text, commands)) is not None:
                self._run_command(command)
                return
            again = f"{keys_of(self.app).shown('prompt.send')} again sends it as text"
            problem = command_problem(text, commands, self._completer.of_agent(), sent_by=again)
            if problem and self.value.startswith("/") and self.value != self._refused:
                if not commands:
                    # They are still being read.
                    self._send_later = steer
                    return
                self._refused = self.value
                self.notify(as_sentence(problem), severity="warning")
                return
        self._show_files()
        if self._files.is_reading:
            self._send_later = steer
            return
        if problem := self._file_problem():
            self.notify(problem, severity="warning")
            return
        if names_any and text == self._preparing:
            return
        self._completer.hide()
        if not names_any:
            self._send(text, steer=steer)
        else:
            self._preparing = text
            self._completer.show_work("Reading what the query names…")
            start_job(self, partial(self._prepare, text, steer=steer), "prepare")

    async def _prepare(self, text: str, *, steer: bool) -> None:
        """Read what a text names of servers, and send it if it has not been changed meanwhile."""
        assert self.prepare is not None
        try:
            await self.prepare(text)
        except UniversalAgentError as error:
            self.notify(f"{error}.", severity="warning")
        else:
            if self.value.strip() == text:
                self._send(text, steer=steer)
        finally:
            # Another text may have taken its place.
            if self._preparing == text:
                self._preparing = ""
                self._completer.hide()

    def _send(self, text: str, *, steer: bool) -> None:
        self._history.add(text)
        self._refused = ""
        self.suggestions.end()
        self.load_text("")
        self._pastes.clear()
        self.post_message(self.Sent(text, steer))

    def action_steer(self) -> None:
        """Send what was typed to the running query."""
        self.action_send(steer=True)

    def action_open_queue(self) -> None:
        """Show the queue."""
        self.post_message(self.QueueUsed("open"))

    def action_new_line(self) -> None:
        """Break the line at the cursor."""
        start, end = self.selection
        self._replace_via_keyboard("\n", start, end)

    def action_edit_outside(self) -> None:
        """Continue in the person's editor, with pastes written out; a failure leaves the prompt unchanged."""
        self._completer.hide()
        start_in_front(self.app, self._edit_outside)

    async def _edit_outside(self) -> None:
        from ua_tui.tui.terminal.programs import edit, edit_draft

        try:
            text = await edit_draft(self.value, partial(edit, self.app))
        except UniversalAgentError as error:
            self.notify(str(error), severity="warning")
            return
        if text is not None:
            self._pastes.clear()
            self.put(strip_controls_but_lines(text))

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up; from the first row, to the older entry or the newest queued query."""
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif self._bar.texts and not self.text:
            self.post_message(self.QueueUsed("edit"))
        elif not self.text and self.suggestions.move(-1):
            pass
        elif (older := self._history.older(self.value)) is not None:
            self.put(older)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down; from the last row, to the newer entry."""
        if select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        elif (newer := self._history.newer()) is not None:
            self.put(newer)
        elif not self.text:
            self.suggestions.move(1)

    def render_line(self, y: int) -> Strip:
        """Draw a row; a terminal without room for a single character has none."""
        return (
            super().render_line(y)
            if self.content_size.width
            else Strip.blank(self.size.width, self.rich_style)
        )

    def edit(self, edit: Edit) -> EditResult:
        """Change the text, and update what is offered for it."""
        result = super().edit(edit)
        self._completer.update()
        return result

    def on_text_area_selection_changed(self) -> None:
        """Close what is offered when the cursor has left it, and mark a name that it has left."""
        self._completer.update_if_open()
        self._show_files()

    def on_blur(self) -> None:
        """Close what is offered when the focus leaves."""
        self._completer.hide()

    def _choose(self, offer: Offer) -> None:
        command = offer.command
        arguments = offer.arguments if command is None else command.arguments
        if arguments == "" and self.text == offer.written:
            self.action_send()
        elif command is not None and not command.is_query:
            self._run_command(command)
        else:
            self._completer.write(offer)

    def _run_command(self, command: Command) -> None:
        self._completer.hide()
        self.load_text("")
        self._pastes.clear()
        self.post_message(self.Commanded(command))

    def _handle_offer_key(self, key: str) -> bool:
        """Handle a key for what is offered; False when it is no such key."""
        offers = self._completer.list
        offer = offers.offer
        match key:
            case "up" | "down" if offers.offers:
                offers.move(-1 if key == "up" else 1)
            case "enter" if offer is not None:
                self._choose(offer)
            case "enter" if self._completer.is_searching:
                # It is meant for what is offered next.
                pass
            case "tab":
                # While files are still being listed, Tab waits for them and does not move the focus.
                if offer is not None:
                    self._completer.write(offer)
                else:
                    offers.move(1)
            case "escape":
                self._completer.close()
            case _:
                return False
        return True

    def _action_of(self, key: str) -> str | None:
        keys = keys_of(self.app)
        bindings = (each for each in self.BINDINGS if isinstance(each, Binding))
        return next((each.action for each in bindings if key in keys.of(each.id or "")), None)

    async def _on_key(self, event: events.Key) -> None:
        if self._completer.list.is_open and self._handle_offer_key(event.key):
            event.stop()
            event.prevent_default()
        elif (action := self._action_of(event.key)) is not None:
            # Here, because Textual would run the action after the keys that were typed behind it.
            event.stop()
            event.prevent_default()
            getattr(self, f"action_{action}")()
        elif event.key.startswith("alt+"):
            # Textual gives Alt+2 the character 2, but it is a command.
            event.character = None
        elif event.is_printable:
            self._history.rewind()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.write(event.text)
        self.focus()

    async def _attach_dropped(self, text: str) -> None:
        """Add the files whose paths were pasted, and write their names in place of the paths."""
        from ua_tui.core.errors import WorkspaceError

        mentions = []
        try:
            for file in await asyncio.to_thread(dropped_files, text):
                assert self.attach_file is not None
                mentions.append(await self.attach_file(file))
        except WorkspaceError as error:
            self.notify(f"{error}.", severity="warning")
            mentions = []
        finally:
            self._dropping -= 1
        at = self.text.find(text)
        if mentions and at >= 0:
            end = at + len(text)
            space = "" if self.text[end : end + 1].isspace() else " "
            written = " ".join(mentions) + space
            self.replace(written, location_of(self.text, at), location_of(self.text, end))
        self._send_what_waited()

    def _send_what_waited(self) -> None:
        """Send what could not be sent before, with what was typed since."""
        if not self._dropping and (steer := self._send_later) is not None:
            self._send_later = None
            self.action_send(steer=steer)

    def on_text_area_changed(self) -> None:
        """Show the files that the text names; a text takes the place of the chosen query to try."""
        self.suggestions.note_typing(is_typing=bool(self.text))
        self._show_files()

    def _show_files(self) -> None:
        text = self.text
        written = [
            each.path for each in mentions_in(text) if location_of(text, each.end) == self.cursor_location
        ]
        references = self._completer.references
        self._files.show_files_of(text, self._places, references, next(iter(written), ""))
        self._mark_missing()

    def _on_files_known(self) -> None:
        self._mark_missing()
        self._send_what_waited()

    def _mark_missing(self) -> None:
        """Mark the names in the text that are shown as missing."""
        missing = {each.path for each in self._files.files if each.problem and each.is_open}
        if missing != self._missing:
            self._missing = missing
            self.notify_style_update()
            self.refresh()

    def get_line(self, line_index: int) -> Text:
        """A line, with the names of missing files marked."""
        line = super().get_line(line_index)
        for mention in mentions_in(line.plain) if self._missing else ():
            if mention.path in self._missing:
                style = self.get_component_rich_style("prompt--missing", partial=True)
                line.stylize(style, mention.start, mention.end)
        return line

    def _file_problem(self) -> str:
        """What is wrong with the files that the text names; empty if it can be sent, or was to be sent before."""
        # A resource is read again when the query is sent.
        problems = [each for each in self._files.found if each.problem and not each.is_resource]
        problems.sort(key=lambda each: each.is_open)
        if not problems or (problems[0].is_open and self.value == self._refused):
            return ""
        first = problems[0]
        problem = (
            f"{clean_line(first.path, 200)}: {first.problem}{'' if first.problem.endswith('?') else '.'}"
        )
        if not first.is_open:
            return problem
        self._refused = self.value
        return f"{problem} {keys_of(self.app).shown('prompt.send')} again sends it as text."

    def remove_file(self, path: str) -> None:
        """Remove the name of a file from the text."""
        for mention in reversed(list(mentions_in(self.text))):
            if mention.path == path:
                self._delete_mention(mention)

    def action_delete_left(self) -> None:
        """Delete the character before the cursor, or the complete name of an added file that ends there."""
        shown = {each.path for each in self._files.files if not each.is_open}
        if self.selection.is_empty and shown:
            for mention in mentions_in(self.text):
                ends_here = location_of(self.text, mention.end) == self.cursor_location
                if ends_here and mention.path in shown:
                    self._delete_mention(mention)
                    return
        super().action_delete_left()

    def action_delete_to_start_of_line(self) -> None:
        """Delete to the start of the line, also of one that is shown in several rows."""
        row, column = self.cursor_location
        if column:
            self.delete((row, 0), self.selection.end)
        else:
            super().action_delete_to_start_of_line()

    def _delete_mention(self, mention: Mention) -> None:
        text = self.text
        end = mention.end + (text[mention.end : mention.end + 1] == " ")
        self.replace("", location_of(text, mention.start), location_of(text, end))

    def _fold(self, text: str) -> str:
        # A text area lays out every character on each key press: a long text must stay out of it.
        if len(text) <= PASTE_LIMIT:
            return text
        number = len(self._pastes) + 1
        self._pastes[number] = text
        return f"[pasted #{number}: {text.count(chr(10)) + 1:,} lines, {len(text):,} characters]"


class QueueBar(Widget):
    """The queries that wait, above the prompt: at most three rows, and how many more there are.

    A click calls `edit`.

    Attributes:
        texts: what waits, oldest first.
        is_paused: whether it waits for the person.
    """

    def __init__(self, edit: Callable[[], None]) -> None:
        super().__init__()
        self.display = False
        self._edit = edit
        self.texts: tuple[str, ...] = ()
        self.is_paused = False

    def show(self, texts: Sequence[str], *, paused: bool) -> None:
        """Show what waits, oldest first; `paused` when it waits for the person."""
        self.texts, self.is_paused = tuple(texts), paused
        self.display = bool(texts)
        self.styles.height = min(_QUEUE_ROWS, len(texts)) or 1
        self.refresh()

    def render(self) -> Content:
        """Draw a row for each of the first queries."""
        width = self.content_size.width
        mark, style = ("‖", "$warning") if self.is_paused else ("›", "$accent")
        more = len(self.texts) - _QUEUE_ROWS
        lines = []
        for at, text in enumerate(self.texts[:_QUEUE_ROWS]):
            rest = f"  +{more}" if more > 0 and at == _QUEUE_ROWS - 1 else ""
            shown = tail_cut(first_line(text), max(0, width - 2 - len(rest)))
            lines.append(Content.assemble((f"{mark} ", style), (shown, "$foreground-muted"), (rest, style)))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """Open the queue."""
        event.stop()
        self._edit()


def location_of(text: str, index: int) -> tuple[int, int]:
    """The row and the column of a character of a text."""
    before = text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)


def strip_controls_but_lines(text: str) -> str:
    """Clean a paste: line breaks and tabs stay, other control characters are removed."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(strip_controls(part) for part in line.split("\t")) for line in lines)
