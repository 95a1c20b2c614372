"""Exports a session into a file, in each of the formats."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import ReportCheck
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root, Written
from ua_tui.core.storage.names import safe_name
from ua_tui.core.text import escape_unsafe
from ua_tui.core.version import VERSION
from ua_tui.tui.export.markdown import markdown_text
from ua_tui.tui.export.marks import MOST_MARKS
from ua_tui.tui.export.page import html_page
from ua_tui.tui.export.records import Export
from ua_tui.tui.export.redaction import Redaction, session_folders
from ua_tui.tui.export.report import read_reported
from ua_tui.tui.export.session import read_session

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

ExportFormat = Literal["html", "md", "json"]
FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


def read_export(
    folder: Path,
    redactor: Redactor,
    report: str = "",
    *,
    now: datetime | None = None,
    knowledge: KnowledgePlace | None = None,
    stop: Stop = NEVER,
) -> tuple[Export, Redaction]:
    """Gather what is exported of a session, redacted; `report` names one, empty for the newest. Takes a thread a while.

    `knowledge` is where the knowledge base is with what earlier sessions have read, for a report without a check.
    Nothing is written into the session's folder.

    Raises:
        JournalError: the session cannot be read.
        SettingsError: it has no such report.
        WorkspaceError: the report cannot be read.
        Stopped: the flag was set.
    """
    root = Root(folder)
    # The links that the session learned are known afterwards.
    content = read_session(root.path, redactor, stop)
    redaction = Redaction(redactor, session_folders(folder.absolute(), (str(root.path), *content.recorded)))
    reported = read_reported(root, report, content.artifacts, redaction, stop, knowledge=knowledge)
    export = Export(
        program=f"ua-tui {VERSION}",
        exported_at=(now or datetime.now(UTC)).replace(microsecond=0),
        session=content.facts,
        report=reported.report,
        check=reported.check,
        queries=content.queries,
        calls=content.calls,
        sources=reported.sources,
        artifacts=content.artifacts,
        costs=content.costs,
        notices=(*content.notices, *reported.notices, *_cut_claims(reported.check)),
    )
    return redaction.record(export), redaction


def _cut_claims(check: ReportCheck | None) -> tuple[str, ...]:
    if check is None or len(check.claims) <= MOST_MARKS:
        return ()
    return (
        f"Of the {len(check.claims):,} claims {MOST_MARKS:,} have marks, the doubtful ones first; JSON has all.",
    )


def export_bytes(
    folder: Path,
    redactor: Redactor,
    form: ExportFormat = "html",
    report: str = "",
    *,
    now: datetime | None = None,
    knowledge: KnowledgePlace | None = None,
    stop: Stop = NEVER,
) -> bytes:
    """Export a session; the parameters and errors are those of `read_export`."""
    export, redaction = read_export(folder, redactor, report, now=now, knowledge=knowledge, stop=stop)
    match form:
        case "html":
            text = html_page(export, Root(folder), redaction, stop)
        case "md":
            text = markdown_text(export, redaction, stop)
        case "json":
            text = escape_unsafe(msgspec.json.format(msgspec.json.encode(export)).decode()) + "\n"
    return text.encode("utf-8", "replace")


def export_name(folder: Path, form: ExportFormat) -> str:
    """The name of the file into which a session is exported by default."""
    return f"{safe_name(folder.name, 80)}.{form}"


def write_export(
    folder: Path,
    redactor: Redactor,
    into: Path,
    form: ExportFormat = "html",
    report: str = "",
    *,
    knowledge: KnowledgePlace | None = None,
    stop: Stop = NEVER,
) -> Path:
    """Export a session into a folder, under a name that is free; returns the file.

    Raises:
        WorkspaceError: it cannot be written; and as `read_export`.
    """
    data = export_bytes(folder, redactor, form, report, knowledge=knowledge, stop=stop)
    target = Root(into)
    written: Written = target.write_new(export_name(folder, form), data)
    return target.path / written.path
