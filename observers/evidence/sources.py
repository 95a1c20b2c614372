"""What a session has read: the texts with which a report is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.evidence.records import Source, Verdict
from ua_tui.core.text import clean_line
from ua_tui.observers.evidence.addresses import address_key, addresses_in, host_of, is_web, key_is_in
from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.figures.find import find_figures
from ua_tui.observers.evidence.quoting.folding import Folded
from ua_tui.observers.evidence.session.local_files import LocalFiles

_MOST_LOOKED_UP = 1_000
"""Addresses of a report that are looked up."""
_MOST_ADDED = 8_000_000
"""Characters of all texts that are added by looking up; what comes behind them is left out."""
_MOST_SEARCHED = 300
"""Addresses without a scheme that are searched for in all texts."""
_READ_KINDS = frozenset({"article", "file"})


@dataclass
class SourceText:
    """One source with its text; what is derived from the text is computed once, when it is needed.

    `number` is its index among the sources of the check.
    """

    number: int
    record: Source
    text: str

    @cached_property
    def figures(self) -> Sequence[Figure]:
        """The figures in the text, in order."""
        return find_figures(self.text)

    @cached_property
    def folded(self) -> Folded:
        """The words of the text as a reader reads them."""
        return Folded(self.text)


@dataclass(frozen=True)
class EarlierPage:
    """A page that an earlier session read: its record, whose kind is `earlier`, and its text."""

    record: Source
    text: str


Earlier = Callable[[Sequence[str]], Sequence[EarlierPage | None]]
"""Finds for each of several addresses the newest copy of the page that an earlier session read; it may raise a
`KnowledgeError`."""


@dataclass
class Sources:
    """The sources of a report.

    Attributes:
        texts: each at the index that is its number.
        notices: sentences about what could not be read.
        named: for numbers of sources the addresses that their files name beside those in their texts, such as the
            addresses of links.
        asked: for numbers of sources the keys of the addresses that the agent gave to their tool: that these name them
            again says nothing.
        others: for keys of addresses the numbers of the pages that are known by another address, such as the one from
            which the page was redirected.
        failures: for keys of addresses why their pages could not be read.
        files: the files of the session; None if there are none.
        earlier: finds pages that earlier sessions read; None if that is not known.
    """

    texts: Sequence[SourceText] = ()
    notices: Sequence[str] = field(default_factory=tuple)
    named: Mapping[int, Sequence[str]] = field(default_factory=dict)
    asked: Mapping[int, frozenset[str]] = field(default_factory=dict)
    others: Mapping[str, Sequence[int]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    files: LocalFiles | None = None
    earlier: Earlier | None = None

    @property
    def has_text(self) -> bool:
        """Whether the session has read anything, beside what the person wrote: else nothing can be called untraced."""
        return any(text.text.strip() for text in self.texts if text.record.kind != "query")

    def look_up(self, urls: Iterable[str], stop: Stop = NEVER) -> None:
        """Add what the addresses of a report lead to: pages of earlier sessions, and files of the session. Blocks.

        Call it once, before the texts are used.

        Raises:
            Stopped: the flag was set.
        """
        by_key = {address_key(url): url for url in urls if not self.cited(url) or self._is_row(url)}
        wanted = list(by_key.values())[:_MOST_LOOKED_UP]
        found: list[tuple[Source, str]] = []
        web = [url for url in wanted if is_web(url)]
        if self.earlier is not None and web:
            try:
                pages = self.earlier(web)
            except KnowledgeError as error:
                why = clean_line(str(error), 300)
                self.notices = (*self.notices, f"What earlier sessions have read is not known: {why}.")
                pages = ()
            found += [(page.record, page.text) for page in pages if page is not None]
        found += self._cited_files([url for url in wanted if not is_web(url)], stop)
        if found:
            self._add(found)

    def cited(self, url: str) -> Sequence[SourceText]:
        """The texts at an address: the page, else rows of searches with it, else the local file; empty if unknown."""
        if not is_web(url) and self.files is not None and (path := self.files.find(url)):
            return self._by_path.get(path, ())
        texts = self._by_key.get(address_key(url), ())
        for kinds in (_READ_KINDS, {"earlier"}, {"result"}, {"search_row"}):
            if chosen := [text for text in texts if text.record.kind in kinds]:
                return chosen
        return texts

    def verdict(self, url: str) -> tuple[Verdict, SourceText | None, str]:
        """What is known of an address, the source that knows it, and a note such as the age of an earlier one."""
        if not is_web(url) and self.files is not None and not self._by_key.get(address_key(url)):
            return self._local_verdict(url, self.files)
        texts = self.cited(url)
        if texts:
            text = next((text for text in texts if not text.record.gone), texts[0])
            if text.record.kind in _READ_KINDS:
                note = "Its text is no longer there." if text.record.gone else ""
                return Verdict.READ, text, note
            if text.record.kind == "earlier":
                return Verdict.EARLIER, text, _age(text.record)
            return Verdict.SEEN, text, self._failure(url)
        naming = self._naming(url)
        if naming is not None:
            return Verdict.SEEN, naming, self._failure(url) or f"Named in {_name(naming.record)}."
        if (of_site := self._by_site.get(address_key(url))) is not None:
            return Verdict.SEEN, of_site, "Other pages of this site are known, not its first page."
        return Verdict.INVENTED, None, self._failure(url)

    def _cited_files(self, urls: Sequence[str], stop: Stop) -> Sequence[tuple[Source, str]]:
        """The files of the session to which links lead, each once, but those that are sources already."""
        found: dict[str, tuple[Source, str]] = {}
        for url in urls if self.files is not None else ():
            stop.check()
            assert self.files is not None
            path = self.files.find(url)
            if path is not None and path not in found and path not in self._by_path:
                file = self.files.source(url)
                found |= {path: file} if file is not None else {}
        return list(found.values())

    def _local_verdict(self, url: str, files: LocalFiles) -> tuple[Verdict, SourceText | None, str]:
        path = files.find(url)
        if path is None:
            return Verdict.INVENTED, None, "The session has no such file."
        texts = self._by_path.get(path, ())
        return Verdict.LOCAL, texts[0] if texts else None, ""

    def _failure(self, url: str) -> str:
        reason = self.failures.get(address_key(url), "")
        return f"It could not be read: {reason.rstrip('.')}." if reason else ""

    def _is_row(self, url: str) -> bool:
        return all(text.record.kind in {"search_row", "result"} for text in self.cited(url))

    def _naming(self, url: str) -> SourceText | None:
        """The first source whose text or file names an address."""
        key = address_key(url)
        if (number := self._names.get(key)) is not None:
            return self.texts[number]
        if len(key) < 4 or len(self._searched) >= _MOST_SEARCHED:
            return self._searched.get(key)
        if key not in self._searched:
            host = host_of(url)
            self._searched[key] = next(
                (
                    text
                    for text, lowered in zip(self.texts, self._lowered, strict=True)
                    if host in lowered
                    and key not in self.asked.get(text.number, ())
                    and key_is_in(key, lowered)
                ),
                None,
            )
        return self._searched[key]

    def _add(self, found: Sequence[tuple[Source, str]]) -> None:
        first = len(self.texts)
        lengths = accumulate(len(text) for _, text in found)
        kept = [each for each, length in zip(found, lengths, strict=True) if length <= _MOST_ADDED]
        added = [SourceText(number, record, text) for number, (record, text) in enumerate(kept, first)]
        self.texts = [*self.texts, *added]
        for name in ("_by_key", "_by_site", "_by_path", "_names", "_lowered", "_searched"):
            self.__dict__.pop(name, None)

    @cached_property
    def _by_key(self) -> Mapping[str, Sequence[SourceText]]:
        found: dict[str, list[SourceText]] = {}
        for text in self.texts:
            if text.record.url:
                found.setdefault(address_key(text.record.url), []).append(text)
        for key, numbers in self.others.items():
            known = found.setdefault(key, [])
            known += [self.texts[number] for number in numbers if self.texts[number] not in known]
        return found

    @cached_property
    def _by_site(self) -> Mapping[str, SourceText]:
        """For each host, as the address of its first page, the first source that is there."""
        found: dict[str, SourceText] = {}
        for text in self.texts:
            if host := address_key(text.record.url).partition("/")[0].partition("?")[0]:
                found.setdefault(host, text)
        return found

    @cached_property
    def _by_path(self) -> Mapping[str, Sequence[SourceText]]:
        found: dict[str, list[SourceText]] = {}
        for text in self.texts:
            if text.record.path and not text.record.session:
                found.setdefault(text.record.path, []).append(text)
        return found

    @cached_property
    def _names(self) -> Mapping[str, int]:
        """The keys of the addresses that texts and files name, and the first source with each."""
        found: dict[str, int] = {}
        for text in self.texts:
            asked = self.asked.get(text.number, frozenset())
            for url in (*self.named.get(text.number, ()), *addresses_in(text.text)):
                if (key := address_key(url)) not in asked:
                    found.setdefault(key, text.number)
        return found

    @cached_property
    def _lowered(self) -> Sequence[str]:
        return [text.text.lower() for text in self.texts]

    @cached_property
    def _searched(self) -> dict[str, SourceText | None]:
        return {}


def _age(record: Source) -> str:
    at = record.read_at
    when = f" on {at.day} {at:%B %Y}" if at is not None else ""
    return f"Read{when} by {record.session or 'an earlier session'}."


def _name(record: Source) -> str:
    if record.kind == "query":
        return "what you wrote"
    shown = record.title or record.url or record.path
    return f"“{shown}”" if shown else "a result of a tool"
