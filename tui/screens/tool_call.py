"""One tool call in full: its state, what it was given, what it gave back, and the files it left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from core.events import ArtifactSaved, ToolCallFinished, ToolCallStarted
from core.text import clean_line
from tui.copying import copy_text
from tui.format import Mark, milliseconds, size, tool_label, tool_name
from tui.jobs import start_job
from tui.programs import PAGER, NoProgram, command_of, page
from tui.viewers.call_body import arguments_text, call_body, call_text, result_text
from tui.viewers.chrome import KeyLine, TitleLine
from tui.viewers.view import DocumentView

__all__ = ["ToolCallScreen"]

_MOST_COPIED = 1024 * 1024
_MARKS = {
    "success": (Mark.SUCCESS, "$success"),
    "error": (Mark.ERROR, "$error"),
    "denied": (Mark.DENIED, "$warning"),
    "cancelled": (Mark.CANCELLED, "$warning"),
}


class ToolCallScreen(ModalScreen[str | None]):
    """Shows a call; closes with the path of an artifact (as the event has it) when a person opens one.

    Args:
        started: the call as it was made.
        finished: its end, None while it runs; `finish` brings it later.
        artifacts: the files that came of it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", show=False),
        Binding("enter", "open_artifact", "Open the artifact", show=False),
        Binding("y", "copy_result", "Copy the result", show=False),
        Binding("a", "copy_arguments", "Copy the arguments", show=False),
        Binding("P", "page", "Open in $PAGER", show=False),
    ]
    AUTO_FOCUS = "DocumentView"

    def __init__(
        self,
        started: ToolCallStarted,
        finished: ToolCallFinished | None = None,
        artifacts: Sequence[ArtifactSaved] = (),
    ) -> None:
        super().__init__()
        self.started = started
        self.finished = finished
        self.artifacts = tuple(artifacts)

    def compose(self) -> ComposeResult:
        """Put down title, content, artifacts and keys."""
        yield TitleLine(id="call-title")
        yield DocumentView(id="call-view")
        yield OptionList(id="call-artifacts", markup=False, compact=True)
        yield KeyLine(id="call-keys")

    def on_mount(self) -> None:
        """Show what is known."""
        self.query_one(OptionList).border_title = Content("Files")
        self._show()

    def finish(self, finished: ToolCallFinished, artifacts: Sequence[ArtifactSaved] = ()) -> None:
        """Take up the end of the call, or artifacts that came after it."""
        self.finished = finished
        self.artifacts = tuple(artifacts) or self.artifacts
        if self.is_mounted:
            self._show()

    def _show(self) -> None:
        self._show_title()
        self._show_artifacts()
        start_job(self, self._show_body, "call")

    async def _show_body(self) -> None:
        view = self.query_one(DocumentView)
        body = await asyncio.to_thread(call_body, self.started, self.finished)
        view.show(body, place=view.place)

    def _show_title(self) -> None:
        name = tool_name(self.started.name)
        label = clean_line(tool_label(self.started.name, self.started.input))
        mark, style = (Mark.RUNNING, "$accent") if self.finished is None else _MARKS[self.finished.status]
        facts = [mark.word]
        if self.finished is not None:
            if self.finished.duration_ms:
                facts.append(milliseconds(self.finished.duration_ms))
            if self.finished.observation is not None:
                facts.append(size(self.finished.observation.size))
        place = " · ".join(
            part for part in (clean_line(name.server), name.short if label != name.short else "") if part
        )
        self.query_one(TitleLine).tell(label, place=place, facts=" · ".join(facts), mark=(mark.glyph, style))

    def _show_artifacts(self) -> None:
        listed = self.query_one(OptionList)
        listed.clear_options()
        stored = self.finished.observation.stored_at if self.finished and self.finished.observation else None
        options = [Option(_described(artifact), id=f"file-{n}") for n, artifact in enumerate(self.artifacts)]
        self._paths = [artifact.path for artifact in self.artifacts]
        if stored and stored not in self._paths:
            options.append(
                Option(Content.assemble(clean_line(stored), ("  the whole result", "$text-muted")))
            )
            self._paths.append(stored)
        listed.add_options(options)
        listed.display = bool(options)
        if options:
            listed.highlighted = 0
        keys = [("Esc", "close", "screen.close")]
        if options:
            keys.append(("Enter", "open file", "screen.open_artifact"))
            if len(options) > 1:
                keys.append(("Tab", "files", "app.focus_next"))
        keys += [("y", "copy result", "screen.copy_result"), ("a", "copy arguments", "screen.copy_arguments")]
        keys.append(("P", "pager", "screen.page"))
        self.query_one(KeyLine).offer(*keys)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the artifact chosen."""
        event.stop()
        self.dismiss(self._paths[event.option_index])

    def action_open_artifact(self) -> None:
        """Open the artifact that is lit."""
        lit = self.query_one(OptionList).highlighted
        if lit is not None and lit < len(self._paths):
            self.dismiss(self._paths[lit])

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_copy_result(self) -> None:
        """Copy the result."""
        self._copy(result_text(self.finished), "Result")

    def action_copy_arguments(self) -> None:
        """Copy the arguments."""
        self._copy(arguments_text(self.started), "Arguments")

    def action_page(self) -> None:
        """Read arguments and result in the person's own pager."""
        try:
            command = command_of(PAGER, os.environ)
            page(self.app, call_text(self.started, self.finished), command)
        except NoProgram as error:
            self.notify(str(error), markup=False, severity="warning")

    def _copy(self, text: str, what: str) -> None:
        if not text:
            self.notify("There is nothing to copy yet.", markup=False)
        elif len(text) > _MOST_COPIED:
            self.notify("Too long for a clipboard: open its file and copy the path.", markup=False)
        else:
            copy_text(self, text, what)


def _described(artifact: ArtifactSaved) -> Content:
    parts: list[str | tuple[str, str]] = [
        clean_line(artifact.path, 400),
        (f"  {size(artifact.size)} · {clean_line(artifact.kind, 40)}", "$text-muted"),
    ]
    if artifact.copied_to:
        parts.append((f"  copied to {clean_line(artifact.copied_to, 400)}", "$text-muted"))
    return Content.assemble(*parts)
