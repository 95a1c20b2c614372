"""Sessions to export, with hand-made checks."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from lxml import html  # type: ignore[import-untyped]

from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.claims.files import ReportCheck, check_path
from ua_tui.core.claims.records import Check, Claim, Passage, Source, State, TextQuote
from ua_tui.core.events.types import ArtifactSaved, MessageFinished, QueryFinished, TokensSpent, Usage
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.tui.export.formats import ExportFormat, read_export

NOW = datetime(2026, 3, 11, tzinfo=UTC)
PASSAGE = "About 41 percent of the cats in the survey smile."
SOURCE = Source(
    kind="article", title="Cats & their smiles", url="https://cats.example/smiles", author="Jo",
    published="2026-03-09T10:00:00", read_at=datetime(2026, 3, 10, 12, tzinfo=UTC), sha256="ab" * 32,
)  # fmt: skip


def reported(session: Recorded, text: str, name: str = "cats.html") -> str:
    """Save a report in a session; returns its path."""
    path, data = f"work_products/{name}", text.encode()
    (session.folder / path).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    session.add(ArtifactSaved(path=path, kind="work_product", size=len(data), sha256=digest, observer="x"))
    return path


def claim(exact: str, state: State = "differs", prefix: str = "", suffix: str = "", **more: Any) -> Claim:
    """A claim about some words of a report, with a passage of the source."""
    fields: dict[str, Any] = {
        "kind": "figure", "sentence": f"It is {exact}.", "instead": "41 percent" if state == "differs" else "",
        "passages": (Passage(source=0, text=PASSAGE, quote=TextQuote("41 percent", "About ")),),
    }  # fmt: skip
    return Claim(state=state, quote=TextQuote(exact, prefix, suffix), **fields | more)


def checked(session: Recorded, path: str, *claims: Claim, source: Source = SOURCE) -> ReportCheck:
    """Save a check of a report."""
    data = (session.folder / path).read_bytes()
    check = ReportCheck(
        report=path, sha256=hashlib.sha256(data).hexdigest(), checked_at=NOW, sources=(source,),
        check=Check(title="Cats", claims=claims),
    )  # fmt: skip
    target = session.folder / check_path(path)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(msgspec.json.encode(check))
    return check


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
    return read_export(folder, redactor or Redactor(), report, now=NOW).encoded(form).decode()


def page_of(text: str) -> Any:
    """Parse a page."""
    return html.document_fromstring(text, parser=html.HTMLParser(huge_tree=True))


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
