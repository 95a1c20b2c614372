"""What a person decides and a model says about the claims of a report: stored, and reported to the session."""

from __future__ import annotations

import asyncio
import getpass
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.ledger import Answer, Ledger
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import ClaimsDecided
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.export import redactor_of
from ua_tui.tui.viewers.claims.checked import FoundCheck
from ua_tui.tui.workers import start_job


class Signing:
    """Decides claims of a checked report; a claim counts as decided before the decision is written.

    `app` shows what fails, and has the session that learns of decisions about its own reports.
    """

    def __init__(self, app: Any, on_decided: Callable[[], None]) -> None:
        self.file: FoundCheck | None = None
        """The file with its check and what is decided and said."""
        self.changed = [on_decided]
        """What is called after each decision."""
        self._app = app
        self._deciding: list[int] = []
        self._order = asyncio.Lock()

    @property
    def report(self) -> CheckedReport:
        """The checked report; there is one wherever claims can be decided."""
        assert self.file is not None
        assert self.file.report is not None
        return self.file.report

    def next_open(self, numbers: Sequence[int], number: int) -> int | None:
        """The first open claim of `numbers` behind a claim of them, else before it; None if there is none."""
        at, claims = numbers.index(number) + 1 if number in numbers else 0, self.report.claims
        still_open = (each for each in (*numbers[at:], *numbers[:at]) if claims[each].answer is None)
        return next((each for each in still_open if each not in self._deciding), None)

    def decide(self, numbers: Collection[int], answer: Answer | None, note: str | None = None) -> None:
        """Accept or reject claims, or with None store a `note`, or open them again if there is none, either."""
        start_job(self._app, self._decide, "decisions", numbers, answer, note, replacing=False)
        self._deciding += numbers if answer else ()

    async def _decide(self, numbers: Collection[int], answer: Answer | None, note: str | None) -> None:
        async with self._order:
            try:
                ledger = Ledger(self.folder, self.report.report)
                claims, redactor = self.report.claims, redactor_of(self._app)
                await asyncio.to_thread(ledger.decide, claims, numbers, answer, redactor, note=note)
                self._use(ledger)
                self._publish()
            except UniversalAgentError as error:
                self._app.notify(f"Not stored: {clean_line(str(error), 600)}", severity="warning")
            finally:
                for number in numbers if answer else ():
                    self._deciding.remove(number)
        for changed in self.changed:
            changed()

    async def ask_model(self, agrees: Callable[[str], Awaitable[bool]]) -> None:
        """Ask for a second opinion on the claims, if the person `agrees` to its price.

        Raises:
            UniversalAgentError: nobody can be asked, a limit would be passed, or there was no answer.
        """
        from ua_tui.core.session import opinion

        session = self._session()
        ledger = await opinion.ask_opinion(
            nullcontext(session.opinion_terms)
            if session is not None
            else opinion.terms_of_past_session(self.folder, self._app.settings, redactor_of(self._app)),
            self.report,
            agrees,
        )
        if ledger is not None:
            self._use(ledger)

    def _use(self, ledger: Ledger) -> None:
        assert self.file is not None
        self.file = self.file._replace(report=self.report.judged(ledger))

    def _publish(self) -> None:
        """Report the decisions to the session, if it runs here."""
        if (session := self._session()) is None:
            return
        count = Counter(claim.answer for claim in self.report.claims)
        event = ClaimsDecided(
            report=self.report.report,
            accepted=count["accepted"],
            rejected=count["rejected"],
            open=count[None],
            by=getpass.getuser(),
        )
        session.bus.publish(event)

    @property
    def folder(self) -> Path:
        """The folder of the report's session."""
        assert self.file is not None
        return self.file.origin.session

    def _session(self) -> Any | None:
        """The session whose report the file is, if the application runs it."""
        folder: Path | None = getattr(self._app, "session_folder", None)
        is_own = folder is not None and folder.resolve() == self.folder.resolve()
        return getattr(self._app, "session", None) if is_own else None
