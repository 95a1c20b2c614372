"""The queue of queries: reorder them, delete them, or take one back into the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList

from ua_tui.tui.render.format import first_line
from ua_tui.tui.widgets.choice_list import ChoiceList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot, Words


class QueueScreen(Dialog[str | None]):
    """Lists the queued queries, the next one first; closes with the query that was taken back, or with None.

    Args:
        read: returns the queue.
        change: replaces the queue that was seen; returns False if it is no longer the same.
    """

    AT_ONCE = Dialog.AT_ONCE | {"delete"}

    def __init__(
        self,
        read: Callable[[], tuple[str, ...]],
        change: Callable[[Sequence[str], Sequence[str]], bool],
    ) -> None:
        super().__init__(requested=True)
        self._read = read
        self._change = change
        self._texts: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """Create the list and its keys."""
        with Box("Queue"):
            yield Words(id="queue-what")
            yield ChoiceList(id="queue-queries")
            yield Foot(hint=self._hint())

    def _hint(self) -> str:
        keys = self.keys.shown
        move = f"{keys('queue.earlier')} {keys('queue.later')} move".replace("Shift+", "⇧")
        return f"{move}   {keys('queue.delete')} delete   Enter edit in prompt   {keys('screen.back')} close"

    def on_mount(self) -> None:
        """Show the queue."""
        self._show(0)
        self.query_one(OptionList).focus()

    def refresh_queue(self) -> None:
        """Show the queue again if it has changed."""
        if self.is_mounted and self._read() != self._texts:
            self._show(max(0, self._at - (len(self._texts) - len(self._read()))))

    @property
    def _at(self) -> int:
        return self.query_one(OptionList).highlighted or 0

    def _show(self, at: int) -> None:
        self._texts = self._read()
        queries = self.query_one(ChoiceList)
        queries.show_rows((Content(first_line(text)) for text in self._texts), at)
        queries.display = bool(self._texts)
        text = "The first one runs next." if self._texts else "The queue is empty."
        self.query_one("#queue-what", Words).update(text)

    def _replace(self, wanted: Sequence[str], at: int) -> bool:
        changed = self._change(self._texts, wanted)
        if not changed:
            self.warn("The queue has changed in the meantime: check it again.")
        self._show(at)
        return changed

    def action_move(self, by: int) -> None:
        """Move the chosen query up or down."""
        at, to = self._at, self._at + by
        if self._texts and 0 <= to < len(self._texts):
            wanted = list(self._texts)
            wanted.insert(to, wanted.pop(at))
            self._replace(wanted, to)

    def action_delete(self) -> None:
        """Delete the chosen query."""
        if self._texts:
            at = self._at
            self._replace([*self._texts[:at], *self._texts[at + 1 :]], at)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the chosen query back into the prompt."""
        at = event.option_index
        if at < len(self._texts):
            text = self._texts[at]
            if self._replace([*self._texts[:at], *self._texts[at + 1 :]], at):
                self.dismiss(text)
