"""Reads what a session has read, as the sources of its reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.evidence.records import Source, SourceKind
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.text import clean_line
from ua_tui.observers.evidence.addresses import address_key
from ua_tui.observers.evidence.session.artifacts import Artifacts, Found
from ua_tui.observers.evidence.session.journal import SessionJournal, read_journal
from ua_tui.observers.evidence.session.local_files import LocalFiles
from ua_tui.observers.evidence.session.results import CrawledPage, FailedPage, Results
from ua_tui.observers.evidence.session.texts import source_of
from ua_tui.observers.evidence.sources import Earlier, Sources, SourceText
from ua_tui.observers.knowledge.cleaning import Cleaner, clean_text, clean_title, heading_of

LARGEST = 16_000_000
"""Characters of all sources together; what comes behind them is left out."""
_MOST = 10_000
_MOST_NAMED_PROBLEMS = 3
_NONE = "This session itself has read no sources."


def read_sources(
    folder: Path, redactor: Redactor, report: str, earlier: Earlier | None = None, stop: Stop = NEVER
) -> Sources:
    """Read the sources of the session in `folder` for the report at the path `report`; blocks.

    The session may be running. What cannot be read is left out, and `notices` says so. `Sources.look_up` adds to them
    what the addresses of the report lead to, with `earlier` also pages of earlier sessions.

    Raises:
        Stopped: the flag was set.
    """
    try:
        root = Root(folder)
    except (UniversalAgentError, OSError, ValueError) as error:
        return Sources(notices=(f"The sources could not be read: {clean_line(str(error), 300)}.",))
    reading = _Reading(root, redactor, read_journal(folder, stop), stop)
    reading.read()
    return reading.sources(report, earlier)


class _Reading:
    """The sources of one session, as far as they have been read."""

    def __init__(self, root: Root, redactor: Redactor, journal: SessionJournal, stop: Stop) -> None:
        self._root = root
        self._cleaner = Cleaner(redactor)
        self._journal = journal
        self._stop = stop
        self._artifacts = Artifacts(root, journal, self._cleaner, stop, lambda: self._is_full)
        self._results = Results(root, journal, self._cleaner, stop)
        self._texts: list[SourceText] = []
        self._named: dict[int, tuple[str, ...]] = {}
        self._asked: dict[int, frozenset[str]] = {}
        self._others: dict[str, list[int]] = {}
        self._failures: dict[str, str] = {}
        self._length = 0
        self._is_full = False

    def read(self) -> None:
        """Read everything, in the order of its weight."""
        self._add_all(self._artifacts.pages())
        self._add_gone()
        self._add_others()
        self._add_all(self._artifacts.rows())
        self._add_all(self._artifacts.runs())
        self._add_all(self._artifacts.unparsed())
        for found, asked in self._results.texts():
            if self._add(found):
                self._asked[len(self._texts) - 1] = asked
        self._add_all(self._results.files())
        self._add_all(self._queries())
        self._add_addresses()

    def sources(self, report: str, earlier: Earlier | None) -> Sources:
        """The sources for a report."""
        return Sources(
            texts=self._texts,
            notices=tuple(self._notices()),
            named=self._named,
            asked=self._asked,
            others=self._others,
            failures=self._failures,
            files=LocalFiles(self._root, report, self._journal, self._cleaner),
            earlier=earlier,
        )

    def _add_all(self, found: Iterator[Found]) -> None:
        for each in found:
            if not self._add(each):
                return

    def _add(self, found: Found) -> bool:
        """Add a source, if there is room for it; returns whether there was."""
        self._stop.check()
        self._length += len(found.text)
        if self._is_full or self._length > LARGEST or len(self._texts) >= _MOST:
            self._is_full = True
            return False
        number = len(self._texts)
        self._texts.append(SourceText(number, found.record, found.text))
        if found.named:
            self._named[number] = tuple(found.named)
        if found.final_url:
            self._others.setdefault(address_key(found.final_url), []).append(number)
        return True

    def _add_gone(self) -> None:
        """Add the pages that were read, as the journal says, and whose files are no longer there or not as saved."""
        known = {address_key(text.record.url) for text in self._texts}
        calls = {text.record.tool_use_id for text in self._texts}
        for page, result in self._results.crawled():
            key = address_key(page.url)
            if isinstance(page, FailedPage):
                self._failures[key] = clean_line(self._cleaner.masked(page.error), 200)
            elif key not in known:
                known.add(key)
                self._add(self._gone(page, result.call.tool_use_id))
        for address, reason in self._results.failures():
            self._failures[address_key(address)] = clean_line(self._cleaner.masked(reason), 200)
        asked = dict(self._results.pages_asked())
        for path, event in self._journal.saved.items():
            call = self._journal.makers.get(path, "")
            url = asked.get(call) if event.kind == "article" and call not in calls else None
            if url and (key := address_key(url)) not in known:
                known.add(key)
                self._add(self._gone(CrawledPage(url, path=path), call))

    def _gone(self, page: CrawledPage, call: str) -> Found:
        record = Source(
            kind="article",
            title=clean_title(self._cleaner.masked(page.title)),
            url=self._cleaner.address(page.url, self._cleaner.masked(page.url)),
            path=page.path,
            tool_use_id=call,
            published=clean_title(page.date or "", 40),
            gone=True,
        )
        return Found(record, "")

    def _add_others(self) -> None:
        """Note the addresses that readers were asked for, if their pages have others, as after a redirect."""
        by_call: dict[str, list[SourceText]] = {}
        for text in self._texts:
            by_call.setdefault(text.record.tool_use_id, []).append(text)
        for call, url in self._results.pages_asked():
            pages = by_call.get(call, ())
            if len(pages) == 1 and address_key(pages[0].record.url) != (key := address_key(url)):
                self._others.setdefault(key, []).append(pages[0].number)

    def _queries(self) -> Iterator[Found]:
        for event in self._journal.queries:
            # A custom command, or a resource of a server, is in the text that was sent.
            sent = getattr(event, "prompt", "") or event.text
            text = clean_text(self._cleaner.masked(sent))
            if text:
                yield Found(
                    source_of("query", text, title=heading_of(text), part=event.seq, read_at=event.at), text
                )

    def _add_addresses(self) -> None:
        """Add the list of the addresses that searches found, if it has some that nothing else has."""
        known = {address_key(text.record.url) for text in self._texts}
        found = [url for url in self._artifacts.addresses() if address_key(url) not in known]
        if found:
            kind: SourceKind = "search_row"
            text = clean_text(self._cleaner.masked("\n".join(found)))
            record = source_of(
                kind, "", title="Addresses that searches found", path="search_results/urls.txt"
            )
            self._add(Found(msgspec.structs.replace(record, gone=True), "", text.split("\n")))

    def _notices(self) -> Iterator[str]:
        if self._journal.problem:
            yield f"The journal of the session could not be read: {self._journal.problem}."
        if not any(text.record.kind != "query" for text in self._texts):
            yield _NONE
        if problems := self._artifacts.problems:
            yield f"Not compared, as they cannot be read or were changed after they were saved: {_list(problems)}."
        if unread := self._results.unread:
            yield f"Not compared, as no text can be read from them: {_list(unread)}."
        if self._is_full:
            yield f"Only the first {len(self._texts):,} sources were compared: all together are too long."


def _list(paths: Sequence[str]) -> str:
    """The first paths of several, and how many more there are."""
    shown = ", ".join(clean_line(path, 100) for path in paths[:_MOST_NAMED_PROBLEMS])
    more = len(paths) - _MOST_NAMED_PROBLEMS
    return f"{shown} and {more} more" if more > 0 else shown
