"""The text that is folded to one line of a conversation: an agent's thinking, and what its sub-agents write."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from core.events.types import MessageFinished, SubagentStarted, TextDelta, ThinkingDelta
from core.events.units import count as scaled
from core.events.units import duration, quantity
from core.text import clean, clean_line
from tui.panes.conversation.blocks import Block, Fold, Prose, Verbatim
from tui.panes.conversation.page import Page
from tui.panes.conversation.stream import pieces_of

__all__ = ["Folds"]

SHORTEST_SHOWN = 0.1
"""Seconds; no duration is shown for shorter thinking."""

_AT_WORK = "running"
_ENDS = {"success": "done", "error": "failed"}


class Folds:
    """The folds of a conversation: each collects text, and shows it below its line when it is open.

    Args:
        page: shows the line of a fold, and below it the text.
        numbers: gives each piece of text a key of its own.
    """

    def __init__(self, page: Page, numbers: Iterator[int]) -> None:
        self._page = page
        self._numbers = numbers
        self._folds: dict[str, Fold] = {}
        self._agents: dict[str, str] = {}
        self._grown: dict[Hashable, Fold] = {}

    def fold_of(self, block: Block) -> Fold | None:
        """The fold that a block is, or is the text of; None when it belongs to no fold."""
        return self._folds.get(block.group) if isinstance(block.group, str) else None

    def __contains__(self, call: str) -> bool:
        return call in self._folds

    # Thinking

    def has_thought(self, message_id: str) -> bool:
        """Whether there is a fold for the thinking before a message."""
        return _thinking(message_id) in self._folds

    def add_thinking(self, event: ThinkingDelta) -> None:
        """Add to the thinking before a message."""
        key = _thinking(event.message_id)
        fold = self._folds.get(key)
        if fold is None:
            fold = Fold(key=key, group=key, title="Thinking", markdown=False, began=event.at)
            self._add(key, fold)
        fold.messages.setdefault("", []).append(clean(event.text))
        self._sum_up(fold)

    def end_thought(self, event: TextDelta | MessageFinished) -> None:
        """Show how long the thinking took, when the answer begins or is complete."""
        thought = self._folds.get(_thinking(event.message_id))
        if thought is None or thought.title == "Thought":
            return
        thought.title = "Thought"
        seconds = (event.at - thought.began).total_seconds() if thought.began is not None else 0.0
        thought.took = duration(seconds) if seconds >= SHORTEST_SHOWN else ""
        self._sum_up(thought)

    # Sub-agents

    def name_subagent(self, call: str, title: str) -> None:
        """Set the name of the sub-agent of a tool call, cleaned already."""
        self._agents[call] = title

    def begin_subagent(self, event: SubagentStarted) -> None:
        """Show that a sub-agent works, and on what."""
        self.name_subagent(event.tool_use_id, clean_line(event.name))
        self._of_subagent(event.tool_use_id, clean_line(event.description, 80))

    def add_subagent_text(self, event: TextDelta | MessageFinished) -> None:
        """Add to the text of a sub-agent."""
        call = event.parent_tool_use_id
        assert call is not None
        text = clean(event.text)
        if isinstance(event, MessageFinished):
            if not text.strip():
                return
            self._of_subagent(call).messages[event.message_id] = [text]
        else:
            self._of_subagent(call).messages.setdefault(event.message_id, []).append(text)
        self._sum_up(self._folds[call])

    def end_subagent(self, call: str, status: str) -> None:
        """Show how the work of a sub-agent ended, if it has a fold."""
        fold = self._folds.get(call)
        if fold is not None:
            fold.summary = f"{_ENDS.get(status, status)} · {_amount(fold)}"
            self._page.change(fold)

    def end_subagents(self, status: str) -> None:
        """Show the same end for all sub-agents that still look as if they ran."""
        for key, fold in self._folds.items():
            if fold.markdown and fold.summary.startswith(_AT_WORK):
                self.end_subagent(key, status)

    def _of_subagent(self, call: str, description: str = "") -> Fold:
        fold = self._folds.get(call)
        if fold is None:
            title = self._agents.get(call, "sub-agent")
            if description:
                title = f"{title}: {description}"
            fold = Fold(key=call, group=call, title=title, summary=_AT_WORK)
            self._add(call, fold)
        return fold

    # What is shown

    def set_open(self, fold: Fold, opened: bool) -> None:
        """Show or hide the text of a fold."""
        fold.open = opened
        self._page.change(fold)
        self._show_text(fold)

    def open_like(self, others: Folds) -> None:
        """Open those that are open in another list of the same conversation."""
        for key, theirs in others._folds.items():
            if theirs.open and (fold := self._folds.get(key)) is not None:
                self.set_open(fold, True)

    def show_grown(self) -> None:
        """Show in the open folds what came since the last time; once for a batch of events."""
        for fold in self._grown.values():
            if fold.open:
                self._show_text(fold)
        self._grown.clear()

    def _add(self, key: str, fold: Fold) -> None:
        self._folds[key] = fold
        self._page.add(fold)

    def _sum_up(self, fold: Fold) -> None:
        fold.summary = _amount(fold) if not fold.markdown else f"{_AT_WORK} · {_amount(fold)}"
        self._page.change(fold)
        if fold.open:
            self._grown[fold.key] = fold

    def _show_text(self, fold: Fold) -> None:
        """Bring the blocks below a fold in line with its text; those that are equal stay as they are."""
        start = self._page.index_of(fold.key)
        assert start is not None
        old = self._shown_text(start)
        new = self._blocks(fold) if fold.open else []
        same = 0
        for before, after in zip(old, new, strict=False):
            if not (isinstance(before, Prose) and isinstance(after, Prose) and before.source == after.source):
                break
            same += 1
        self._page.splice(start + 1 + same, len(old) - same, new[same:])

    def _blocks(self, fold: Fold) -> list[Block]:
        if fold.markdown:
            return [*pieces_of(fold.text or "…", fold.group, self._numbers, indent=2)]
        key = (fold.key, "text")
        return [Verbatim(key=key, group=fold.group, text=fold.text, quiet=True, revision=len(fold.text))]

    def _shown_text(self, start: int) -> list[Block]:
        entries = self._page.blocks
        end = start + 1
        while end < len(entries) and entries[end].group == entries[start].group:
            end += 1
        return list(entries[start + 1 : end])


def _thinking(message_id: str) -> str:
    return f"thinking/{message_id}"


def _amount(fold: Fold) -> str:
    size = sum(len(part) for parts in fold.messages.values() for part in parts)
    characters = f"{scaled(size)} characters"
    if not fold.markdown:
        return " · ".join(fact for fact in (characters, fold.took) if fact)
    messages = len(fold.messages)
    return f"{quantity(messages, 'message')}, {characters}" if messages else "no text yet"
