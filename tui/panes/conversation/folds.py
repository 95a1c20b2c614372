"""The text that is folded to one line of a conversation: thinking, texts of sub-agents, what commands stand for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ua_tui.core.events.describe import Severity
from ua_tui.core.events.tool_names import Step
from ua_tui.core.events.types import (
    MessageFinished,
    TextDelta,
    ThinkingDelta,
)
from ua_tui.core.events.units import count as scaled
from ua_tui.core.events.units import duration, live_duration, quantity
from ua_tui.core.text import clean, clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.conversation.blocks import Block, Fold, Prose, Verbatim, plan_text
from ua_tui.tui.panes.conversation.page import Page
from ua_tui.tui.panes.conversation.stream import pieces_of
from ua_tui.tui.render.events import MARKS
from ua_tui.tui.render.format import Mark

SHORTEST_SHOWN = 0.1
"""Seconds; no duration is shown for shorter thinking."""

STOPPED = "stopped by you"
_ENDS = {"success": "done", "error": "failed"}
_SEVERITIES = {"success": Severity.SUCCESS, "error": Severity.ERROR}
_LONGEST_LINE = 160


@dataclass(slots=True)
class _Work:
    """A sub-agent that runs, and the lines that it wrote.

    `call` is the id of its call if that has not ended, `calls` are those of its own that run.
    """

    fold: Fold
    began: float
    call: str | None
    calls: list[str] = field(default_factory=list)
    text: str = ""
    first_line: str = ""
    last_line: str = ""

    def activity(self, view: SessionView) -> str:
        """Its newest call that runs, how many others do, and the last line that it wrote."""
        newest = view.call(self.calls[-1]) if self.calls else None
        doing = f"{newest.label} {newest.done or newest.argument}" if newest is not None else ""
        call = clean_line(doing, _LONGEST_LINE)
        others = f"+{len(self.calls) - 1}" if len(self.calls) > 1 else ""
        said = f"“{self.last_line}" if self.last_line else ""
        return " · ".join(filter(None, (call, others, said)))

    def read(self, event: TextDelta | MessageFinished) -> None:
        """Note the first and the last line of the message that it wrote or writes."""
        complete = isinstance(event, MessageFinished)
        self.text = event.text if complete else (self.text + event.text)[-2_000:]
        lines = [line for line in self.text.strip().splitlines() if line.strip()]
        if lines:
            self.last_line = clean_line(lines[-1], _LONGEST_LINE).lstrip("#*>- ")
        if lines and complete:
            self.text = ""
            self.first_line = clean_line(lines[0], _LONGEST_LINE).lstrip("#*>- ")


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
        self._grown: dict[Hashable, Fold] = {}
        self._work: dict[str, _Work] = {}

    def stoppable(self, block: Block | None) -> Fold | None:
        """The fold of the sub-agent that a block is about, if that runs, or of the only one that does."""
        fold = self.fold_of(block) if block is not None else None
        work = self._work.get(str(fold.key)) if fold is not None else None
        if work is None and len(self._work) == 1:
            work = next(iter(self._work.values()))
        return None if work is None else work.fold

    def fold_of(self, block: Block) -> Fold | None:
        """The fold that a block is, or is the text of; None when it belongs to no fold."""
        return self._folds.get(block.group) if isinstance(block.group, str) else None

    # Thinking

    def has_thought(self, message_id: str) -> bool:
        """Whether there is a fold for the thinking before a message."""
        return _thinking(message_id) in self._folds

    def add_thinking(self, event: ThinkingDelta) -> None:
        """Add to the thinking before a message."""
        key = _thinking(event.message_id)
        if (fold := self._folds.get(key)) is None:
            fold = self._add_plain(key, "Thinking", [])
            fold.began = event.at
        fold.messages[""].append(clean(event.text))
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

    # Queries

    def add_sent(self, key: str, prompt: str) -> None:
        """Add what was sent in place of a query."""
        self._sum_up(self._add_plain(f"sent/{key}", "Sent", [clean(prompt)]))

    def add_plan(self, query_id: str, steps: tuple[Step, ...]) -> None:
        """Add the plan of a query that has ended, if it had one."""
        key = f"plan/{query_id}"
        if steps and key not in self._folds:
            done = f"{sum(step.done for step in steps)} of {quantity(len(steps), 'step')} done"
            self._add_plain(key, f"Plan: {done}", [plan_text(steps)])

    # Sub-agents

    def tick(self, now: float, spinner: str) -> None:
        """Show how long each sub-agent has been working; `now` is the time of day in seconds."""
        for work in self._work.values():
            work.fold.mark = spinner
            work.fold.summary = live_duration(now - work.began)
            self._page.change(work.fold)

    def add_subagent_text(self, event: TextDelta | MessageFinished, view: SessionView) -> None:
        """Add to the text of a sub-agent."""
        call = event.parent_tool_use_id
        assert call is not None
        text = clean(event.text)
        if isinstance(event, MessageFinished):
            if not text.strip():
                return
            self.of_subagent(call, event.at, view).messages[event.message_id] = [text]
        else:
            self.of_subagent(call, event.at, view).messages.setdefault(event.message_id, []).append(text)
        fold = self._folds[call]
        if (work := self._work.get(call)) is not None:
            work.read(event)
        self._note_grown(fold)

    def end_subagent(self, call: str, status: str, at: float, view: SessionView) -> None:
        """Show how the work of a sub-agent ended and what it wrote last, if it has a fold and has not ended."""
        work, record = self._work.pop(call, None), view.call(call)
        if work is None:
            return
        seconds = at - work.began
        facts = [_ENDS.get(status, status)]
        facts += [quantity(record.calls, "call")] if record is not None and record.calls else []
        facts += [duration(seconds)] if seconds >= SHORTEST_SHOWN else []
        # What it worked on tells finished ones apart.
        work.fold.name = ""
        work.fold.severity = severity = _SEVERITIES.get(status, Severity.STOPPED)
        work.fold.mark, work.fold.summary, work.fold.activity = (
            MARKS[severity],
            " · ".join(facts),
            work.first_line,
        )
        self._page.change(work.fold)

    def end_subagents(self, status: str, view: SessionView) -> None:
        """Show the same end for all sub-agents that still look as if they ran."""
        for call, work in list(self._work.items()):
            self.end_subagent(call, status, work.began, view)

    def of_subagent(
        self, call: str, at: datetime, view: SessionView, description: str = "", name: str = ""
    ) -> Fold:
        """The fold of a sub-agent, which shows that it works, and on what."""
        fold = self._folds.get(call)
        if fold is None:
            record = view.call(call)
            name = clean_line(name) or (record.agent if record is not None else "") or "sub-agent"
            # Several of one name are told apart by what they do.
            title = f"{description} ({name})" if description else name
            fold = Fold(key=call, group=call, title=title, name=description or name, mark=Mark.RUNNING.glyph)
            is_open = record is not None and record.status is None
            self._work[call] = _Work(fold, at.timestamp(), call if is_open else None)
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

    def show_grown(self, view: SessionView) -> None:
        """Show what sub-agents do, and in the open folds what came since the last time; once for a batch."""
        running: dict[Hashable, list[str]] = {}
        for each in view.activity.calls.values() if self._work else ():
            running.setdefault(each.parent_tool_use_id, []).append(each.tool_use_id)
        for work in list(self._work.values()):
            call, calls = view.call(work.call), running.get(work.fold.key, [])
            if call is not None and call.status is not None and call.ended_offset is not None:
                ended = call.at.timestamp() + call.ended_offset - call.offset
                self.end_subagent(call.id, call.status, ended, view)
            else:
                work.calls = calls
                activity = work.activity(view)
                if activity != work.fold.activity:
                    work.fold.activity = activity
                    self._page.change(work.fold)
        for fold in self._grown.values():
            if fold.open:
                self._show_text(fold)
        self._grown.clear()

    def _add_plain(self, key: str, title: str, text: list[str]) -> Fold:
        """Add a fold of a text that is no Markdown, of these parts."""
        fold = Fold(key=key, group=key, title=title, markdown=False, messages={"": text})
        self._add(key, fold)
        return fold

    def _add(self, key: str, fold: Fold) -> None:
        self._folds[key] = fold
        self._page.add(fold)

    def _sum_up(self, fold: Fold) -> None:
        size = sum(len(part) for parts in fold.messages.values() for part in parts)
        fold.summary = " · ".join(filter(None, (f"{scaled(size)} characters", fold.took)))
        self._note_grown(fold)

    def _note_grown(self, fold: Fold) -> None:
        self._page.change(fold)
        if fold.open:
            self._grown[fold.key] = fold

    def _show_text(self, fold: Fold) -> None:
        """Bring the blocks below a fold in line with its text; those that are equal stay as they are."""
        start = self._page.view.index_of(fold.key)
        assert start is not None
        old = self._shown_text(start)
        new = self._blocks(fold) if fold.open else []
        same = 0
        for before, after in zip(old, new, strict=False):
            if not (isinstance(before, Prose) and isinstance(after, Prose) and before.source == after.source):
                break
            same += 1
        self._page.view.splice(start + 1 + same, len(old) - same, new[same:])

    def _blocks(self, fold: Fold) -> list[Block]:
        if fold.markdown:
            return [*pieces_of(fold.text or "…", fold.group, self._numbers, indent=2)]
        key = (fold.key, "text")
        return [Verbatim(key=key, group=fold.group, text=fold.text, quiet=True, revision=len(fold.text))]

    def _shown_text(self, start: int) -> list[Block]:
        entries = self._page.view.entries
        end = start + 1
        while end < len(entries) and entries[end].group == entries[start].group:
            end += 1
        return list(entries[start + 1 : end])


def _thinking(message_id: str) -> str:
    return f"thinking/{message_id}"
