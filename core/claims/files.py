"""The files of a check in the folder `report_checks` of its session, and the formats of reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hmac import compare_digest
from pathlib import Path, PurePosixPath
from typing import Literal, Self, TypeVar

import msgspec

from ua_tui.core.claims.records import Check, Claim
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor, seal_json
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root, Written
from ua_tui.core.storage.folders import REPORT_CHECKS
from ua_tui.core.storage.names import safe_name
from ua_tui.core.storage.ownership import seal
from ua_tui.core.storage.workspace import Workspace

ReportFormat = Literal["html", "markdown", "text", "pdf"]
FORMATS: Mapping[str, ReportFormat] = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
    ".mdown": "markdown", ".txt": "text", ".text": "text", ".pdf": "pdf",
}  # fmt: skip
"""The formats that are checked, by the endings of their names."""
LARGEST_REPORT = 64 << 20
"""Bytes of a report that is checked."""

DECISIONS = ".claims.json"
"""How the names of the files with decisions end."""
VERSION = 2
_LARGEST = 32 << 20
_REPORTS = "work_products"

T = TypeVar("T")

SourceKind = Literal["article", "search_row", "run", "result", "file", "query", "earlier"]
"""What a source is: a page that was read, a row of a search, a run in the sandbox, the result of another tool, a
local file, what the person wrote, or a page that an earlier session read."""


class Reference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A source as others are to find it: `title`, `author`, `site` and `published` are as it states them.

    `read_at` is when a session read it; None if it was only seen in a search. `sha256` is of the text that was read, in
    hexadecimal.
    """

    url: str = ""
    title: str = ""
    author: str = ""
    site: str = ""
    published: str = ""
    read_at: datetime | None = None
    sha256: str = ""


class CheckedSource(Reference, frozen=True, kw_only=True, omit_defaults=True):
    """Where a text came from that claims were compared with.

    `path` is relative to the session's folder, or to the current one for a file that was given; `part` is the number
    of a row in it. `tool_use_id` is the call that gave it, `session` the folder of an earlier session.
    """

    kind: SourceKind
    path: str = ""
    part: int = 0
    tool_use_id: str = ""
    session: str = ""


class ReportCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The check of one version of a report.

    `report` is its path relative to the session's folder, `sha256` that of the checked file. `Passage.source` of a
    claim is an index of `sources`.
    """

    version: int = VERSION
    report: str
    sha256: str
    checked_at: datetime | None = None
    duration_ms: float = 0.0
    check: Check
    sources: tuple[CheckedSource, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims, in the order of the report."""
        return self.check.claims


class SealedFile(msgspec.Struct, kw_only=True):
    """What somebody said about a report; by the `seal` a file is recognised as written by this user's program."""

    version: int = 1
    report: str = ""
    seal: str = ""

    def seal_in(self, folder: Path) -> str:
        """The seal of the content in a folder."""
        content = msgspec.json.encode(msgspec.structs.replace(self, seal=""), order="deterministic")
        return seal("claims", folder, content.decode())

    def sealed_in(self, folder: Path, redactor: Redactor) -> Self:
        """The content with secrets masked and a seal, for a file in a folder."""
        masked = msgspec.json.decode(seal_json(msgspec.json.encode(self).decode(), redactor), type=type(self))
        masked.report = self.report
        return msgspec.structs.replace(masked, seal=masked.seal_in(folder))

    def is_own_in(self, folder: Path) -> bool:
        """Whether this user's program wrote the content to a file in a folder."""
        return compare_digest(self.seal.encode(), self.seal_in(folder).encode())


def report_format(path: str) -> ReportFormat | None:
    """The format of a report by its name or path, also of one that a session compressed; None if it is no report."""
    return FORMATS.get(PurePosixPath(path.removesuffix(SUFFIX)).suffix.lower())


def check_path(report: str) -> str:
    """The path of the check of a report, both relative to the session's folder."""
    parts = PurePosixPath(report.removesuffix(SUFFIX)).parts
    parts = parts[1:] if parts[:1] == (_REPORTS,) else parts
    return f"{REPORT_CHECKS}/{safe_name('__'.join(parts), 150)}.json"


def decisions_path(report: str) -> str:
    """The path of the decisions about a report, both relative to the session's folder."""
    return f"{check_path(report).removesuffix('.json')}{DECISIONS}"


def save_check(workspace: Workspace, check: ReportCheck) -> Written:
    """Write a check with its secrets masked, in place of the one before.

    Raises:
        WorkspaceError: it cannot be written.
    """
    return workspace.write_json(check_path(check.report), msgspec.to_builtins(check))


def load_check(root: Root, report: str) -> ReportCheck | None:
    """Read the newest check of a report; None if there is none, or none of this version.

    Whether it is of the report as it is now, its `sha256` says.
    """
    check = load(root, check_path(report), ReportCheck)
    if check is None or check.version != VERSION or check.report != report:
        return None
    known = range(len(check.sources))
    return check if all(each.source in known for claim in check.claims for each in claim.passages) else None


def load(root: Root, path: str, kind: type[T]) -> T | None:
    """Read a file of a session as JSON; None if there is none, or something else."""
    try:
        return msgspec.json.decode(root.read(path, _LARGEST), type=kind)
    except (WorkspaceError, ValueError, RecursionError):
        return None
