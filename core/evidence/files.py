"""The formats of reports, and the file of a check in the folder `report_checks` of its session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.evidence.records import VERSION, ReportCheck
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root, Written
from ua_tui.core.storage.names import safe_name
from ua_tui.core.storage.workspace import Workspace

ReportFormat = Literal["html", "markdown", "text"]
FORMATS: Mapping[str, ReportFormat] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".txt": "text",
    ".text": "text",
}
"""The formats that are checked, by the endings of their names."""
LARGEST_REPORT = 64 << 20
"""Bytes of a report that is checked."""

FOLDER = "report_checks"
LARGEST = 32 << 20
"""Bytes of a file that is read as a check."""
_REPORTS = "work_products"
_HIGHEST_ID = 999_999_999


def report_format(path: str) -> ReportFormat | None:
    """The format of a report by its name or path, also of one that a session compressed; None if it is no report."""
    return FORMATS.get(PurePosixPath(path.removesuffix(SUFFIX)).suffix.lower())


def check_path(report: str) -> str:
    """The path of the check of a report, both relative to the session's folder."""
    parts = PurePosixPath(report.removesuffix(SUFFIX)).parts
    parts = parts[1:] if parts[:1] == (_REPORTS,) else parts
    return f"{FOLDER}/{safe_name('__'.join(parts), 150)}.json"


def save_check(workspace: Workspace, check: ReportCheck) -> Written:
    """Write a check with its secrets masked, in place of the one before.

    Raises:
        WorkspaceError: it cannot be written.
    """
    return workspace.write_json(check_path(check.report), msgspec.to_builtins(check))


def load_check(root: Root, report: str) -> ReportCheck | None:
    """Read the newest check of a report; None if there is none, or not of this version, or no check was written so.

    Whether it is of the report as it is now, its `sha256` says.
    """
    try:
        check = msgspec.json.decode(root.read(check_path(report), LARGEST), type=ReportCheck)
    except (WorkspaceError, msgspec.DecodeError, ValueError, RecursionError):
        return None
    is_known = check.version == VERSION and check.report == report
    return check if is_known and _has_ids(check) else None


def _has_ids(check: ReportCheck) -> bool:
    """Whether each claim has an id of its own: by these, claims are marked in a report and linked."""
    ids = {claim.id for claim in check.claims}
    return len(ids) == len(check.claims) and all(0 < each <= _HIGHEST_ID for each in ids)
