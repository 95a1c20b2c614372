"""Finds what each sentence cites: marks become links to the addresses of their notes, and links hold for sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ua_tui.observers.evidence.reading.drafts import Draft
from ua_tui.observers.evidence.reading.entries import Entries, is_external
from ua_tui.observers.evidence.report import Link

Span = tuple[int, int]

_NUMBERS = re.compile(r"\[\^?(\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,20})\]")
_ROUND = re.compile(r"(?<=[\w%\"”»’.!?] )\((\d{1,3})\)(?=[.,;:!?]|$| [A-ZÀ-Þ])")
_HIGH = re.compile(r"[⁰¹²³⁴-⁹]{1,3}(?:[,–⁻][⁰¹²³⁴-⁹]{1,3}){0,9}")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_PART = re.compile(r"(\d{1,3})(?:\s?[–-]\s?(\d{1,3}))?")
_UNIT_BEFORE = re.compile(r"(?:\d|(?<![^\W\d_])(?:[kcdmµ]?m|in|ft|yd|mi|km|cm|CO|R|x|s|10))$")
_AT_END = re.compile(r"[\s.,;:!?…)\]\"“”»’']*")
_SOURCE_LINE = re.compile(
    r"\W{0,3}(?:data |own |original )?(?:sources?|quellen?|daten|fuentes?|data|via|from|références?|referencias?|daten"
    r"|datos|données|adapted from|nach)\s?(?:\([^()]{1,40}\)\s?)?[:：]",
    re.IGNORECASE,
)
_IN_CAPTION = re.compile(
    r"\W{0,3}(?:tab(?:le|elle|leau|la)?|fig(?:ure|ura)?|abb(?:ildung)?|chart|exhibit|note|data)\b.{0,300}?"
    r"\W(?:sources?|quellen?|fuentes?)\s?[:：]",
    re.IGNORECASE,
)
_DASHED = re.compile(r"\s?(?:[—–―]|--|-\s)")
_LONGEST_SOURCE_LINE = 400


def resolve_links(drafts: Sequence[Draft], entries: Entries) -> None:
    """Give links into the list of sources the addresses in its entries, and make links of numbers that are marks."""
    bodies = [draft for draft in drafts if not draft.is_bibliography and draft.kind != "code"]
    for draft in drafts:
        draft.links = [_resolved(link, entries) for link in draft.links]
    if not entries.by_number:
        return
    has_square = False
    for draft in bodies:
        marks = list(_marks(draft, _NUMBERS, entries))
        has_square = has_square or bool(marks)
        _add(draft, [*marks, *_high_marks(draft, entries)])
    if not has_square and not any(link.url for draft in bodies for link in draft.links):
        for draft in bodies:
            _add(draft, _marks(draft, _ROUND, entries))


def _resolved(link: Link, entries: Entries) -> Link:
    if not link.url.startswith("#"):
        return link
    address = entries.address(link.url[1:])
    return Link(link.start, link.end, address) if address else link


def _marks(draft: Draft, pattern: re.Pattern[str], entries: Entries) -> Iterator[Link]:
    for found in pattern.finditer(draft.text):
        yield from _links_of(found.start(), found.end(), found[1], entries)


def _high_marks(draft: Draft, entries: Entries) -> Iterator[Link]:
    """The superscripts that are marks, and not exponents or units."""
    for found in _HIGH.finditer(draft.text):
        if not _UNIT_BEFORE.search(draft.text[max(found.start() - 4, 0) : found.start()]):
            yield from _links_of(found.start(), found.end(), found[0].translate(_SUPERSCRIPTS), entries)


def _links_of(start: int, end: int, numbers: str, entries: Entries) -> Iterator[Link]:
    """A link for each of the numbers in a mark; none if one of them is no entry."""
    wanted: list[str] = []
    for first, last in _PART.findall(numbers):
        wanted += [str(each) for each in range(int(first), min(int(last or first), int(first) + 99) + 1)]
    if wanted and all(each in entries.by_number for each in wanted):
        addresses = dict.fromkeys(entries.by_number[each] or f"#{each}" for each in wanted)
        yield from (Link(start, end, address) for address in addresses)


def _add(draft: Draft, marks: Iterable[Link]) -> None:
    """Add links where there are none yet."""
    known = sorted(draft.links, key=lambda link: link.start)
    free: list[Link] = []
    at = 0
    for mark in sorted(marks, key=lambda link: link.start):
        while at < len(known) and known[at].end <= mark.start:
            at += 1
        if at == len(known) or known[at].start >= mark.end:
            free.append(mark)
    if free:
        draft.links = sorted([*known, *free], key=lambda link: (link.start, link.end))


def set_block_cites(drafts: Sequence[Draft], quote_cites: dict[int, str]) -> None:
    """Give blocks the addresses that hold for all of them: captions of quotations, rows of tables, source lines."""
    for draft in drafts:
        draft.cites = addresses(draft)
    _cite_quotes(drafts, quote_cites)
    _cite_tables(drafts)
    for number, draft in enumerate(drafts):
        before = drafts[number - 1] if number else None
        if before is None or not draft.cites or not _is_source_line(draft):
            continue
        if before.kind in {"paragraph", "quote"} and not before.is_bibliography and not before.cites:
            before.cites = draft.cites


def addresses(draft: Draft) -> tuple[str, ...]:
    """The pages and files that the links of a draft lead to."""
    return tuple(dict.fromkeys(link.url for link in draft.links if is_external(link.url)))


def _is_source_line(draft: Draft) -> bool:
    return (
        draft.kind in {"paragraph", "caption"}
        and len(draft.offsets) <= _LONGEST_SOURCE_LINE
        and _SOURCE_LINE.match(draft.text) is not None
    )


def _names_source(draft: Draft) -> bool:
    """Whether a block says whose words the quotation before it has."""
    is_dashed = draft.kind in {"paragraph", "caption"} and _DASHED.match(draft.text) is not None
    return is_dashed or _is_source_line(draft)


def _cite_quotes(drafts: Sequence[Draft], quote_cites: dict[int, str]) -> None:
    """A quotation cites what its parts do, its caption, the line after it, or else the words that introduce it."""
    groups: dict[int, list[int]] = {}
    for number, draft in enumerate(drafts):
        if draft.quote:
            groups.setdefault(draft.quote, []).append(number)
    for group, numbers in groups.items():
        found = [url for number in numbers for url in drafts[number].cites]
        if is_external(quote_cites.get(group, "")):
            found.insert(0, quote_cites[group])
        after = drafts[numbers[-1] + 1] if numbers[-1] + 1 < len(drafts) else None
        before = drafts[numbers[0] - 1] if numbers[0] else None
        if not found and after is not None and _names_source(after):
            found = list(after.cites)
        if not found and before is not None and before.text.endswith((":", "：")):
            found = list(before.cites)
        for number in numbers:
            if not drafts[number].cites:
                drafts[number].cites = tuple(dict.fromkeys(found))


def _cite_tables(drafts: Sequence[Draft]) -> None:
    """A cell cites what its row does, else the caption of its table, else the source line beside the table."""
    tables: dict[int, list[int]] = {}
    captions: dict[int, tuple[str, ...]] = {}
    for number, draft in enumerate(drafts):
        if draft.place is not None:
            tables.setdefault(draft.place.table, []).append(number)
        elif draft.caption_of:
            captions[draft.caption_of] = draft.cites
    for table, numbers in tables.items():
        beside = captions.get(table, ()) or _beside(drafts, numbers[0], numbers[-1])
        rows: dict[int, dict[str, None]] = {}
        for number in numbers:
            place = drafts[number].place
            assert place is not None
            rows.setdefault(place.row, {}).update(dict.fromkeys(drafts[number].cites))
        for number in numbers:
            place = drafts[number].place
            assert place is not None
            drafts[number].cites = drafts[number].cites or tuple(rows[place.row]) or beside


def _beside(drafts: Sequence[Draft], first: int, last: int) -> tuple[str, ...]:
    """What the caption of the figure, or the source line before or after a table cites."""
    for number in (last + 1, first - 1):
        if 0 <= number < len(drafts):
            draft = drafts[number]
            is_caption = draft.kind == "caption" and draft.figure and draft.figure == drafts[first].figure
            if draft.cites and (is_caption or _is_source_line(draft) or _IN_CAPTION.match(draft.text)):
                return draft.cites
    return ()


def cites_of_sentences(draft: Draft, spans: Sequence[Span]) -> list[tuple[str, ...]]:
    """What each of the sentences of a draft cites.

    A citation at the end of a paragraph also holds for the sentences before it, back to the previous citation.
    """
    found: list[tuple[str, ...]] = []
    # The mark of a note without an address is a citation, too.
    has_mark: list[bool] = []
    links = draft.links
    at = 0
    for start, end in spans:
        urls: list[str] = []
        while at < len(links) and links[at].start < start:
            at += 1
        while at < len(links) and links[at].start < end:
            urls.append(links[at].url)
            at += 1
        found.append(tuple(dict.fromkeys(url for url in urls if is_external(url))))
        has_mark.append(any(url.startswith("#") for url in urls))
    if not any(found):
        return [draft.cites] * len(spans)
    if draft.kind in {"paragraph", "quote", "item"} and found[-1] and _ends_with_link(draft, spans[-1]):
        for number in range(len(found) - 2, -1, -1):
            if found[number] or has_mark[number]:
                break
            found[number] = found[-1]
    return found


def _ends_with_link(draft: Draft, span: Span) -> bool:
    """Whether a citation stands at the end of a sentence."""
    last = [link for link in draft.links if is_external(link.url) and span[0] <= link.start < span[1]]
    return bool(last) and _AT_END.fullmatch(draft.text, max(link.end for link in last), span[1]) is not None
