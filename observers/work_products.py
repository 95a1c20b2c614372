"""Copies finished work products that are documents to `SAVED_REPORTS`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath

import msgspec

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.history.versions import index_of
from ua_tui.core.json_values import text_in
from ua_tui.core.media_types import HEAD_SIZE
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.kinds import is_document
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.storage.workspace import REPORT_INDEX, Workspace
from ua_tui.core.text import clean_line
from ua_tui.observers.base import ObserverContext, ObserverSpec, Outcome, Saved, moment_of
from ua_tui.observers.output.written_files import FOLDER, read_written, writes_work_product, written_path

_MAX_SIZE = 256 << 20
_ENDINGS = (".bak", ".draft", ".part", ".partial", ".swp", ".temp", ".tmp", "~")
_FOLDERS = frozenset({"draft", "drafts", "outlines", "scratch", "temp", "tmp", "wip", "working"})
_MARK = r"(?:drafts?|outlines?|scratch|te?mp|wip)"
# A name says that its file is unfinished by a mark of its own at either end. Anywhere else, or joined to a topic
# by a hyphen, the word belongs to the title: working_capital.html and draft-horses.html are reports.
_MARKED = re.compile(
    rf"{_MARK}(?:_.*)?|{_MARK}[-. ](?:copy|document|notes?|report|text|version)\b.*"
    rf"|(?:.*[-_. ])?{_MARK}|working_(?:copy|draft|file|notes?)|(?:.*_)?(?:working|partial)"
)
# A count, a version or a stamp at the end of a name; "nba-draft-2026" ends in a year, which is of the title.
_NUMBERED = re.compile(
    r"(?:[-_. ]?(?:v|version)[-_. ]?\d+|[-_. ]?(?<!\d)(?:\d{1,3}|20\d{6}(?:[-_]\d{6})?)|[-_ ]?\(\d+\))+$"
)


class WorkProducts:
    """Observer of writes under `work_products/`."""

    name = "work_products"

    def wants(self, call: ToolCall) -> bool:
        """Writes to that folder by the local toolkit or the agent itself."""
        return writes_work_product(call)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Copy the written file to `SAVED_REPORTS/{name}_{YYYYMMDD_HHMMSS}{ext}`, once for each content.

        The copy of a later version has `_v2`, `_v3` and so on after the time: the highest is the final one.
        """
        if result.observation.has_error:
            return Outcome(note="the write failed")
        workspace = context.workspace
        path = written_path(result.call, workspace)
        if path is None:
            return Outcome(note=f"not a file under {FOLDER}/")
        if is_draft(path):
            return Outcome(note="a draft or working file, so not copied")
        data = read_written(result, workspace, path, _MAX_SIZE)
        if len(data) > _MAX_SIZE:
            return Outcome(note=f"larger than {_MAX_SIZE >> 20} MiB, so not copied")
        if not data:
            return Outcome(note="the file is empty")
        if not is_document(path, data[:HEAD_SIZE]):
            return Outcome(note="not a document, picture or table, so not copied")
        digest = hashlib.sha256(data).hexdigest()
        with context.ledger.turn():
            copies = _earlier_copies(workspace, path)
            for name, found in copies.items():
                if found == digest:
                    return Outcome(duplicates=1, note=f"already saved as {name}")
            return self._copy(path, data, result, context, list(copies))

    def _copy(
        self, path: str, data: bytes, result: ToolResult, context: ObserverContext, earlier: Sequence[str]
    ) -> Outcome:
        workspace, moment = context.workspace, moment_of(result, context)
        source = PurePosixPath(path)
        suffix = source.suffix if len(source.suffix) <= 16 else ""
        stem = source.name.removesuffix(suffix)
        version = f"_v{len(earlier) + 1}" if earlier else ""
        name = safe_name(f"{safe_name(stem, 80)}_{moment:%Y%m%d_%H%M%S}{version}{suffix.lower()}", 110)
        try:
            written = workspace.saved_reports.write_new(name, data)
        except WorkspaceError as error:
            folder = clean_line(str(workspace.reports_path))
            raise WorkspaceError(f"cannot copy {path} to {folder}: {error}") from error
        entry = {
            "saved_as": written.path,
            "source": path,
            "session": workspace.session_id,
            "sha256": written.sha256,
            "size": written.size,
            "at": moment.isoformat(timespec="seconds"),
            "tool_use_id": result.call.tool_use_id,
            "replaces": earlier[-1] if earlier else None,
        }
        copied_to = str(workspace.saved_reports.path / written.path)
        note = None
        try:
            workspace.saved_reports.append_lines(REPORT_INDEX, [msgspec.json.encode(entry)])
        except WorkspaceError as error:
            note = f"copied to {written.path}, but not added to the index: {error}"
        saved = Saved(path, "work_product", written.size, written.sha256, copied_to)
        return Outcome((saved,), items=1, note=note)


def is_draft(path: str) -> bool:
    """Whether the name of a file or of one of its folders marks it as a draft.

    A mark is `_`, `.` or `~` at the beginning, or a word such as `draft`, `outline` or `tmp` that begins the name
    before an underscore or ends it, with or without a number. When in doubt a file is kept.
    """
    parts = PurePosixPath(path.lower()).parts
    name = parts[-1]
    if any(part.startswith(("_", ".", "~")) for part in parts) or not _FOLDERS.isdisjoint(parts[:-1]):
        return True
    stem = name.rpartition(".")[0] or name
    return name.endswith(_ENDINGS) or _MARKED.fullmatch(_NUMBERED.sub("", stem) or stem) is not None


def _earlier_copies(workspace: Workspace, path: str) -> dict[str, str]:
    """The names and hashes of the existing copies of a file of this session, the oldest first."""
    reports, session = workspace.saved_reports, workspace.session_id
    copies: dict[str, str] = {}
    for entry in index_of(reports.path):
        found, name = text_in(entry, "sha256"), entry["saved_as"]
        with suppress(PathRefused):
            if (entry["source"], entry["session"]) == (path, session) and found and reports.exists(name):
                copies[name] = found
    return copies


OBSERVER = ObserverSpec(lambda _rules: WorkProducts(), order=40)
