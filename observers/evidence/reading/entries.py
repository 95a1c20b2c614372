"""Finds the list of sources and the notes of a document, and the addresses in their entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ua_tui.observers.evidence.reading.drafts import Draft
from ua_tui.observers.evidence.report import Link

_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"“”„«»`|\\^{}]{3,4000}", re.IGNORECASE)
_IN_HEADINGS = (
    "sources source references reference bibliography citations cited consulted notes endnotes footnotes links "
    "quellen quelle quellenverzeichnis quellenangaben literatur literaturverzeichnis literaturangaben "
    "referenzen einzelnachweise nachweise fußnoten fussnoten anmerkungen belege bibliografie bibliographie "
    "références référence notes sitographie webographie fuentes fuente referencias bibliografía notas citas "
    "enlaces"
)
_BESIDE_THEM = (
    "and & of the list works work key main primary selected further reading all used online web data full "
    "und der die das verwendete weitere alle liste et des de les la le liste principales utilisées y las los lista "
    "consultadas utilizadas und-links"
)
_NAMES, _FILLERS = frozenset(_IN_HEADINGS.split()), frozenset(_BESIDE_THEM.split())
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?|&")
_NUMBERING = re.compile(r"^\W*(?:(?:\d{1,2}\.?){1,4}|[IVX]{1,5}\.)?\W*")
_LABEL = re.compile(
    r"\s?(?:\[\^?([^\[\]\s]{1,12})\][:.]?|\^?(\d{1,3})[.):](?=\s)|\((\d{1,3})\)|([⁰¹²³⁴-⁹]{1,3})\s?|(\d{1,3})\s(?=\S))"
)
_INNER_LABEL = re.compile(r"\[\^?(\d{1,3})\]|(?:^|(?<=\s))([⁰¹²³⁴-⁹]{1,3})(?=\s)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NO_ADDRESS = re.compile(r"#|(?!https?:|file:)[a-z][a-z0-9+.-]{1,30}:", re.IGNORECASE)
_LONGEST_HEADING = 60


def is_list_of_sources(text: str) -> bool:
    """Whether a heading is that of a list of sources."""
    if len(text) > _LONGEST_HEADING:
        return False
    words = [each.lower() for each in _WORD.findall(_NUMBERING.sub("", text, count=1))]
    return (
        0 < len(words) <= 6
        and any(word in _NAMES for word in words)
        and all(word in _NAMES or word in _FILLERS for word in words)
    )


def is_external(href: str) -> bool:
    """Whether an address leads to a page or a file, and not into the document or to a program."""
    return bool(href) and _NO_ADDRESS.match(href) is None


@dataclass
class Entries:
    """The addresses of the entries of the lists of sources, by their labels and by their places.

    `by_number` has the lower-case label of an entry, such as "1", and its address, empty if it has none.
    """

    by_number: dict[str, str] = field(default_factory=dict)
    targets: Mapping[str, Draft] = field(default_factory=dict)
    _groups: dict[int, str] = field(default_factory=dict)

    def address(self, fragment: str) -> str | None:
        """The address in the entry that a fragment leads to; None if it leads to no entry."""
        draft = self.targets.get(fragment)
        return None if draft is None or not draft.is_bibliography else self.of(draft)

    def of(self, draft: Draft) -> str:
        """The address in an entry, of which a draft may be only a part; empty if it has none."""
        if found := next((link.url for link in draft.links if is_external(link.url)), ""):
            return found
        return self._groups.get(draft.item, "") if draft.item else ""

    def add(self, draft: Draft) -> None:
        """Add a draft of the list of sources."""
        if draft.item and (address := self.of(draft)):
            self._groups.setdefault(draft.item, address)


def add_bare_addresses(draft: Draft) -> None:
    """Make links of addresses that stand in the text of a draft without being links; those in code are none."""
    text = draft.text
    if draft.kind == "code" or ("://" not in text and "www." not in text.lower()):
        return
    links = sorted(draft.links, key=lambda link: link.start)
    taken = sorted([*((link.start, link.end) for link in links), *draft.code])
    at = 0
    found: list[Link] = []
    for match in _ADDRESS.finditer(text):
        end = _end_of_address(text, match.start(), match.end())
        while at < len(taken) and taken[at][1] <= match.start():
            at += 1
        if at < len(taken) and taken[at][0] < end:
            continue
        url = text[match.start() : end]
        found.append(Link(match.start(), end, url if "://" in url[:9] else f"https://{url}"))
    if found:
        draft.links = sorted([*links, *found], key=lambda link: (link.start, link.end))


def _end_of_address(text: str, start: int, end: int) -> int:
    """The end of an address without the punctuation after it; a bracket belongs to it if it opens one."""
    rounds, squares = text.count("(", start, end), text.count("[", start, end)
    closed_rounds, closed_squares = text.count(")", start, end), text.count("]", start, end)
    while end > start:
        last = text[end - 1]
        if last == ")" and closed_rounds > rounds:
            closed_rounds -= 1
        elif last == "]" and closed_squares > squares:
            closed_squares -= 1
        elif last not in ".,;:!?'’*_~…":
            break
        end -= 1
    return end


def set_sections(drafts: Sequence[Draft]) -> None:
    """Give each draft the heading above it, and mark those that are in a list of sources."""
    section, level = "", 0
    for draft in drafts:
        if draft.kind == "heading" and not draft.is_hidden:
            section = draft.text
            if level and draft.level <= level:
                level = 0
            if not level and is_list_of_sources(section):
                level = draft.level
        elif not level and draft.kind in {"paragraph", "item"} and _is_label(draft):
            # Any heading ends a list below a line that is no heading itself.
            level = 6
            continue
        else:
            draft.is_bibliography = bool(level) or draft.is_note
        draft.section = section


def _is_label(draft: Draft) -> bool:
    """Whether a paragraph only says that sources follow."""
    return not draft.links and not draft.is_note and not draft.is_hidden and is_list_of_sources(draft.text)


def find_entries(drafts: Sequence[Draft]) -> Entries:
    """Read the entries of the lists of sources; the sections of the drafts are set."""
    targets: dict[str, Draft] = {}
    for draft in drafts:
        for name in draft.ids:
            targets.setdefault(name, draft)
    _mark_notes(drafts, targets)
    entries = Entries(targets=targets)
    listed = [draft for draft in drafts if draft.is_bibliography and not draft.is_hidden]
    for draft in listed:
        entries.add(draft)
    for draft in listed:
        found = dict(_inner_entries(draft))
        if (label := _label(draft)) and not (found and _INNER_LABEL.match(draft.text)):
            found[label] = entries.of(draft)
        for name, address in found.items():
            entries.by_number[name] = entries.by_number.get(name) or address
    return entries


def _inner_entries(draft: Draft) -> Iterator[tuple[str, str]]:
    """The numbers and addresses of entries that are only lines of one paragraph."""
    labels = list(_INNER_LABEL.finditer(draft.text))
    links = [link for link in draft.links if is_external(link.url)]
    at = 0
    for number, label in enumerate(labels):
        end = labels[number + 1].start() if number + 1 < len(labels) else len(draft.text)
        while at < len(links) and links[at].start < label.end():
            at += 1
        address = links[at].url if at < len(links) and links[at].start < end else ""
        yield (label[1] or label[2]).translate(_SUPERSCRIPTS), address


def _mark_notes(drafts: Sequence[Draft], targets: Mapping[str, Draft]) -> None:
    """Mark what a number in the text leads to as a note: it may have no heading of its own."""
    for draft in drafts:
        if draft.is_bibliography:
            continue
        for link in draft.links:
            shown = draft.text[link.start : link.end].strip(" []()^")
            target = targets.get(link.url[1:]) if link.url.startswith("#") else None
            if target is None or target is draft or not shown.isdigit():
                continue
            # A note stands below its mark; the link in a note leads back to it.
            is_note = target.kind in {"item", "paragraph"} and not _is_before(target, draft)
            if is_note and _label(target) in {shown, ""}:
                target.is_bibliography = True


def _is_before(first: Draft, second: Draft) -> bool:
    return first.offsets[0] < second.offsets[0]


def _label(draft: Draft) -> str:
    """The number or name of an entry, in lower case; empty if it has none."""
    if draft.label:
        return draft.label.lower()
    found = _LABEL.match(draft.text)
    return (
        next((each for each in found.groups() if each), "").translate(_SUPERSCRIPTS).lower() if found else ""
    )
