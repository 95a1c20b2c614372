"""Puts a document together from the report of an export, and writes it as DOCX or PDF in a worker process.

Large or odd reports can keep a writer busy for long, so it has a time and a memory limit.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Mapping
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ua_tui.core.claims.records import State
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.errors import SettingsError, missing_extra
from ua_tui.core.storage.files import Root
from ua_tui.tui.export.documents.blocks import Block, Run, mark_claims, parts_of, read_blocks, run, text_of
from ua_tui.tui.export.evidence import Evidence
from ua_tui.tui.export.page import report_html, title_of_export
from ua_tui.tui.export.records import Export
from ua_tui.tui.export.redaction import Redaction
from ua_tui.tui.export.templates import template
from ua_tui.tui.viewers.conversion import MAX_PIXELS, conversions

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

DocumentFormat = Literal["docx", "pdf"]
_PACKAGES: Mapping[DocumentFormat, str] = {"docx": "docx", "pdf": "typst"}
_SECONDS = 60.0
_MARKS: Mapping[State, str] = {
    "differs": "[differs from the sources]",
    "not found": "[not found in the sources]",
    "never seen": "[address not seen by the agent]",
}
_WIDEST, _HIGHEST = 450.0, 600.0
_MOST_PIXELS = 1_600
_BEGINNING = 5
"""Blocks of a report in which its own title is."""


class _Document(msgspec.Struct):
    title: str
    program: str
    made_at: datetime
    blocks: list[Block]


def document_bytes(export: Export, root: Root, redaction: Redaction, form: DocumentFormat) -> bytes:
    """Write the report of an export as a document; pictures are read from `root`, the session's folder.

    Raises:
        SettingsError: there is no report, a package is missing, or the report is too complex.
        Stopped: the result is no longer needed.
    """
    if find_spec(_PACKAGES[form]) is None:
        raise SettingsError(missing_extra("documents", f"exporting as {form}"))
    if export.report is None:
        raise SettingsError(
            f"there is no report to write as {form}: the session has none. "
            "The formats html, md and json export a session without a report"
        )
    evidence = Evidence(export)
    text, pictures, notices = report_html(export.report, root, redaction)
    blocks = read_blocks(mark_claims(text, evidence.claims, lambda claim: _MARKS[claim.state]))
    for runs in (runs for block in blocks for runs in parts_of(block)):
        marks = [each for each in runs if "m" in each.style]
        # A secret may be in several styles, and have a mark in it.
        plain = text_of([each for each in runs if "m" not in each.style])
        if (safe := redaction.text(plain)) != plain:
            runs[:] = [run(safe), *marks]
    title = title_of_export(export)
    for block in blocks:
        block.picture = pictures.get(block.picture, "").partition(",")[2]
    below = template("documents/evidence.html.jinja").render(
        export=export, evidence=evidence, notices=dict.fromkeys((*evidence.notices, *notices))
    )
    blocks = [*_with_title(blocks, title), *read_blocks(below)]
    document = _Document(run(title).text, export.program, export.exported_at, blocks)
    argument = [form, msgspec.json.encode(document)]
    try:
        data = conversions().run(f"{__name__}:write_in_child", argument, seconds=_SECONDS)
    except ConversionFailed as error:
        raise SettingsError(
            f"the report cannot be written as {form}: {error}. Export it as html or md instead"
        ) from error
    return bytes(data)


def _with_title(blocks: list[Block], title: str) -> list[Block]:
    """The blocks with the title first, and the headings below it from level 1 on."""
    headings = [each for each in blocks if each.kind == "heading"]
    least = min((each.level for each in headings), default=1)
    # A single heading of the highest level, at the beginning, is the title.
    top = [each for each in headings if each.level == least]
    if len(top) == 1 and any(each is top[0] for each in blocks[:_BEGINNING]):
        top[0].kind = "title"
        least = min((each.level for each in headings if each.kind == "heading"), default=1)
    else:
        blocks = [Block("title", [run(title)]), *blocks]
    for each in headings:
        each.level -= least - 1
    return blocks


# -- in the worker process -------------------------------------------------------------------------


def write_in_child(_: TaskContext, argument: tuple[DocumentFormat, bytes]) -> bytes:
    """Write the file in the worker process; the argument is the format, and the document as JSON."""
    form, data = argument
    document = msgspec.json.decode(data, type=_Document)
    for block in document.blocks:
        if block.kind == "picture":
            _draw(block)
    if form == "pdf":
        import typst

        layout = Path(__file__).with_name("document.typ")
        given = {"document": msgspec.json.encode(document).decode()}
        return typst.compile(layout, root=layout.parent, sys_inputs=given, timestamp=document.made_at)
    from ua_tui.tui.export.documents.docx_writer import write_docx

    return write_docx(document.blocks, document.title, document.program, document.made_at)


def _draw(block: Block) -> None:
    """Make a picture a PNG that fits the page; in place of one that is missing or damaged is its description."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(base64.b64decode(block.picture))) as picture:
                if picture.width * picture.height > MAX_PIXELS:
                    raise ValueError("too many pixels")
                ratio = min(_WIDEST / picture.width, _HIGHEST / picture.height, 0.75)
                block.size = (picture.width * ratio, picture.height * ratio)
                picture.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
                file = io.BytesIO()
                picture.convert("RGBA").save(file, "PNG")
    except Exception:  # Pillow raises many kinds of errors for a damaged picture.
        block.kind, block.picture = "text", ""
        block.runs = [Run("[Picture: "), *(block.runs or [Run("not included")]), Run("]")]
    else:
        block.picture = base64.b64encode(file.getvalue()).decode()
