"""Finished work: what queries leave behind, as the events report it and as the files describe themselves."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ua_tui.core.claims.files import FORMATS, is_report
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import (
    ArtifactChanged,
    ArtifactSaved,
    ClaimsDecided,
    Event,
    ReportChecked,
    SessionRewound,
    ToolCallStarted,
)
from ua_tui.core.storage.files import Root
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView

KINDS: Mapping[str, tuple[str, ...]] = {
    "report": (),
    "document": (*FORMATS, ".docx", ".odt", ".rtf", ".tex"),
    "slides": (".pptx", ".odp"),
    "video": (".mp4", ".webm", ".mov", ".mkv", ".avi"),
    "chart": (".png", ".svg", ".jpg", ".jpeg", ".webp", ".gif"),
    "audio": (".mp3", ".wav", ".ogg", ".m4a", ".flac"),
    "data": (".csv", ".tsv", ".xlsx", ".ods", ".json", ".jsonl", ".parquet"),
    "corpus": (),
    "file": (),
}
"""The kinds of finished work, the most important first, and the endings of their files."""

_FINISHED = frozenset({"work_product", "download", "image", "video", "audio", "corpus", "file"})
_CORPUS = "expanded_corpus.json"
_READABLE = frozenset({".html", ".htm", ".md", ".txt", ".json"})
_READ_LIMIT = 1 << 20
_LONGEST_TITLE = 200
_STAMP = re.compile(r"[ _-]*\d{8}[ _-]\d{4,6}$")
_HTML_TITLE = re.compile(r"<(title|h1)\b[^>]{0,300}>(.{1,600}?)</\1", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]{0,300}>")
_MARKDOWN_TITLE = re.compile(r"^#{1,2}[ \t]+(.{1,300})$|^title:[ \t]*(.{1,300})$", re.MULTILINE)
_ADDRESS = re.compile(r"""(?:href\s*=\s*["']?|\]\(|<|^|\s)(https?://[^\s"'<>)\]#]{1,500})""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Result:
    """A piece of finished work.

    Attributes:
        path: the file, relative to the session's folder.
        kind: one of `KINDS`.
        title: as the file says; made from its name until the file was read.
        size: bytes.
        sources: how many pages it names or consists of; 0 if there are none or that is unknown.
        copies: the copy of each version in `SAVED_REPORTS`, the newest last.
        tool_use_id: the call that made the newest version.
        check: what the check of that version found; None before it is done, and after the file was changed.
        signed: how many of its claims a person decided, in words; empty if none.
    """

    path: str
    kind: str
    title: str
    size: int
    sources: int = 0
    copies: tuple[str, ...] = ()
    tool_use_id: str | None = None
    check: ReportChecked | None = None
    signed: str = ""

    @property
    def rank(self) -> int:
        """The place of its kind in `KINDS`."""
        return list(KINDS).index(self.kind)


class Results:
    """The finished work of a session, from its events; the newest version of each file."""

    def __init__(self) -> None:
        self._all: dict[str, Result] = {}
        self._saving: set[str] = set()

    def handle_event(self, event: Event, view: SessionView) -> Result | None:
        """Return the finished work that an event reports, if it does."""
        ended = [view.call(each) for each in self._saving] if self._saving else ()
        for call in (each for each in ended if each is not None and each.status is not None):
            self._saving.discard(call.id)
            if call.status == "success":
                # The observer reports a corpus only when it adds something to what the tool has saved.
                return self._add(_CORPUS, "corpus", 0, (), call.id)
        match event:
            case ArtifactSaved() if event.kind in _FINISHED:
                copies = (event.copied_to,) if event.copied_to else ()
                kind = event.kind if event.kind in KINDS else _kind_of(event.path, event.kind)
                return self._add(event.path, kind, event.size, copies, event.tool_use_id)
            case ReportChecked() if event.report in self._all:
                return self._change(event.report, check=event)
            case ClaimsDecided() if event.report in self._all:
                return self._all[event.report]
            case ArtifactChanged() if (before := self._all.get(event.path)) is not None:
                is_checked = before.check is not None and before.check.sha256 == event.sha256
                return self._change(event.path, size=event.size, check=before.check if is_checked else None)
            case SessionRewound():
                self._all = {path: each for path, each in self._all.items() if path not in event.removed}
            case ToolCallStarted() if event.name.endswith("__save_corpus"):
                self._saving.add(event.tool_use_id)
            case _:
                pass
        return None

    def _change(self, path: str, **changes: Any) -> Result:
        self._all[path] = result = replace(self._all[path], **changes)
        return result

    def describe(self, result: Result) -> None:
        """Note what a file says about itself, unless there is a newer version of it."""
        if result.path in self._all and self._all[result.path].tool_use_id == result.tool_use_id:
            self._all[result.path] = result

    def newest(self, kind: str = "report") -> Result | None:
        """Return the newest work of a kind, or else the newest of any."""
        newest_first = list(reversed(self._all.values()))
        return next((each for each in newest_first if each.kind == kind), next(iter(newest_first), None))

    def _add(
        self, path: str, kind: str, size: int, copies: tuple[str, ...], tool_use_id: str | None
    ) -> Result:
        before = self._all.pop(path, None)
        title = before.title if before is not None else _title_of_name(path)
        earlier = before.copies if before is not None else ()
        result = Result(path, kind, title, size, copies=(*earlier, *copies), tool_use_id=tool_use_id)
        self._all[path] = result
        return result


def describe_file(folder: Path, result: Result) -> Result:
    """Add what the file itself says: its title, its size, and how many sources it names; reads at most 1 MiB."""
    suffix = PurePosixPath(result.path).suffix.lower()
    try:
        root = Root(folder)
        result = replace(result, size=root.size(result.path), signed=_signed(root, folder, result.path))
        if result.kind not in {"report", "document", "corpus"} or suffix not in _READABLE:
            return result
        with root.opened(result.path) as file:
            text = file.read(_READ_LIMIT).decode("utf-8", "replace")
    except WorkspaceError:
        return result
    if result.kind == "corpus":
        counted = re.search(r'"count": ?(\d{1,9})\b', text[:4_000])
        return replace(result, title="Corpus of articles", sources=int(counted[1]) if counted else 0)
    title = ""
    if suffix in {".html", ".htm"}:
        if (found := _HTML_TITLE.search(text)) is not None:
            title = html.unescape(_TAG.sub("", found[2])).strip()
    elif (found := _MARKDOWN_TITLE.search(text[:20_000])) is not None:
        title = re.sub(r"[*`]+", "", found[1] or found[2]).strip("# \"'")
    return replace(
        result,
        title=clean_line(title, _LONGEST_TITLE) or result.title,
        sources=len({found.rstrip("/.,;") for found in _ADDRESS.findall(text)}),
    )


def _signed(root: Root, folder: Path, report: str) -> str:
    """How many claims of a report are decided, as its newest check has them."""
    # Most sessions have none.
    from ua_tui.core.claims.checked_report import CheckedReport
    from ua_tui.core.claims.files import ledger_path, load_check

    if not (folder / ledger_path(report)).exists() or (check := load_check(root, report)) is None:
        return ""
    return CheckedReport.read(check, folder).signed


def _kind_of(path: str, saved_as: str) -> str:
    if is_report(path, saved_as):
        return "report"
    suffix = PurePosixPath(path).suffix.lower()
    return next((kind for kind, endings in KINDS.items() if suffix in endings), "file")


def _title_of_name(path: str) -> str:
    stem = _STAMP.sub("", PurePosixPath(path).stem)
    words = " ".join(stem.replace("_", " ").replace("-", " ").split())
    return clean_line(words[:1].upper() + words[1:] or path, _LONGEST_TITLE)
