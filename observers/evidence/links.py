"""Checks the links of a report."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim, Evidence, Verdict
from ua_tui.core.text import clean, clean_line
from ua_tui.observers.evidence.addresses import address_key, host_of, is_web
from ua_tui.observers.evidence.passages import passage
from ua_tui.observers.evidence.quoting.folding import latin_form
from ua_tui.observers.evidence.report import Block, Link, Report, Sentence
from ua_tui.observers.evidence.sources import Sources, SourceText

_MOST = 3_000
"""Links that are checked; of a report with more these are the first."""
_LONGEST_URL, _LONGEST_TEXT, _LONGEST_SENTENCE = 2_000, 500, 2_000
_BEGINNING = 240
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,40}):")
_CHECKED = frozenset({"http", "https", "file"})
_MARK = re.compile(r"[\[(^]{0,2}(?:[\d*†‡§¶⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4}[,;–\- ]{0,2}){1,4}[\])]{0,2}")
_SHOWN = re.compile(r"(?:https?://|www\.)\S{4,2000}", re.IGNORECASE)
_LIKE = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"))


def report_addresses(report: Report) -> Iterator[str]:
    """Give the addresses that a report links to or cites and that can be checked, each as often as it has them."""
    for block in report.blocks:
        for url in (*(link.url for link in block.links), *block.cites):
            if _is_checked(url):
                yield url


def check_links(report: Report, sources: Sources, stop: Stop = NEVER) -> Iterator[Claim]:
    """Give a claim for each of the links of the report to the web and to files, hidden ones as well.

    The mark of a footnote gets none if its address has a link of its own, as in a list of sources, and otherwise the
    first one gets it.

    Raises:
        Stopped: the flag was set.
    """
    places = [(block, link) for block in report.blocks for link in block.links if _is_checked(link.url)]
    linked = {address_key(link.url) for block, link in places if not _is_mark(block, link)}
    hosts = _Hosts(sources)
    sentences = report.sentences_by_block()
    count = 0
    for block, link in places:
        stop.check()
        if _is_mark(block, link):
            key = address_key(link.url)
            if key in linked:
                continue
            linked.add(key)
        if count >= _MOST:
            return
        count += 1
        yield _claim(block, link, sentences.get(id(block), []), sources, hosts)


def _is_checked(url: str) -> bool:
    """Whether a link leads to the web or to a file, and not into the report or to another program."""
    url = url.strip()
    if not url or url.startswith("#"):
        return False
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[1].lower() in _CHECKED


def _is_mark(block: Block, link: Link) -> bool:
    text = block.text[link.start : link.end].strip()
    return len(text) <= 20 and _MARK.fullmatch(text) is not None


def _claim(block: Block, link: Link, sentences: Sequence[Sentence], sources: Sources, hosts: _Hosts) -> Claim:
    verdict, source, note = sources.verdict(link.url)
    text = block.text[link.start : link.end]
    first, sentence = _sentence(block, link, sentences)
    start, end = _range(block, link)
    return Claim(
        kind="link",
        verdict=verdict,
        text=text[:_LONGEST_TEXT],
        start=start,
        end=end,
        sentence=sentence,
        at=link.start - first,
        section=block.section,
        url=clean(link.url.strip())[:_LONGEST_URL],
        note=clean_line(note, 300),
        remarks=tuple(_remarks(block, link, text, verdict, hosts)),
        evidence=() if source is None else (_evidence(source, link.url, verdict),),
    )


def _range(block: Block, link: Link) -> tuple[int, int]:
    """The characters of the report's source; for a link without a text, such as a picture, those of its place."""
    start, end = block.source_range(link.start, link.end)
    if end or not len(block.offsets):
        return start, end
    at = block.offsets[min(max(link.start, 0), len(block.offsets) - 1)]
    return at, at + 1


def _sentence(block: Block, link: Link, sentences: Sequence[Sentence]) -> tuple[int, str]:
    """Where the sentence of a link begins in its block, and the sentence."""
    at = bisect_right(sentences, link.start, key=lambda sentence: sentence.start) - 1
    first, last = (sentences[at].start, sentences[at].end) if at >= 0 else (0, len(block.text))
    first, last = min(first, link.start), max(last, link.end)
    first = max(first, link.start - _LONGEST_SENTENCE // 2)
    return first, block.text[first : min(last, first + _LONGEST_SENTENCE)]


def _evidence(source: SourceText, url: str, verdict: Verdict) -> Evidence:
    """The place that names the address, or the beginning of the page."""
    if verdict is Verdict.SEEN and address_key(source.record.url) != address_key(url):
        for spelling in dict.fromkeys((url.strip(), url.strip().partition("#")[0], address_key(url))):
            at = source.text.find(spelling) if spelling else -1
            if at >= 0:
                return passage(source, at, at + len(spelling))
    end = min(_BEGINNING, len(source.text))
    return Evidence(source=source.number, end=end, passage=clean_line(source.text[:end], _BEGINNING))


def _remarks(block: Block, link: Link, text: str, verdict: Verdict, hosts: _Hosts) -> Iterator[str]:
    url = link.url.strip()
    if not is_web(url):
        return
    host = host_of(url)
    if hosts.is_look_alike(host, is_known=verdict is not Verdict.INVENTED):
        yield "The host has look-alike characters."
    if _has_credentials(url):
        yield "The address has credentials."
    shown = _SHOWN.fullmatch(text.strip().rstrip(".…"))
    if shown and (other := host_of(shown[0]).removeprefix("www.")) and other != host.removeprefix("www."):
        yield "The text shows another address."


def _has_credentials(url: str) -> bool:
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return False


class _Hosts:
    """The hosts of the pages that are known, to recognise those that look like them."""

    def __init__(self, sources: Sources) -> None:
        self._known = _hosts(text.record.url for text in sources.texts)
        self._forms = {_form(host) for host in self._known}

    def is_look_alike(self, host: str, *, is_known: bool) -> bool:
        """Whether a host has letters of several scripts, or looks like a known one and is another."""
        shown = _unicode(host)
        if not shown.isascii() and any(latin_form(label) != label for label in shown.split(".")):
            return True
        bare = host.removeprefix("www.")
        return not is_known and bool(bare) and bare not in self._known and _form(shown) in self._forms


def _hosts(urls: Iterable[str]) -> set[str]:
    return {host.removeprefix("www.") for url in urls if url and (host := host_of(url))}


def _form(host: str) -> str:
    """What a host looks like to somebody who reads quickly."""
    # Letters of one other script look like Latin ones, too; with a Latin letter before them they are folded.
    form = latin_form(f"a{_unicode(host).removeprefix('www.')}").casefold()
    for other, plain in _LIKE:
        form = form.replace(other, plain)
    return form


def _unicode(host: str) -> str:
    if "xn--" not in host:
        return host
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host
