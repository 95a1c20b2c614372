"""Turns a report or a source into blocks of the text that a reader sees."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ua_tui.observers.check.blocks import INVISIBLE, LONGEST, Block, BlockKind, Document, with_addresses
from ua_tui.observers.check.html_reader import Table, read_html
from ua_tui.observers.knowledge.contents import decoded

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LARGEST = 30 << 20
"""Bytes of a document that are parsed."""
# In Markdown, the number of a source, and the line that has its address.
_NUMBERED = re.compile(r"\[(\d{1,3})\](?!\()")
_ADDRESSES = re.compile(r"^ {0,3}\[(\d{1,3})\]:", re.M)
_COLUMN = re.compile(r"\s{2,}|\t|\s*\|\s*")
_VALUE = re.compile(r"(?!(?:19|20)\d\d\Z)[+−–-]?[\d.,]*\d ?%?")


def read_document(data: bytes | str, media_type: str) -> Document:
    """Read HTML, Markdown, plain text or PDF; what cannot be read becomes a notice, never an error.

    Raises:
        Stopped: the result is no longer needed.
    """
    document = Document()
    if media_type == "application/pdf":
        data, media_type = _pdf_text(data, document), "text/plain"
        document.has_cut_addresses = True
    if len(data) > _LARGEST:
        data = data[:_LARGEST]
        document.notices.append(f"Only the first {_LARGEST >> 20} MB were checked.")
    if isinstance(data, bytes) and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = decoded(data)
    if "html" in media_type:
        read_html(data, document)
        return document
    text = data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > LONGEST:
        text = text[:LONGEST]
        document.notices.append(f"Only the first {LONGEST:,} characters were checked.")
    if "markdown" in media_type:
        known = set(_ADDRESSES.findall(text))
        # As the marks of footnotes, they are no figures.
        text = _NUMBERED.sub(lambda mark: f"[^{mark[1]}]" if mark[1] in known else mark[0], text)
        read_html(_markdown().render(text), document)
    else:
        _read_text(text, document)
    return document


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _pdf_text(data: bytes | str, document: Document) -> str:
    from ua_tui.core.toolkit.sources.pdf import MAX_CHARACTERS, MAX_PAGES, send_pages, with_paragraphs

    parts: list[dict[str, Any]] = []
    try:
        send_pages(
            io.BytesIO(data if isinstance(data, bytes) else data.encode()), parts.append,
            most=MAX_PAGES, characters=MAX_CHARACTERS,
        )  # fmt: skip
    except Exception as error:
        # pypdf raises errors of many types for damaged files.
        document.notices.append(f"The PDF file could not be read: {type(error).__name__}.")
        return ""
    pages = [part for part in parts if "text" in part]
    failed = sum(bool(part.get("failed")) or not part["text"].strip() for part in pages)
    if parts and (why := parts[0].get("error")):
        document.notices.append(str(why))
    if failed:
        document.notices.append(f"{failed} of {len(pages)} pages have no text that can be read.")
    return "\n\n".join(with_paragraphs(part["text"]) for part in pages if not part.get("failed"))


def _read_text(text: str, document: Document) -> None:
    for number, part in enumerate(re.split(r"\n\s*\n", text.translate(INVISIBLE)), 1):
        rows = [_COLUMN.split(line.strip()) for line in part.split("\n") if line.strip()]
        if len(rows) > 1 and sum(len(row) > 2 for row in rows) > len(rows) / 2:
            document.blocks += _aligned(rows, number)
            continue
        lines = [" ".join(" ".join(row).split()) for row in rows]
        is_list = any(line[:2] in ("- ", "* ", "• ") or re.match(r"\d{1,2}[.)] ", line) for line in lines)
        kind: BlockKind = "item" if is_list else "paragraph"
        for line in lines if is_list else [" ".join(lines)]:
            if line:
                document.blocks.append(with_addresses(Block(kind=kind, text=line)))


def _aligned(rows: Sequence[Sequence[str]], number: int) -> Iterator[Block]:
    """The rows of a table whose columns are aligned with spaces; a first row without digits has their headings."""
    table = Table(-number)
    is_headed = not any(_VALUE.fullmatch(cell) for cell in rows[0])
    for row in rows:
        table.rows.append([])
        # Where a row leaves out a cell, nobody knows below which headings the others are.
        for cell in row if len(row) == len(rows[0]) else [" ".join(row)]:
            table.take("th" if is_headed and row is rows[0] else "td", cell)
    return table.blocks()
