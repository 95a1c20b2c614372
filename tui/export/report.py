"""Finds the report of a session, and reads it and its check."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import (
    LARGEST_REPORT,
    ReportCheck,
    is_report,
    load_check,
    report_format,
)
from ua_tui.core.claims.references import cited
from ua_tui.core.errors import PathRefused, SettingsError, WorkspaceError
from ua_tui.core.net.bodies import declared_encoding
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.observers.check.session import check_in_session
from ua_tui.observers.output.written_files import FOLDER
from ua_tui.observers.work_products import is_draft
from ua_tui.tui.export.marks import MOST_MARKS
from ua_tui.tui.export.records import Export, ReportText
from ua_tui.tui.export.redaction import Redaction
from ua_tui.tui.viewers.safe_html import title_of

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

_WITHOUT_TEXT = (None, "pdf")
"""The formats of reports, and of other files, whose text is not in an export."""
_LARGEST_SOURCE = 2 << 20
"""Characters of a report that are exported."""


def with_report(
    export: Export,
    root: Root,
    wanted: str,
    redaction: Redaction,
    *,
    knowledge: KnowledgePlace | None = None,
) -> Export:
    """Add the report `wanted`, or the newest if that is empty, with its check, what it cites, and the sources.

    A report is checked if there is no check of it as it is.

    `knowledge` is where the knowledge base is with what earlier sessions have read, if there is one.

    Raises:
        SettingsError: there is no such report.
        WorkspaceError: it cannot be read.
        Stopped: the result is no longer needed.
    """
    saved = [
        each.path for each in export.artifacts if is_report(each.path, each.kind) and root.exists(each.path)
    ]
    reports = [path for path in saved or _unrecorded(root) if report_format(path) not in _WITHOUT_TEXT]
    path = _chosen(root, wanted, reports) if wanted else reports[-1] if reports else ""
    if not path:
        # The check of an empty text knows what the session has read.
        check, problems = _check(root, b"", "none.txt", redaction, None)
        sources = check.sources if check is not None else ()
        notices = (*export.notices, "The session has no report.", *problems)
        return msgspec.structs.replace(export, sources=sources, notices=notices)
    data = Workspace(root.path, root.path).read_artifact(path, LARGEST_REPORT)
    inner = path.removesuffix(SUFFIX)
    # By a byte order mark, as UTF-8, or as a page declares; what does not fit becomes U+FFFD.
    media_type = "text/html" if report_format(inner) == "html" else "text/plain"
    encoding = declared_encoding(data, media_type, "") or "utf-8"
    source = data.decode(encoding, "replace").removeprefix("\ufeff")
    safe = _without_secrets(source, redaction)
    # The mark at the beginning says that it is UTF-8, whatever the report declares.
    checked = data if safe == source else safe.encode("utf-8-sig", "replace")
    check, notices = _check(root, checked, inner, redaction, knowledge)
    is_cut = len(safe) > _LARGEST_SOURCE
    if is_cut:
        notices = (*notices, f"Only the beginning of the report {path} is included, as it is too long.")
    title = check.check.title if check is not None else ""
    report = ReportText(
        path=inner,
        title=title or (title_of(source[: 64 << 10]) if report_format(path) == "html" else ""),
        format=report_format(path) or "text",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        source=safe[:_LARGEST_SOURCE],
        is_cut=is_cut,
        others=tuple(each.removesuffix(SUFFIX) for each in reversed(reports) if each != path),
    )
    if check is None:
        return msgspec.structs.replace(export, report=report, notices=(*export.notices, *notices))
    listed = msgspec.structs.replace(CheckedReport.read(check, root.path), sources=())
    if len(listed.claims) > MOST_MARKS:
        marked = f"{MOST_MARKS:,} have marks, the doubtful ones first; the JSON export has all of them."
        notices = (*notices, f"Of the {len(listed.claims):,} claims {marked}")
    return msgspec.structs.replace(
        export,
        report=report,
        check=listed,
        references=tuple(cited(check)),
        sources=check.sources,
        notices=(*export.notices, *notices),
    )


def _unrecorded(root: Root) -> list[str]:
    """The reports in the folder of work products, the newest last; a session that was killed may have recorded none."""
    found, folders = list[tuple[float, str]](), [FOLDER]
    for folder in folders:
        with suppress(WorkspaceError):
            for entry in root.list(folder):
                path = f"{folder}/{entry.name}"
                if entry.is_dir and folder.count("/") < 4:
                    folders.append(path)
                elif not entry.is_dir and is_report(path, "work_product") and not is_draft(path):
                    found.append((entry.mtime, path))
    return [path for _, path in sorted(found)]


def _without_secrets(source: str, redaction: Redaction) -> str:
    safe = redaction.without_secrets(source)
    if "&" in safe:
        # A secret may be written with entities. What they hide otherwise is sanitised later, as all markup is.
        plain = html.unescape(safe)
        if (masked := redaction.redactor.redact(plain)) != plain:
            return masked
    return safe


def _chosen(root: Root, wanted: str, reports: Sequence[str]) -> str:
    """The path of the report that a person named: by its path in the session's folder or on the disk, or its name."""
    path = Path(wanted)
    candidates = [wanted, f"{FOLDER}/{wanted}"]
    for folder in (path.absolute().parent, path.parent):
        # Only folders are resolved: the file itself may not be a link.
        try:
            candidates.append((folder.resolve() / path.name).relative_to(root.path).as_posix())
        except (OSError, RuntimeError, ValueError):
            continue
    for candidate in [*candidates, *(f"{each}{SUFFIX}" for each in candidates)]:
        try:
            if root.exists(candidate) and report_format(candidate) not in _WITHOUT_TEXT:
                root.size(candidate)
                return candidate
        except (PathRefused, WorkspaceError):
            continue
    shown = clean_line(wanted, 200)
    known = ", ".join(clean_line(each, 100) for each in reversed(reports[-5:]))
    raise SettingsError(
        f"the session has no report {shown!r}: " + (f"it has {known}" if known else "it has no report at all")
    )


def _check(
    root: Root, data: bytes, path: str, redaction: Redaction, knowledge: KnowledgePlace | None
) -> tuple[ReportCheck | None, tuple[str, ...]]:
    saved = load_check(root, path)
    if saved is not None and saved.sha256 == hashlib.sha256(data).hexdigest():
        return saved, ()
    try:
        return check_in_session(data, path, root.path, redaction.redactor, knowledge), ()
    except Exception as error:
        # The report and the conversation are worth having without it.
        why = clean_line(redaction.text(str(error)), 200) or type(error).__name__
        return None, (f"The report could not be checked: {why}.",)
