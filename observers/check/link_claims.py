"""Checks the links of a report: whether each address was read, or at least found, for it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from urllib.parse import unquote

from msgspec.structs import replace

from ua_tui.core.claims.records import Claim, Passage
from ua_tui.observers.check.blocks import Document, Places
from ua_tui.observers.check.sources import PassageIndex
from ua_tui.observers.decoding.urls import normal_form, repaired_url

_MOST = 3_000
"""Links of a report that are checked."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def address_key(url: str) -> str:
    """What is the same for all spellings of an address: without scheme, "www.", fragment, tracking and encoding."""
    url = url.strip().replace("&amp;", "&")
    whole = repaired_url(url)
    if whole is None:
        return unquote(url.partition("#")[0])
    return unquote(normal_form(whole)).rstrip("./")


def check_links(
    document: Document, corpus: PassageIndex, places: Places, files: Collection[str] = ()
) -> Iterator[tuple[int, Claim]]:
    """Give a claim, and its place in the visible text, for each address that the report links to, once."""
    known = _Known(corpus)
    paths = {posixpath.normpath(path) for path in files}
    seen: set[str] = set()
    for number, block in enumerate(document.blocks):
        for start, end, written in block.links:
            url = written.strip()
            is_web = url.lower().startswith(("http://", "https://", "//", "www."))
            if not is_web and (not url or url[0] in "#?" or _SCHEME.match(url) or not files):
                continue
            key = address_key(url)
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > _MOST:
                document.notices.append(f"Only the first {_MOST:,} links were checked.")
                return
            claim = replace(places.claim("link", "never seen", number, start, end), url=url)
            if document.has_cut_addresses:
                claim = claim.as_state("not looked at", "It may continue on the next line of the PDF file.")
            if is_web:
                claim = known.judged(claim, key)
            elif posixpath.normpath(key) in paths:
                claim = claim.as_state("found", "A file that exists.")
            yield places.place(number, start), claim


class _Known:
    """The addresses of the sources, and those that their texts name."""

    def __init__(self, corpus: PassageIndex) -> None:
        self.beginnings = {each.source: each.text for each in reversed(corpus.passages)}
        self.read: dict[str, int] = {}
        self.found: dict[str, int] = {}
        for number, source in enumerate(corpus.sources):
            for url in filter(None, (source.url, *source.addresses)):
                (self.read if source.was_read else self.found).setdefault(address_key(url), number)
        for number, links in enumerate(corpus.links):
            for url in links:
                self.found.setdefault(address_key(url), number)
        self.hosts = {key.partition("/")[0]: number for key, number in {**self.found, **self.read}.items()}

    def judged(self, claim: Claim, key: str) -> Claim:
        """The claim with its state."""
        was_read = key in self.read
        number = self.read[key] if was_read else self.found.get(key, self.hosts.get(key))
        if number is None:
            return claim
        note = "This page was read." if was_read else "This address was found but not read."
        beginning = Passage(source=number, text=self.beginnings.get(number, ""))
        return claim.as_state("found", note, (beginning,), was_read=was_read)
