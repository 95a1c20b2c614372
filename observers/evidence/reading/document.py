"""Reads a report into blocks and sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.files import report_format
from ua_tui.core.evidence.wording import NOT_READ
from ua_tui.core.net.bodies import declared_encoding
from ua_tui.core.text import clean_line
from ua_tui.observers.evidence.reading.citations import cites_of_sentences, resolve_links, set_block_cites
from ua_tui.observers.evidence.reading.drafts import Draft
from ua_tui.observers.evidence.reading.elements import Flow
from ua_tui.observers.evidence.reading.entries import (
    add_bare_addresses,
    find_entries,
    is_list_of_sources,
    set_sections,
)
from ua_tui.observers.evidence.reading.markdown_blocks import MarkdownReader
from ua_tui.observers.evidence.reading.markup import HtmlReader
from ua_tui.observers.evidence.reading.sentences import split_sentences
from ua_tui.observers.evidence.reading.tables import cells_of_drafts
from ua_tui.observers.evidence.reading.text_blocks import read_text
from ua_tui.observers.evidence.report import Block, Report, Sentence

LONGEST = 4 << 20
"""Characters of a report that are read at most, with markup, styles and pictures; fewer if there is much text."""
_WHOLE = frozenset({"heading", "caption", "code", "cell"})
_LONGEST_WHOLE = 600
"""Characters of a cell or caption from which on it is split into sentences."""
_CHECKED = 256
_DIGIT = re.compile(r"\d")
_CUT = "Only the beginning of the report was checked, as it is very long."


def read_report(data: bytes, path: str, stop: Stop = NEVER) -> Report:
    """Read a report; the end of `path` names its format: HTML, Markdown, or else plain text.

    Of a very long one only the beginning is read, which a notice says. Nothing in a report is an error.

    Raises:
        Stopped: the flag was set.
    """
    form = report_format(path)
    source = _decoded(data, is_html=form == "html")
    end = min(len(source), LONGEST)
    flow = Flow(source)
    title = ""
    unread: Counter[str] = Counter()
    if form == "html":
        reader = HtmlReader(source, flow, stop)
        reader.read(0, end)
        title, unread = reader.title, reader.unread
    elif form == "markdown":
        MarkdownReader(source, end, flow, stop).read()
    else:
        read_text(source, end, flow, stop)
    drafts = flow.finish()
    _cite(drafts, flow, stop)
    blocks = _blocks(drafts, flow)
    unread["code block"] = sum(
        block.kind == "code" and _DIGIT.search(block.text) is not None for block in blocks
    )
    is_cut = end < len(source) or flow.is_full
    return Report(
        source=source,
        title=clean_line(" ".join(title.split()) or _first_heading(drafts)),
        blocks=blocks,
        sentences=_sentences(drafts, blocks, stop),
        is_cut=is_cut,
        notices=(*((_CUT,) if is_cut else ()), *_notice_of(unread)),
    )


def _notice_of(unread: Mapping[str, int]) -> Iterator[str]:
    """The notice that names the parts that are not read; none if there are no such parts."""
    if parts := [f"{count} {part}{'s' * (count > 1)}" for part, count in unread.items() if count]:
        yield f"{NOT_READ}{', '.join(parts)}."


def _decoded(data: bytes, *, is_html: bool) -> str:
    """Decode by a byte order mark, as UTF-8, or as a page declares; what does not fit becomes U+FFFD."""
    encoding = declared_encoding(data, "text/html" if is_html else "text/plain", "")
    return data.decode(encoding or "utf-8", "replace")


def _cite(drafts: Sequence[Draft], flow: Flow, stop: Stop) -> None:
    """Find the links, the list of sources, and what each block cites."""
    for number, draft in enumerate(drafts):
        if not number % _CHECKED:
            stop.check()
        add_bare_addresses(draft)
    set_sections(drafts)
    resolve_links(drafts, find_entries(drafts))
    stop.check()
    set_block_cites(drafts, flow.quote_cites)


def _blocks(drafts: Sequence[Draft], flow: Flow) -> list[Block]:
    cells = cells_of_drafts(drafts, flow.table_figures)
    return [
        Block(
            kind=draft.kind,
            text=draft.text,
            offsets=draft.offsets,
            section=draft.section,
            level=draft.level if draft.kind == "heading" else 0,
            links=tuple(draft.links),
            cites=draft.cites if draft.kind == "quote" else (),
            cell=cells.get(id(draft)),
            is_hidden=draft.is_hidden,
            is_bibliography=draft.is_bibliography,
        )
        for draft in drafts
    ]


def _sentences(drafts: Sequence[Draft], blocks: Sequence[Block], stop: Stop) -> list[Sentence]:
    sentences: list[Sentence] = []
    for draft, block in zip(drafts, blocks, strict=True):
        if not len(sentences) % _CHECKED:
            stop.check()
        is_long = block.kind in {"cell", "caption"} and len(block.text) > _LONGEST_WHOLE
        if block.kind in _WHOLE and not is_long:
            spans = [(0, len(block.text))]
        else:
            spans = list(split_sentences(block.text, block.links))
        for (start, end), cites in zip(spans, cites_of_sentences(draft, spans), strict=True):
            sentences.append(Sentence(len(sentences), block, start, end, cites))
    return sentences


def _first_heading(drafts: Sequence[Draft]) -> str:
    """The first heading of the highest level, for a report without a title."""
    headings = [
        draft
        for draft in drafts
        if draft.kind == "heading" and not draft.is_hidden and not is_list_of_sources(draft.text)
    ]
    return min(headings, key=lambda draft: draft.level).text if headings else ""
