"""The evidence of a report on the screen of the viewer: its marks, its summary, and the panel of one claim."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from textual.content import Content
from textual.widgets import Static

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import quantity
from ua_tui.core.evidence.records import Evidence, ReportCheck, Source
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.viewers.articles.session import article_path
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.evidence.marks import MarkedBody
from ua_tui.tui.viewers.evidence.origin import CheckedFile, check_again, find_check, has_format
from ua_tui.tui.viewers.evidence.passages import claim_body, opened_source
from ua_tui.tui.viewers.evidence.summary import summary_line
from ua_tui.tui.viewers.evidence.view import EvidencePanel, ReportView
from ua_tui.tui.viewers.passage import Passage
from ua_tui.tui.workers import start_job

_INLINE_BELOW = 100
"""Columns of a screen; on a narrower one the signs are in the text."""
_BESIDE_FROM = 120
"""Columns of a screen; on a narrower one the panel is below the report."""
_OLD = "The check is of another version of this file. Press C to check it as it is."
_NONE = "This report has not been checked. Press C to check it."
_NO_SESSION = "This file belongs to no session, so there is nothing to check it against."


@dataclass(frozen=True, slots=True)
class EvidenceFrame:
    """What the screen does for the evidence.

    Attributes:
        show_body: shows the report again, as `ReportEvidence.marked` gives it.
        show_outline: shows or hides the headings beside the report and the panel.
        open_file: shows a file of a session's folder at a passage.
    """

    show_body: Callable[[], None]
    show_outline: Callable[[], None]
    open_file: Callable[[Path, Path, Passage], None]


class ReportEvidence:
    """The check of the report that a screen shows, and which of its claims the reader is at.

    Args:
        screen: has a `ReportView`, an `EvidencePanel` and the line of the summary, `#viewer-check`.
        path: the file.
        frame: what the screen does.
    """

    def __init__(self, screen: DocumentScreen[None], path: Path, frame: EvidenceFrame) -> None:
        self._screen = screen
        self._path = path
        self._frame = frame
        self._file: CheckedFile | None = None
        self._checking = False
        self._keeps_claim = False
        self.only_doubtful = False
        self.doubtful: Sequence[int] = ()
        """The numbers of the claims that a person should look at."""

    # -- state -----------------------------------------------------------------------------------------

    @property
    def check(self) -> ReportCheck | None:
        """The check of the file as it is; None if there is none."""
        return self._file.check if self._file is not None and self._file.is_current else None

    @property
    def origin(self) -> tuple[Path, str] | None:
        """The folder of the session whose report the file is, and the report's path in it; None if unknown."""
        return (self._file.session, self._file.report) if self._file is not None else None

    @property
    def can_check(self) -> bool:
        """Whether the file is a report of a session, and has no check of it as it is."""
        return self._file is not None and not self._file.is_current and not self._checking

    @property
    def is_open(self) -> bool:
        """Whether the panel is open."""
        return bool(self._panel.display)

    @property
    def _panel(self) -> EvidencePanel:
        return self._screen.query_one(EvidencePanel)

    @property
    def _view(self) -> ReportView:
        return self._screen.query_one(ReportView)

    def fact(self) -> str:
        """Which claim the reader is at, for the line of facts."""
        check, number = self.check, self._view.claim
        return self._place(check, number) if check is not None and 0 <= number < len(check.claims) else ""

    def _place(self, check: ReportCheck, number: int) -> str:
        doubtful = self.doubtful
        if check.claims[number].is_doubtful:
            return f"doubtful claim {bisect_left(doubtful, number) + 1:,} of {len(doubtful):,}"
        return f"claim {number + 1:,} of {len(check.claims):,}"

    # -- reading ---------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the check of the file in a thread, then show it."""
        start_job(self._screen, self._read, "evidence")

    async def _read(self) -> None:
        self._use(await in_thread(partial(find_check, self._path)))

    def _use(self, found: CheckedFile | None) -> None:
        had_marks = self.check is not None
        self._file = found
        claims = self.check.claims if self.check is not None else ()
        self.doubtful = [number for number, claim in enumerate(claims) if claim.is_doubtful]
        self._view.claim = -1
        self._panel.show_evidence(None)
        self.only_doubtful = self.only_doubtful and self.check is not None
        self.show_summary()
        if had_marks or self.check is not None:
            self._frame.show_body()
        self._screen.update_chrome()

    def marked(self, body: Body, *, raw: bool) -> Body:
        """A form of the report with its marks, if its check is known."""
        check, file = self.check, self._file
        if check is None or file is None:
            return body
        words = file.raw if raw else file.rendered
        if not words.words:
            return body
        inline = not raw and self._screen.size.width < _INLINE_BELOW
        return MarkedBody(body, check.claims, words, inline, self.only_doubtful, may_be_inline=not raw)

    def show_summary(self) -> None:
        """Show what the check found in one line, or why there is none."""
        line = self._screen.query_one("#viewer-check", Static)
        text = Content("")
        if self._checking:
            text = Content("Checking the report… Esc stops.")
        elif self.check is not None:
            text = summary_line(self.check, brief=self._screen.size.width < _INLINE_BELOW)
        elif self._file is not None and self._file.check is not None:
            text = Content.styled(f"– {_OLD}", "$warning")
        line.update(text)
        line.display = bool(text)

    def on_resize(self) -> None:
        """Move the panel and the signs to where there is room for them."""
        is_wide = self._screen.size.width >= _BESIDE_FROM
        self._screen.query_one("#viewer-main").set_class(not is_wide, "-stacked")
        self.show_summary()
        body = self._view.body
        if isinstance(body, MarkedBody):
            inline = self._screen.size.width < _INLINE_BELOW
            if body.may_be_inline and body.inline != inline:
                self._frame.show_body()

    # -- claims ----------------------------------------------------------------------------------------

    def step(self, step: int, *, doubtful: bool = True) -> None:
        """Go to the next or the previous claim; the ends are connected."""
        check = self._checked()
        if check is None:
            return
        numbers = self.doubtful if doubtful else range(len(check.claims))
        if not numbers:
            message = "No claim is doubtful." if check.claims else "The report has no claims to check."
            self._screen.notify(message, markup=False)
            return
        self._select(self._next(numbers, step, "doubtful claim" if doubtful else "claim"))

    def _next(self, numbers: Sequence[int], step: int, what: str) -> int:
        view, current = self._view, self._view.claim
        if current < 0:
            top = int(view.scroll_offset.y)
            below = [number for number in numbers if view.claim_row(number) >= top]
            if step > 0:
                return below[0] if below else numbers[0]
            above = [number for number in numbers if view.claim_row(number) < top]
            return above[-1] if above else numbers[-1]
        later = [number for number in numbers if (number > current if step > 0 else number < current)]
        if later:
            return later[0] if step > 0 else later[-1]
        if len(numbers) == 1 and numbers[0] == current:
            self._screen.notify(f"This is the only {what}.", markup=False)
        else:
            self._screen.notify(f"{'First' if step > 0 else 'Last'} {what} again.", markup=False)
        return numbers[0] if step > 0 else numbers[-1]

    def keep_claim(self) -> None:
        """Bring the current claim into view again when another form of the report is laid out."""
        self._keeps_claim = self._view.claim >= 0

    def on_laid_out(self) -> None:
        """Bring the current claim into view after the form of the report was changed."""
        if self._keeps_claim and self._view.is_laid_out:
            self._keeps_claim = False
            self._view.select_claim(self._view.claim)

    def _select(self, number: int) -> None:
        self._view.select_claim(number)
        if self.is_open:
            self._show_panel()
        self._screen.update_chrome()

    def choose(self, number: int) -> None:
        """Show the evidence for a claim that was clicked."""
        self._view.select_claim(number)
        self._show_panel()
        self._screen.update_chrome()

    def open(self) -> None:
        """Show the evidence for the current claim, or open its source if that is shown already."""
        check = self._checked()
        if check is None or not check.claims:
            return
        if self.is_open:
            self.open_source()
            return
        if self._view.claim < 0:
            self.step(1, doubtful=bool(self.doubtful))
        self._show_panel()
        self._screen.update_chrome()

    def _show_panel(self) -> None:
        check, number = self.check, self._view.claim
        if check is None or self._file is None or not 0 <= number < len(check.claims):
            return
        disagreements = self._file.by_disagreement.get(check.claims[number].id, ())
        compact = self._screen.size.width < _BESIDE_FROM
        body = claim_body(check, number, disagreements, compact=compact)
        was_open = self.is_open
        self._panel.show_evidence(body)
        if not was_open:
            self._frame.show_outline()
            # The report gets less room: the claim may be outside of it.
            self._view.call_after_refresh(self._view.select_claim, number)

    def close_panel(self) -> bool:
        """Close the panel; False if it is closed."""
        if not self.is_open:
            return False
        self._panel.show_evidence(None)
        self._frame.show_outline()
        self._screen.update_chrome()
        return True

    def toggle_doubtful(self) -> None:
        """Show only what is around doubtful claims, or everything."""
        if self._checked() is None:
            return
        if not self.only_doubtful and not self.doubtful:
            self._screen.notify("No claim is doubtful.", markup=False)
            return
        self.only_doubtful = not self.only_doubtful
        self._frame.show_body()
        self.keep_claim()
        self._screen.update_chrome()

    def show_everything(self) -> bool:
        """Show the complete report again; False if it is shown."""
        if not self.only_doubtful:
            return False
        self.toggle_doubtful()
        return True

    def _checked(self) -> ReportCheck | None:
        """The check, or a notice that there is none."""
        check = self.check
        if check is None and not self._checking:
            self._screen.notify(self._why_not(), markup=False)
        return check

    def _why_not(self) -> str:
        if self._file is None:
            is_report = has_format(self._path)
            return _NO_SESSION if is_report else "Only HTML, Markdown and text are checked as reports."
        return _NONE if self._file.check is None else _OLD

    # -- checking again --------------------------------------------------------------------------------

    def check_again(self) -> None:
        """Check the report as it is now."""
        if self._file is None:
            self._screen.notify(self._why_not(), markup=False)
        elif not self._checking:
            start_job(self._screen, partial(self._check_again, self._file), "evidence")

    async def _check_again(self, known: CheckedFile) -> None:
        from ua_tui.core.knowledge.place import place_of

        self._checking = True
        self.show_summary()
        try:
            settings = getattr(self._screen.app, "settings", None)
            knowledge = place_of(settings) if settings is not None else None
            found = await in_thread(partial(check_again, self._path, known, knowledge=knowledge))
        except (UniversalAgentError, OSError) as error:
            self._screen.warn(f"The report could not be checked: {clean_line(str(error), 300)}")
            return
        finally:
            self._checking = False
            self.show_summary()
            self._screen.update_chrome()
        self._use(found)
        doubtful = len(self.doubtful)
        result = quantity(doubtful, "doubtful claim") if doubtful else "no claim is doubtful"
        self._screen.notify(f"Checked: {result}.", markup=False)

    def stop(self) -> bool:
        """Stop a check that runs; False if none does."""
        if not self._checking:
            return False
        self._screen.workers.cancel_group(self._screen, "evidence")
        return True

    # -- sources ---------------------------------------------------------------------------------------

    def open_source(self) -> None:
        """Open the source of the current claim at its passage."""
        check, number = self._checked(), self._view.claim
        if check is None:
            return
        if not 0 <= number < len(check.claims):
            self._screen.notify("Press ] to choose a doubtful claim first.", markup=False)
            return
        found = opened_source(check, check.claims[number])
        if found is None:
            self._screen.notify("This claim has no source that can be opened.", markup=False)
            return
        start_job(self._screen, partial(self._open_source, *found), "source")

    async def _open_source(self, source: Source, evidence: Evidence) -> None:
        assert self._file is not None
        folder = _session_of(source, self._file.session)
        path = await asyncio.to_thread(article_path, folder, source.path) if source.path else None
        if path is not None:
            start, end = evidence.marks[0] if evidence.marks else (0, 0)
            row = source.part if source.kind == "search_row" else 0
            passage = Passage(evidence.passage, at=start, word=evidence.passage[start:end].strip(), row=row)
            self._frame.open_file(path, folder, passage)
        else:
            self._screen.warn(f"The source is no longer there: {clean_line(source.path, 200)}")


def _session_of(source: Source, session: Path) -> Path:
    """The folder of the session that a source is of."""
    name = source.session
    is_plain = name not in {"", ".", ".."} and "\0" not in name and PurePath(name).name == name
    return session.parent / name if is_plain and session.parent.name == WORKSPACES else session
