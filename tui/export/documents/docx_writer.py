"""Writes a DOCX file. Imported only when one is written: its package is an extra, and may be missing."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from docx import Document
from docx.enum.text import WD_BREAK, WD_PARAGRAPH_ALIGNMENT
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor
from docx.text.run import Run as WordRun

from ua_tui.tui.export.documents.blocks import Block, Run

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.text.paragraph import Paragraph

_INDENT = 18
_STYLES = {"quotation": "Quote", "code": "No Spacing", "title": "Title"}


def write_docx(blocks: Sequence[Block], title: str, program: str, made_at: datetime) -> bytes:
    """Write a DOCX file; pictures are base64."""
    document = Document()
    facts = document.core_properties
    facts.title, facts.author, facts.comments = title[:255], program[:255], ""
    facts.created = facts.modified = made_at.replace(tzinfo=None)
    document.styles["Normal"].paragraph_format.space_after = Pt(6)
    for block in blocks:
        match block.kind:
            case "table":
                _write_table(document, block)
            case "picture":
                data = io.BytesIO(base64.b64decode(block.picture))
                width, height = map(Pt, block.size)
                document.add_picture(data, width, height)
                _write_runs(document.add_paragraph(style="Caption"), block.runs)
            case "heading":
                _write_runs(document.add_heading(level=min(block.level, 9)), block.runs)
            case "rule":
                document.add_paragraph("* * *").alignment = WD_PARAGRAPH_ALIGNMENT.CENTER
            case _:
                _write_text(document, block)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def _write_text(document: WordDocument, block: Block) -> None:
    paragraph = document.add_paragraph(style=_STYLES.get(block.kind))
    depth = block.level + (block.kind in ("quotation", "code"))
    if depth:
        paragraph.paragraph_format.left_indent = Pt(_INDENT * min(depth, 8))
    if block.marker:
        paragraph.paragraph_format.first_line_indent = Pt(-_INDENT)
        paragraph.paragraph_format.space_after = Pt(2)
        paragraph.add_run(f"{block.marker}\t")
    _write_runs(paragraph, block.runs, "c" if block.kind == "code" else "")


def _write_table(document: WordDocument, block: Block) -> None:
    table = document.add_table(len(block.rows), len(block.rows[0]), style="Table Grid")
    for number, (row, cells) in enumerate(zip(table.rows, block.rows, strict=True)):
        if number < block.heads:
            # Word repeats these rows on each page.
            row._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
        for cell, runs in zip(row.cells, cells, strict=True):
            _write_runs(cell.paragraphs[0], runs)
    document.add_paragraph()


def _write_runs(paragraph: Paragraph, runs: Sequence[Run], style: str = "") -> None:
    for each in runs:
        if each.href.startswith("#") or not each.href:
            written = paragraph.add_run()
        else:
            link = OxmlElement("w:hyperlink")
            relation = paragraph.part.relate_to(each.href, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
            link.set(qn("r:id"), relation)
            paragraph._p.append(link)
            element = OxmlElement("w:r")
            link.append(element)
            written = WordRun(element, paragraph)
            written.font.color.rgb, written.font.underline = RGBColor(0x0B, 0x57, 0xA4), True
        _write_run(written, each.text, each.style + style)


def _write_run(written: WordRun, text: str, style: str) -> None:
    for number, line in enumerate(text.split("\n")):
        if number:
            written.add_break(WD_BREAK.LINE)
        written.add_text(line)
    font = written.font
    # What is not set is as the style of the paragraph has it.
    font.bold, font.italic, font.strike = (
        ("b" in style or None),
        ("i" in style or None),
        ("s" in style or None),
    )
    font.superscript, font.subscript = ("^" in style or None), ("_" in style or None)
    if "c" in style:
        font.name, font.size = "Courier New", Pt(9)
    if "m" in style:
        font.color.rgb = RGBColor(0xB0, 0x1E, 0x1E)
