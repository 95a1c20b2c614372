"""What a person decides and a model says about the claims of a report: stored, and reported to the session."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from ua_tui.core.claims.decisions import Answer
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import ClaimsDecided
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.secrets import secrets
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.viewers.claims.checked import CheckedFile, decide, with_opinions
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, Box, Choice, Dialog, Foot
from ua_tui.tui.workers import start_job

_ADVICE = (
    "The model reads the sentences with their passages and says of each whether they agree, without tools. "
    "No state of a claim changes."
)


class OpinionScreen(Dialog[bool]):
    """Asks whether a model is to be asked for the price that `question` names; not asking has the focus."""

    PLACE: ClassVar[KeyPlace] = KeyPlace("Before a second opinion")
    FIRST = "keep"
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("opinion.ask", "y", "answer(True)", "ask the model"),
        key_binding("opinion.leave", "n,escape,q", "answer(False)", "do not ask it"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__(requested=True, quiet=QUIET_SECONDS)
        self._question = question

    def compose(self) -> ComposeResult:
        """Show who is asked, about what, and what it costs."""
        with Box("Second opinion", "-asks"):
            yield Static(Content(clean_line(self._question, 400)), classes="heading")
            yield Static(Content(_ADVICE), classes="advice")
            yield Foot(
                Choice("n", "Do not ask", "keep", "answer(False)"),
                Choice("y", "Ask", "ask", "answer(True)"),
            )


class Signing:
    """Decides claims of a checked report; a claim counts as decided before the decision is written.

    Args:
        app: shows what fails, and has the session that learns of decisions about its own reports.
        on_decided: is called after each decision.
    """

    def __init__(self, app: Any, on_decided: Callable[[], None]) -> None:
        self.file: CheckedFile | None = None
        """The report with its check and its decisions."""
        self.changed = [on_decided]
        """What is called after each decision."""
        self._app = app
        self._deciding: list[int] = []
        self._order = asyncio.Lock()

    def is_open(self, number: int) -> bool:
        """Whether a claim is neither accepted nor rejected."""
        return self.file is not None and self.file.answer(number) is None and number not in self._deciding

    def next_open(self, numbers: Sequence[int], number: int) -> int | None:
        """The first open claim of `numbers` behind a claim of them, else before it; None if there is none."""
        at = numbers.index(number) + 1 if number in numbers else 0
        return next((each for each in (*numbers[at:], *numbers[:at]) if self.is_open(each)), None)

    def decide(self, numbers: Collection[int], answer: Answer | None, note: str | None = None) -> None:
        """Accept or reject claims, open them again if `answer` is None, or if there is a `note` only store that."""
        if note is None and answer is not None:
            self._deciding += numbers
        start_job(self._app, partial(self._decide, numbers, answer, note), "decisions", replacing=False)

    async def _decide(self, numbers: Collection[int], answer: Answer | None, note: str | None) -> None:
        async with self._order:
            assert self.file is not None
            try:
                deciding = partial(decide, self.file, numbers, answer, self._redactor(), note)
                self.file = await asyncio.to_thread(deciding)
                self._publish(self.file)
            except UniversalAgentError as error:
                why = f"Not stored: {clean_line(str(error), 600)}"
                self._app.notify(why, severity="warning", markup=False)
            finally:
                for number in numbers if note is None and answer is not None else ():
                    self._deciding.remove(number)
        for changed in self.changed:
            changed()

    async def ask_model(self) -> None:
        """Ask for a second opinion on the claims, if the person agrees to its price.

        Raises:
            UniversalAgentError: nobody can be asked, a limit would be passed, or there was no answer.
        """
        from ua_tui.core.session import opinion

        file, session = self.file, self._session()
        assert file is not None
        assert file.check is not None
        opinions = await opinion.ask_opinion(
            nullcontext(session.opinion_terms)
            if session is not None
            else opinion.terms_of_past_session(file.session, self._app.settings, self._redactor()),
            file.check,
            lambda question: self._app.push_screen_wait(OpinionScreen(question)),
        )
        if opinions is not None:
            # Claims may have been decided meanwhile.
            self.file = with_opinions(self.file or file, opinions)

    def _publish(self, file: CheckedFile) -> None:
        """Report the decisions to the session, if it runs here."""
        if (session := self._session()) is None:
            return
        count = Counter(decision.answer if decision else None for decision in file.decisions)
        event = ClaimsDecided(
            report=file.report,
            accepted=count["accepted"],
            rejected=count["rejected"],
            open=count[None],
            by=getpass.getuser(),
        )
        session.bus.publish(event)

    def _session(self) -> Any | None:
        """The session whose report the file is, if the application runs it."""
        folder: Path | None = getattr(self._app, "session_folder", None)
        own = self.file.session.resolve() if self.file is not None else None
        return getattr(self._app, "session", None) if folder is not None and folder.resolve() == own else None

    def _redactor(self) -> Redactor:
        settings = getattr(self._app, "settings", None)
        return Redactor(secrets(settings, os.environ) if settings is not None else ())
