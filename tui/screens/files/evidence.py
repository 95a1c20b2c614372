"""The evidence of a report on the screen of the viewer: its marks, its summary, and the panel of one claim."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import Literal

from textual import getters
from textual.content import Content
from textual.widgets import Input

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.ledger import Answer, ListedClaim
from ua_tui.core.claims.records import Passage as SourcePassage
from ua_tui.core.claims.records import Source
from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import quantity
from ua_tui.core.history.versions import TextOrigin
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.screens.files.export import settings_of
from ua_tui.tui.screens.files.signing import Signing
from ua_tui.tui.viewers.articles.page import article_path
from ua_tui.tui.viewers.claims.checked import FoundCheck, check_again, find_check, has_format
from ua_tui.tui.viewers.claims.panel import claim_body, opened_source, summary_line
from ua_tui.tui.viewers.claims.view import EvidencePanel, ReportView
from ua_tui.tui.viewers.passage import Passage
from ua_tui.tui.viewers.view.chrome import Key
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.workers import start_job

_WIDE_FROM = 100
"""Columns of a screen on which all claims are counted."""
_OLD = "This check is for another version of the file. Press R to check this one."
_NONE = "This report has not been checked. Press R to check it."
_EMPTY = "The report has no claims to check."
_NO_REPORT = "Only HTML, Markdown, text and PDF are checked as reports."
_READING = "The check of this report is still being read. Press the key again."
_NO_SESSION = "This file is not in a session, or it is part of a replay, so it cannot be checked."


class ReportScreen(DocumentScreen[None]):
    """A screen of a report with its check, which knows at which of its claims the reader is.

    A subclass has a `ReportView`, an `EvidencePanel` and the line of the summary, `#viewer-check`.
    """

    view = getters.query_one(ReportView)
    panel = getters.query_one(EvidencePanel)
    _checking = False
    is_read = False
    """Whether it is known which report the file is, and whether it was checked."""
    keeps_claim = False
    """Whether the current claim is brought into view again when another form of the report is laid out."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    @abstractmethod
    def show_marks(self) -> None:
        """Show the report again, with the marks of its check."""

    @abstractmethod
    def open_source(self, path: Path, session: Path, passage: Passage) -> None:
        """Show a file of a session's folder at a passage."""

    @cached_property
    def signing(self) -> Signing:
        """Stores what the person decides."""
        return Signing(self.app, self._on_decided)

    @property
    def check(self) -> CheckedReport | None:
        """The check of the file as it is; None if there is none."""
        file = self.signing.file
        return file.report if file is not None and not file.is_old else None

    @property
    def origin(self) -> TextOrigin | None:
        """Which report of which session the file is; None if unknown."""
        return self.signing.file.origin if self.signing.file is not None else None

    @property
    def claims(self) -> Sequence[ListedClaim]:
        """The claims of the check; none without one."""
        return self.check.claims if self.check is not None else ()

    @property
    def doubtful(self) -> Sequence[int]:
        """The numbers of the claims that a person should look at."""
        return [number for number, claim in enumerate(self.claims) if claim.is_doubtful]

    @property
    def _claim(self) -> ListedClaim | None:
        """The claim that the reader is at; None if at none."""
        number = self.view.claim
        return self.claims[number] if 0 <= number < len(self.claims) else None

    def claim_fact(self) -> str:
        """Which claim the reader is at and what was decided about it, for the line of facts."""
        if (claim := self._claim) is None:
            return ""
        what, numbers = self._alike(self.view.claim)
        decided = f", {claim.answer}" if claim.answer else ""
        return f"{what} {numbers.index(self.view.claim) + 1:,} of {len(numbers):,}{decided}"

    def claim_keys(self) -> list[Key | Literal[False]]:
        """The keys of a checked report."""
        if self.check is None:
            may_check = self.origin is not None and not self._checking
            return [("R", "check", "screen.check_again")] if may_check else []
        return [
            ("Enter", "source" if self.panel.display else "evidence", "screen.open_claim"),
            ("}", "next", "screen.claim(1, False)"),
            bool(self.doubtful) and ("]", "doubtful", "screen.claim(1)"),
            ("Tab", "claims", "screen.claims"),
            ("a", "accept", "screen.decide('accepted')"),
            ("x", "reject", "screen.decide('rejected')"),
        ]

    def _alike(self, number: int) -> tuple[str, Sequence[int]]:
        """What a claim is called, and the numbers of those it is one of: the doubtful ones, or all."""
        if number in self.doubtful:
            return "doubtful claim", self.doubtful
        return "claim", range(len(self.claims))

    # -- reading ---------------------------------------------------------------------------------------

    async def read_check(self) -> None:
        """Read the check of the file in a thread, then show it."""
        self._use(await in_thread(find_check, self.path))

    def _use(self, found: FoundCheck | None) -> None:
        had_marks = self.check is not None
        self.is_read = True
        self.signing.file = found
        self.view.claim = -1
        self.panel.show_detail(None)
        self.show_summary()
        if had_marks or self.check is not None:
            self.show_marks()
        self.update_chrome()

    def show_summary(self) -> None:
        """Show what the check found and what was decided, or why there is no check."""
        file, text = self.signing.file, Content("")
        if self._checking:
            text = Content("Checking the report… Esc stops.")
        elif self.check is not None:
            text = summary_line(self.check, brief=self.size.width < _WIDE_FROM)
        elif file is not None and file.is_old:
            text = Content.styled(f"– {_OLD}", "$warning")
        self.query_one("#viewer-check", Words).show(text)

    # -- claims ----------------------------------------------------------------------------------------

    def action_claim(self, step: int, doubtful: bool = True) -> None:
        """Go to the next or the previous claim that is doubtful, or of all; the ends are connected."""
        if not self._has_claims():
            return
        if numbers := self.doubtful if doubtful else range(len(self.claims)):
            self.choose_claim(self._next(numbers, step), opens=False)
        else:
            self.notify("No claim is doubtful.")

    def _next(self, numbers: Sequence[int], step: int) -> int:
        view, current = self.view, self.view.claim
        was_left = view.claim_row(current) >= 0 and not self._is_visible(current)
        if current < 0 or was_left:
            top = int(view.scroll_offset.y)
            ahead = [number for number in numbers if (view.claim_row(number) >= top) == (step > 0)]
        else:
            ahead = [number for number in numbers if (number - current) * step > 0]
        return (ahead or numbers)[0 if step > 0 else -1]

    def _is_visible(self, number: int) -> bool:
        view, row = self.view, self.view.claim_row(number)
        return row >= 0 and 0 <= row - int(view.scroll_offset.y) < view.scrollable_content_region.height

    def on_document_view_laid_out(self) -> None:
        """Bring the current claim into view after the form of the report was changed."""
        if self.keeps_claim and self.view.is_laid_out:
            self.keeps_claim = False
            self.view.select_claim(self.view.claim)

    def choose_claim(self, number: int, *, opens: bool = True) -> None:
        """Go to a claim; `opens` its evidence, or only changes what the panel shows."""
        self.view.select_claim(number)
        # A claim that the rendering does not show, such as a text in a picture, is at least in the panel.
        if opens or self.panel.display or self.view.claim_row(number) < 0:
            self._show_panel()
        self.update_chrome()

    def action_open_claim(self) -> None:
        """Show the evidence for a claim on the screen, or open its source if the evidence is shown already.

        It is the current one if it is on the screen, or else the next doubtful one, or else the first on the screen.
        """
        if not self._has_claims():
            return
        if self.panel.display and self.check is not None and self._claim is not None:
            if source := opened_source(self.check, self._claim):
                start_job(self, self._show_source, "source", self.signing.folder, *source)
            else:
                self.notify("This claim has no source that can be opened.")
            return
        numbers = self.doubtful or range(len(self.claims))
        visible = (each for each in (self.view.claim, *numbers) if self._is_visible(each))
        self.choose_claim(next(visible, self._next(numbers, 1)))

    async def _show_source(self, session: Path, source: Source, passage: SourcePassage) -> None:
        name, folder = source.session, session
        is_plain = name not in {"", ".", ".."} and "\0" not in name and PurePath(name).name == name
        if is_plain and session.parent.name == WORKSPACES:
            folder = session.parent / name
        path = await asyncio.to_thread(article_path, folder, source.path)
        if path is None:
            self.warn(f"The source no longer exists: {clean_line(source.path, 200)}")
            return
        exact, row = passage.quote.exact, source.part if source.kind == "search_row" else 0
        at = max(0, passage.text.find(exact))
        self.open_source(path, folder, Passage(passage.text, at=at, word=exact.strip(), row=row))

    def _show_panel(self) -> None:
        if self.check is None or self._claim is None:
            return
        was_open, view = self.panel.display, self.view
        self.panel.show_detail(claim_body(self.check, view.claim))
        if not was_open:
            # The report gets less room: the claim may be outside of it. By then it may be another one.
            view.call_after_refresh(lambda: view.select_claim(view.claim))

    def action_leave(self) -> None:
        """Stop a check that runs, then close the evidence, then what else can be left, then the screen."""
        if self.query_one(Input).display or not (self._checking or self.panel.display):
            super().action_leave()
        elif self._checking:
            self.workers.cancel_group(self, "evidence")
        else:
            self.panel.show_detail(None)
            self.update_chrome()

    def _has_claims(self) -> bool:
        """Whether there are claims; if there are none it is said why."""
        file = self.signing.file
        if file is None:
            why = _NO_REPORT if not has_format(self.path) else _NO_SESSION if self.is_read else _READING
        else:
            why = _EMPTY if self.check is not None else _OLD if file.is_old else _NONE
        if not self.claims and not self._checking:
            self.notify(why)
        return bool(self.claims)

    # -- checking again --------------------------------------------------------------------------------

    def action_check_again(self) -> None:
        """Check the report as it is now."""
        if self.origin is None:
            self._has_claims()
        elif not self._checking:
            start_job(self, self._check_again, "evidence", self.origin)

    async def _check_again(self, origin: TextOrigin) -> None:
        from ua_tui.core.knowledge.place import place_of

        self._checking = True
        self.show_summary()
        try:
            knowledge = place_of(settings_of(self.app))
            found = await in_thread(check_again, self.path, origin, knowledge)
        except (UniversalAgentError, OSError) as error:
            self.warn(f"The report could not be checked: {clean_line(str(error), 300)}")
            return
        finally:
            self._checking = False
            self.show_summary()
            self.update_chrome()
        self._use(found)
        doubtful = len(self.doubtful)
        result = quantity(doubtful, "doubtful claim") if doubtful else "no claim is doubtful"
        self.notify(f"Checked: {result}.")

    # -- decisions -------------------------------------------------------------------------------------

    def action_claims(self) -> None:
        """Show all claims as a table."""
        # A new check counts its claims in another way.
        if not self._checking and (self.check is not None or self._has_claims()):
            from ua_tui.tui.screens.files.claims import ClaimsScreen

            self.app.push_screen(ClaimsScreen(self.signing, self.choose_claim, self.view.claim))

    def action_decide(self, answer: Answer) -> None:
        """Accept or reject the current claim, and go to the next one that is open; a claim not yet seen is shown first.

        From a doubtful claim it goes to a doubtful one.
        """
        if self._checking or not self._has_claims():
            return
        current = self.view.claim
        if not self.panel.display and not self._is_visible(current):
            self.action_open_claim()
            self.notify(f"Press the key again to {answer.removesuffix('ed')} this claim.")
            return
        self.signing.decide([current], answer)
        what, numbers = self._alike(current)
        if (following := self.signing.next_open(numbers, current)) is not None:
            self.choose_claim(following, opens=False)
        else:
            self.notify(f"No {what} is left: Tab lists all claims.")

    def _on_decided(self) -> None:
        if self.is_attached:
            self.show_summary()
            if self.panel.display:
                self._show_panel()
            self.update_chrome()
