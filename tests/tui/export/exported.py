"""Sessions to export, with hand-made checks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from lxml import html  # type: ignore[import-untyped]

from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.events.types import ArtifactSaved, MessageFinished, QueryFinished, TokensSpent, Usage
from ua_tui.core.evidence.files import check_path
from ua_tui.core.evidence.records import Claim, Disagreement, Evidence, ReportCheck, Source, Verdict
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.tui.export.formats import ExportFormat, export_bytes

NOW = datetime(2026, 3, 11, tzinfo=UTC)
PASSAGE = "About 41 percent of the cats in the survey smile."
SOURCE = Source(
    kind="article", title="Cats & their smiles", url="https://cats.example/smiles",
    published="2026-03-09T10:00:00", read_at=datetime(2026, 3, 10, 12, tzinfo=UTC), sha256="ab" * 32,
)  # fmt: skip


def reported(session: Recorded, text: str, name: str = "cats.html") -> str:
    """Save a report in a session; returns its path."""
    path, data = f"work_products/{name}", text.encode()
    (session.folder / path).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    session.add(ArtifactSaved(path=path, kind="work_product", size=len(data), sha256=digest, observer="x"))
    return path


def claim(text: str, part: str, number: int = 1, verdict: Verdict = Verdict.UNTRACED, **more: Any) -> Claim:
    """A claim about a part of a text."""
    start = text.index(part)
    fields: dict[str, Any] = {
        "start": start, "end": start + len(part), "kind": "figure", "text": part,
        "sentence": f"It is {part}.", "at": 6,
        "evidence": (Evidence(source=0, passage=PASSAGE, marks=((6, 8),)),),
    }  # fmt: skip
    return Claim(id=number, verdict=verdict, **fields | more)


def checked(
    session: Recorded, path: str, claims: Sequence[Claim], disagreements: Sequence[Disagreement] = ()
) -> None:
    """Save a check of a report."""
    data = (session.folder / path).read_bytes()
    check = ReportCheck(
        report=path, sha256=hashlib.sha256(data).hexdigest(), claims=tuple(claims),
        disagreements=tuple(disagreements), sources=(SOURCE,), checked_at=NOW,
    )  # fmt: skip
    target = session.folder / check_path(path)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(msgspec.json.encode(check))


def answered(session: Recorded, text: str = "**Cats** do.") -> None:
    """End the query of a session, with its costs."""
    usage = Usage(input_tokens=1_000, output_tokens=200)
    session.add(
        MessageFinished(query_id="q1", message_id="m1", text=text),
        TokensSpent(query_id="q1", message_id="m1", usage=usage, model="claude", cost_usd=0.02),
        QueryFinished(
            query_id="q1", status="success", text=text, duration_ms=2_000, cost_usd=0.02, usage=usage
        ),
    )


def exported(
    folder: Path, form: ExportFormat = "html", report: str = "", redactor: Redactor | None = None
) -> str:
    """Export a session."""
    return export_bytes(folder, redactor or Redactor(), form, report, now=NOW).decode()


def page_of(text: str) -> Any:
    """Parse a page."""
    return html.document_fromstring(text, parser=html.HTMLParser(huge_tree=True))


def source_of(text: str, name: str = "cats.html") -> str:
    """The source of a report as the check has it."""
    return read_report(text.encode(), name).source


def select(page: Any, selector: str) -> list[Any]:
    """The elements for a selector of tags, classes and ids, such as `main > section` or `.report .mark`."""
    path = ""
    step = "//"
    for part in selector.split():
        if part == ">":
            step = "/"
            continue
        tag, *names = re.split(r"(?=[.#])", part)
        path += step + (tag or "*")
        for name in names:
            test = (
                f"@id='{name[1:]}'"
                if name[0] == "#"
                else f"contains(concat(' ', @class, ' '), ' {name[1:]} ')"
            )
            path += f"[{test}]"
        step = "//"
    found: list[Any] = page.xpath(f".{path}")
    return found
