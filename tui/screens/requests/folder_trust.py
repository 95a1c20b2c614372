"""The trust dialog for a folder: what its files would change, by group, and the possible answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from textual.content import Content
from textual.widget import Widget

from ua_tui.core.trust import GROUPS, Answer
from ua_tui.core.trust_question import FolderChange, FolderQuestion
from ua_tui.tui.screens.requests.arguments import ArgumentsView, reveal, reveal_line
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, FactRows, Foot, Words

FolderAnswer = Answer | Literal["view", "not_now"]


class FolderTrustScreen(Dialog[FolderAnswer | None]):
    """Asks whether to trust a folder. Esc and Enter postpone the decision: the files have no effect then."""

    FIRST = "not_now"

    def __init__(self, question: FolderQuestion, *, requested: bool = False) -> None:
        self.question = question
        keys = Words(_keys_sentence(question.keys), "facts") if question.keys else None
        box = Box(
            "The folder has changed" if question.state == "changed" else "Trust this folder?",
            "-asks",
            Words(reveal_line(str(question.folder)), "heading"),
            *(_details(question) if keys is None else [keys]),
            Foot(*self._choices()),
        )
        super().__init__(box, requested=requested)

    def action_choose(self, answer: FolderAnswer) -> None:
        """Answer, if this answer is offered."""
        if answer in ("view", "not_now", *self._answers):
            self.answer(answer)

    @property
    def _answers(self) -> tuple[FolderAnswer, ...]:
        # Of keys alone there is no other part.
        return tuple(each for each in self.question.answers if each != "partly" or not self.question.keys)

    def _choices(self) -> Iterator[Choice]:
        labels: tuple[tuple[FolderAnswer, str, str], ...] = (
            ("trusted", "t", "Use them" if self.question.keys else "Trust"),
            ("partly", "p", "Partly"),
            ("ignored", "i", "Ignore"),
            ("view", "v", "View"),
            ("not_now", "Esc", "Not now"),
        )
        for answer, key, label in labels:
            if answer in ("view", "not_now", *self._answers):
                yield Choice(key, label, answer, f"choose('{answer}')")


class FolderFilesScreen(Dialog[None]):
    """Shows the files of a folder, with secrets masked."""

    FIRST = "close"

    def __init__(self, question: FolderQuestion) -> None:
        files: list[Widget] = []
        for number, (name, text) in enumerate(question.texts.items()):
            files.append(Words(reveal_line(name), "facts heading" if number else "heading"))
            files.append(ArgumentsView(reveal(text).rstrip("\n").split("\n")))
        foot = Foot(Choice("Esc", "Back", "close"))
        super().__init__(Box("Files of the folder", "-asks", *files, foot), requested=True)


def _details(question: FolderQuestion) -> Iterator[Widget]:
    about = "Its files have no effect until you answer. They would change:"
    if question.difference:
        yield Words("Since you answered, this has changed:", "facts")
        yield ArgumentsView([reveal(each) for each in question.difference])
        about = "Its files have no effect until you answer again. In total they change:"
    yield Words(about, "facts")
    for group, title in GROUPS.items():
        changes = [each for each in question.changes if each.affects == group]
        if changes:
            yield Words(Content.styled(title, "bold $warning"), "facts")
            yield FactRows([_row(each) for each in changes], "-folder")
    for problem in question.problems:
        yield Words(f"It cannot be trusted as it is. {reveal_line(problem)}", "facts")
    if "partly" in question.answers:
        yield Words(_PARTLY, "advice")


_PARTLY = (
    "Partly: ignores the servers, addresses, keys, accounts, Logfire and sessions folder of these files."
)


def _row(change: FolderChange) -> tuple[str, str]:
    note = f" · held back: {change.note}" if change.note else ""
    text = reveal_line(f"{change.value}  ({change.source}){note}")
    what = change.what.removeprefix("the ")
    return reveal_line(what[:1].upper() + what[1:]), text


def _keys_sentence(services: tuple[str, ...]) -> str:
    *first, last = services
    names = f"{', '.join(first)} and {last}" if first else last
    return f"Its .env has keys for {names}. If you trust it, queries and tool calls use the accounts of these keys."
