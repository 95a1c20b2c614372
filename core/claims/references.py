"""The cited sources of a report as references for reference managers: CSL JSON, RIS and BibTeX.

CSL JSON is the model (the schema `csl-data.json` of the Citation Style Language 1.0.2); RIS and BibTeX have what of it
these formats can say. No style is applied: that is what the programs which read the files are for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.claims.records import Source
from ua_tui.core.text import clean_line

_LONGEST = 1_000
_SPECIAL = re.compile(r"[\\{}$&#^_~%]")
_BRACES = re.compile(r"[\\{}]")
_ESCAPED = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}

# The facts about a reference by the names that they have in each format.
_CSL = {
    "key": "id", "title": "title", "author": "author", "site": "container-title", "day": "issued",
    "published": "issued", "read": "accessed", "url": "URL", "note": "note",
}  # fmt: skip
_RIS = {
    "key": "ID", "title": "TI", "author": "AU", "site": "T2", "year": "PY", "day": "DA", "published": "DA",
    "read": "Y2", "url": "UR", "note": "N1",
}  # fmt: skip
_BIBTEX = {
    "title": "title", "author": "author", "site": "organization", "year": "year", "month": "month",
    "published": "date", "url": "url", "read": "urldate", "note": "note",
}  # fmt: skip


def cited(check: ReportCheck) -> list[Source]:
    """The pages that a report links to, each once, in its order; without links those that have what it says."""
    linked = [claim for claim in check.claims if claim.kind == "link"]
    found: dict[str, Source] = {}
    for claim in linked or check.claims:
        if claim.state not in ("found", "calculated"):
            continue
        for passage in claim.passages if claim.state == "calculated" else claim.passages[:1]:
            source = check.sources[passage.source]
            reference = source
            if linked and not claim.was_read:
                title = source.title if source.url == claim.url else claim.quote.exact
                reference = Source(kind=source.kind, url=claim.url, title=title)
            elif source.kind == "search_row":
                reference = msgspec.structs.replace(source, read_at=None, sha256="")
            if reference.url.lower().startswith(("http://", "https://")):
                found.setdefault(reference.url.rstrip("/"), reference)
    return list(found.values())


def to_csl(references: Iterable[Source]) -> str:
    """Write references as a CSL JSON array."""
    items = [
        {"type": "webpage"} | {name: _csl(fact, facts[fact]) for fact, name in _CSL.items() if fact in facts}
        for facts in _facts(references)
    ]
    return msgspec.json.format(msgspec.json.encode(items), indent=2).decode() + "\n"


def to_ris(references: Iterable[Source]) -> str:
    """Write references in the RIS format, one record of the type `ELEC` each."""
    lines: list[str] = []
    for facts in _facts(references):
        dates = {fact: facts[fact].replace("-", "/") for fact in ("day", "read") if fact in facts}
        known = facts | dates
        fields = [f"{tag}  - {known[fact]}" for fact, tag in _RIS.items() if fact in known]
        lines += ["TY  - ELEC", *fields, "ER  - ", ""]
    return "".join(f"{line}\r\n" for line in lines)


def to_bibtex(references: Iterable[Source]) -> str:
    """Write references as BibTeX entries of the type `misc`, with `url` and `urldate` as BibLaTeX reads them."""
    entries: list[str] = []
    for facts in _facts(references):
        known = [(fact, name) for fact, name in _BIBTEX.items() if fact in facts]
        fields = [f"  {name} = {{{_bibtex(fact, facts[fact])}}}," for fact, name in known]
        entries.append("\n".join([f"@misc{{{facts['key']},", *fields, "}", ""]))
    return "\n".join(entries)


WRITERS: Mapping[str, Callable[[Iterable[Source]], str]]
WRITERS = {"csl": to_csl, "ris": to_ris, "bibtex": to_bibtex}
"""The formats by their names."""


def _csl(fact: str, text: str) -> Any:
    if fact in ("day", "read"):
        return {"date-parts": [list(map(int, text.split("-")))]}
    # Names of people are not taken apart: what is first and what is last differs by language.
    literal = {"literal": text}
    return {"author": [literal], "published": literal}.get(fact, text)


def _bibtex(fact: str, text: str) -> str:
    if fact == "url":
        # Braces would end the field; nothing else in an address is special there.
        return _BRACES.sub(lambda found: f"%{ord(found[0]):02X}", text)
    text = _SPECIAL.sub(lambda found: _ESCAPED.get(found[0], f"\\{found[0]}"), text)
    # Double braces: a title keeps its capitals, and an author is one name, whatever words it has.
    return f"{{{text}}}" if fact in ("title", "author") else text


def _facts(references: Iterable[Source]) -> Iterator[dict[str, str]]:
    """What is known of each reference, with a key of its own, such as `computewire2026` and `computewire2026-2`."""
    keys: Counter[str] = Counter()
    for each in references:
        day = _day(each.published)
        key = f"{_host_word(each.url)}{day.year if day else ''}"
        keys[key] += 1
        facts = {
            "key": f"{key}-{keys[key]}" if keys[key] > 1 else key,
            "title": each.title,
            "author": each.author,
            "site": each.site,
            "published": "" if day else each.published,
            "read": each.read_at.date().isoformat() if each.read_at else "",
            "url": each.url,
            "note": f"SHA-256 of the text: {each.sha256}" if each.sha256 else "",
        }
        if day is not None:
            facts |= {"day": day.isoformat(), "year": f"{day.year:04d}", "month": str(day.month)}
        yield {fact: line for fact, text in facts.items() if (line := clean_line(text, _LONGEST))}


def _day(published: str) -> date | None:
    try:
        return date.fromisoformat(published[:10])
    except ValueError:
        return None


def _host_word(url: str) -> str:
    """The longest word of a host without its last part, which most often names the site."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    words = re.findall(r"[a-z0-9]+", host.removeprefix("www.").rpartition(".")[0].lower())
    return max(words, key=len, default="source")
