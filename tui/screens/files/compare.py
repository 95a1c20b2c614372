"""Two versions of a text compared: side by side on a wide screen, otherwise inline; and the choice of the versions."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

from textual.content import Content
from textual.widgets.option_list import Option

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.events.units import quantity, size
from ua_tui.core.history.versions import Version, find_versions, other_texts
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.screens.files.headings import ChoiceScreen
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.compare.body import DifferenceBody, describe_counts, right_column
from ua_tui.tui.viewers.compare.difference import Difference, compare_texts, has_source, readable_text
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.reader import FileUnviewable
from ua_tui.tui.viewers.registry import READING
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.workers import start_job

_TIME = "%Y-%m-%d %H:%M:%S"


def describe_version(version: Version) -> str:
    """Say what a version is: a saved copy, another file, or of another session."""
    of_session = f" of {clean_line(version.session, 60)}" if version.session else ""
    return f"{version.what}{of_session}"


def _row(version: Version) -> Content:
    return Content.assemble(
        f"{version.at.astimezone():{_TIME}}  ",
        (f"{size(version.size):>6}  ", "$text-muted"),
        describe_version(version),
        (f"  {middle_cut(clean_line(version.name, 200), 44)}", "$text-muted"),
    )


_ALONE = (
    "No other version of this file is known. Versions are what the agent wrote to the file in this session, "
    "and the copies in SAVED_REPORTS."
)
_SAME = "Both versions have the same text."
_SAME_READABLE = "Both versions have the same readable text. Press m to compare their source."


class CompareScreen(DocumentScreen[None]):
    """Shows what differs between a file and another version of it: at first the one before it.

    Args:
        path: a file of a session or among the saved reports.
    """

    steps_landmarks = True

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = Path(os.path.abspath(path))
        self._versions: list[Version] = []
        self._others: list[Version] = []
        self._other: Version | None = None
        self._difference: Difference | None = None
        self._raw = False
        self._everything = False

    def on_mount(self) -> None:
        """Find the versions."""
        self.title_line.show(clean_line(self.path.name, 200), place="compared")
        self.view.show(TextBody(READING))
        self.update_chrome()
        start_job(self, self._find_versions, "compare")

    # -- reading ----------------------------------------------------------------------------------

    async def _find_versions(self) -> None:
        self._versions = await asyncio.to_thread(find_versions, self.path)
        known = {version.sha256 for version in self._versions}
        others = await asyncio.to_thread(other_texts, self.path)
        self._others = [other for other in others if not other.sha256 or other.sha256 not in known]
        at = self._place_of_file()
        if at < 0:
            self.view.show(TextBody("This file no longer exists."))
        elif len(self._versions) < 2:
            more = " Press v to compare it with another file of its folder." if self._others else ""
            self.view.show(TextBody(_ALONE + more))
        else:
            # The version before the file; the one after it, if the file is the oldest.
            self._other = self._versions[at + 1 if at + 1 < len(self._versions) else at - 1]
            await self._compare()
        self.update_chrome()

    def _place_of_file(self) -> int:
        return next((at for at, version in enumerate(self._versions) if version.path == self.path), -1)

    def _sides(self) -> tuple[Version, Version] | None:
        """The older and the newer version that are compared."""
        at = self._place_of_file()
        if self._other is None or at < 0:
            return None
        pair = (self._versions[at], self._other)
        return (pair[1], pair[0]) if pair[1].at <= pair[0].at else pair

    async def _compare(self) -> None:
        sides = self._sides()
        if sides is None:
            return
        self._difference, self.landmark = None, -1
        try:
            older, newer = [await in_thread(partial(readable_text, side, source=self._raw)) for side in sides]
            difference = await in_thread(compare_texts, older, newer)
        except FileUnviewable as error:
            self.view.show(TextBody(str(error)))
        except ConversionFailed as error:
            self.view.show(TextBody(f"These versions cannot be compared: {clean_line(str(error), 200)}."))
        else:
            self._difference = difference
            self.view.show(self._body(difference))
        self.update_chrome()

    def _body(self, difference: Difference) -> Body:
        if difference.changes or self._everything:
            return DifferenceBody(difference, everything=self._everything)
        return TextBody(_SAME_READABLE if self._has_source and not self._raw else _SAME)

    @property
    def _has_source(self) -> bool:
        return self._other is not None and has_source(self._other)

    # -- title and keys ---------------------------------------------------------------------------

    def update_chrome(self) -> None:
        """Update the title, the legend and the keys."""
        difference, sides = self._difference, self._sides()
        facts = self.search_facts()
        if difference is not None:
            changes = len(difference.changes)
            if changes and self.landmark >= 0:
                facts.append(f"change {self.landmark + 1:,} of {changes:,}")
            else:
                facts.append(quantity(changes, "change") if changes else "no change")
            if counts := describe_counts(difference.counts):
                facts.append(counts)
        self.title_line.show(facts=" · ".join(facts))
        self._show_legend(sides)
        self._offer_keys()

    def _show_legend(self, sides: tuple[Version, Version] | None) -> None:
        legend = Content("")
        if sides is not None:
            left, right = (
                Content.assemble((sign, f"bold {style}"), f" {_describe(side)}")
                for sign, style, side in zip("-+", ("$error", "$success"), sides, strict=True)
            )
            start = right_column(self.view.scrollable_content_region.width)
            legend = left + " " * max(3, start - left.cell_length) + right
        self.query_one("#viewer-notice", Words).show(legend)

    def on_document_view_laid_out(self) -> None:
        """Show what each column is above it."""
        self._show_legend(self._sides())

    def _offer_keys(self) -> None:
        differs = self._difference is not None and bool(self._difference.changes)
        self.key_line.show_keys(
            ("Esc", "close", "screen.close"),
            differs and ("n", "next change", "screen.match(1)"),
            differs and ("N", "previous", "screen.match(-1)"),
            differs and ("f", "only changes" if self._everything else "whole text", "screen.everything"),
            (len(self._versions) > 1 or bool(self._others)) and ("v", "versions", "screen.choose"),
            self._has_source and ("m", "rendered" if self._raw else "raw", "screen.toggle_raw"),
            ("/", "search", "screen.search"),
            ("?", "keys", "app.keys_here"),
        )

    # -- keys -------------------------------------------------------------------------------------

    def action_everything(self) -> None:
        """Show the whole text, or only what changed."""
        if self._difference is not None:
            self._everything = not self._everything
            self.landmark = -1
            self.view.show(self._body(self._difference))
            self.update_chrome()

    def action_toggle_raw(self) -> None:
        """Compare the source of pages, or their readable text."""
        if self._has_source:
            self._raw = not self._raw
            start_job(self, self._compare, "compare")

    def action_choose(self) -> None:
        """Let the person choose what the file is compared with."""
        at = self._place_of_file()
        versions = [version for number, version in enumerate(self._versions) if number != at]
        if not versions and not self._others:
            self.notify("There is nothing to compare this file with.")
            return

        listed = [*versions, *self._others]

        def chosen(other: Version | None) -> None:
            if other is not None:
                self._other = other
                start_job(self, self._compare, "compare")

        rows = LetterKeyList(*(Option(_row(version)) for version in listed), id="versions-found")
        title = f"Compare {clean_line(self.path.name, 60)} with"
        self.app.push_screen(ChoiceScreen(title, rows, listed, "compare"), chosen)


def _describe(version: Version) -> str:
    name = f" {clean_line(version.name, 60)}" if version.what == "another file" else ""
    return f"{version.at.astimezone():{_TIME}} {describe_version(version)}{name}, {size(version.size)}"
