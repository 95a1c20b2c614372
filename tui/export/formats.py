"""Exports a session, or the references of its report, into a file in each of the formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from ua_tui.core.claims.references import WRITERS
from ua_tui.core.errors import SettingsError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import SAVED_REPORTS
from ua_tui.core.storage.paths import safe_name, words_of
from ua_tui.core.storage.workspace import saved_reports_of
from ua_tui.core.text import clean_line, escape_unsafe
from ua_tui.tui.export.documents.document import document_bytes
from ua_tui.tui.export.markdown import markdown_text
from ua_tui.tui.export.page import html_page
from ua_tui.tui.export.records import Export
from ua_tui.tui.export.redaction import Redaction, session_folders
from ua_tui.tui.export.report import with_report
from ua_tui.tui.export.session import read_session

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

ExportFormat = Literal["html", "pdf", "docx", "md", "json", "csl", "ris", "bibtex"]
FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_SUFFIXES: Mapping[ExportFormat, str] = {
    "html": ".html", "pdf": ".pdf", "docx": ".docx", "md": ".md", "json": ".json", "csl": ".csl.json", "ris": ".ris",
    "bibtex": ".bib",
}  # fmt: skip
_LONGEST_NAME = 80


@dataclass(frozen=True)
class SessionExport:
    """What is exported of the session in a `folder`, redacted, with what redacts the rest of it."""

    folder: Path
    record: Export
    redaction: Redaction

    def encoded(self, form: ExportFormat) -> bytes:
        """Write it in one of the formats.

        Raises:
            SettingsError: there are no references, or no report, to export.
            Stopped: the result is no longer needed.
        """
        export = self.record
        match form:
            case "html":
                text = html_page(export, Root(self.folder), self.redaction)
            case "pdf" | "docx":
                return document_bytes(export, Root(self.folder), self.redaction, form)
            case "md":
                text = markdown_text(export, self.redaction)
            case "json":
                text = escape_unsafe(msgspec.json.format(msgspec.json.encode(export)).decode()) + "\n"
            case "csl" | "ris" | "bibtex":
                if not export.references:
                    why = "the session has no report"
                    if export.report is not None:
                        why = f"{clean_line(export.report.path)} cites no page that its session read or found"
                    raise SettingsError(f"there are no references to export: {why}")
                text = WRITERS[form](export.references)
        return text.encode("utf-8", "replace")

    def save(self, form: ExportFormat) -> Path:
        """Write it into the saved reports beside the session, under a name that is free; returns the file.

        The name is the title of the report, else that of its file or session.

        Raises:
            WorkspaceError: it cannot be written; and as `encoded`.
        """
        data, report, stem = self.encoded(form), self.record.report, ""
        if report is not None:
            stem = words_of(report.title) or PurePosixPath(report.path).stem
        name = f"{safe_name(stem or self.record.session.id, _LONGEST_NAME)}{_SUFFIXES[form]}"
        reports = saved_reports_of(self.folder.absolute()) or self.folder / SAVED_REPORTS
        return reports / Root(reports, create=True).write_new(name, data).path


def read_export(
    folder: Path,
    redactor: Redactor,
    report: str = "",
    *,
    now: datetime | None = None,
    knowledge: KnowledgePlace | None = None,
) -> SessionExport:
    """Gather what is exported of a session, redacted; `report` names one, empty for the newest. Takes a thread a while.

    `knowledge` is where the knowledge base is with what earlier sessions have read, for a report without a check.
    Nothing is written.

    Raises:
        JournalError: the session cannot be read.
        SettingsError: it has no such report.
        WorkspaceError: the report cannot be read.
        Stopped: the result is no longer needed.
    """
    root = Root(folder)
    # The links that the session learned are known afterwards.
    export, recorded = read_session(root.path, redactor, now or datetime.now(UTC))
    redaction = Redaction(redactor, session_folders(folder.absolute(), (str(root.path), *sorted(recorded))))
    export = with_report(export, root, report, redaction, knowledge=knowledge)
    return SessionExport(folder, redaction.record(export), redaction)
