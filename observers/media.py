"""Saves image, audio and video files that tools made, and reports the files in the results of MCP servers."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Set
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path, PurePosixPath

from ua_tui.core.errors import ObserverError, PathRefused, WorkspaceError
from ua_tui.core.json_values import JsonMapping, values_within
from ua_tui.core.media_types import HEAD_SIZE, media_type
from ua_tui.core.observation import ReturnedFile, ToolCall, ToolResult
from ua_tui.core.storage.files import AlreadyThere, Root
from ua_tui.core.storage.paths import numbered, safe_name
from ua_tui.core.text import clean_line, words_of
from ua_tui.observers.base import (
    ObserverContext,
    ObserverSpec,
    Outcome,
    Saved,
    already_saved,
    texts_of,
    total_of,
)
from ua_tui.observers.decoding.decode import decode_texts
from ua_tui.observers.search.keys import listed
from ua_tui.observers.search.tool_names import short_name

FOLDER = "work_products/media"
MAX_SIZE = 512 << 20
_CHUNK = 1 << 20
_OUTPUT_KEYS = frozenset(listed("output_keys"))
_VAGUE_KEYS = frozenset(listed("vague_output_keys"))
_RESULT_KEYS = _VAGUE_KEYS | frozenset(listed("result_keys"))
_ONLY_READS = frozenset(listed("only_reads"))
_MEDIA_WORDS = frozenset(listed("media_words"))
_MAKES_MEDIA = frozenset(listed("makes_media"))
_SUFFIX = r"mp4|m4v|mov|mkv|webm|avi|mp3|m4a|wav|flac|ogg|oga|opus|aac|gif|png|jpe?g|webp"
_PATH_IN_TEXT = re.compile(
    rf"(?:\b(?:to|at|as|in|path)\b|:)\s*[`\"']?((?:/|\./|[\w-]+/)[^\s`\"'<>|*?]*\.(?:{_SUFFIX}))\b",
    re.IGNORECASE,
)
_MEDIA_SUFFIX = re.compile(rf"\.(?:{_SUFFIX})$", re.IGNORECASE)
# What editing leaves between its steps; "spare_part_list" and "first_dance" are names like any other.
_INTERMEDIATE = re.compile(
    r"^(?:temp_|tmp_|(?:last|first)_frame|\.|_)|_part(?:_?\d|$)|\.part$|_te?mp$", re.IGNORECASE
)
_LONGEST_PATH = 4_096


class Media:
    """Observer of tools that write a media file or return files in their result."""

    name = "media"

    def wants(self, call: ToolCall) -> bool:
        """Tools with a media word in their name, and any tool with an output path in its input."""
        words = words_of(short_name(call.name))
        if not (_MEDIA_WORDS | _MAKES_MEDIA).isdisjoint(words):
            return "search" not in words
        return next(_paths_in(call.input), None) is not None

    def wants_result(self, result: ToolResult) -> bool:
        """Results with files in them, of any tool."""
        return bool(result.observation.files)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Report the files in a result, and copy those that the call names as its output to `work_products/media/`."""
        outcomes = [_reported(file, context) for file in result.observation.files]
        if result.observation.has_error:
            return total_of([*outcomes, Outcome(note="the tool failed")])
        claimed = list(dict.fromkeys(_claimed(result, context))) if self.wants(result.call) else []
        if not claimed:
            return total_of(outcomes) if outcomes else Outcome(note="no output file is named")
        failure: WorkspaceError | None = None
        for path in claimed[:32]:
            try:
                outcomes.append(_copy_file(path, context))
            except (ObserverError, WorkspaceError) as error:
                # Files copied before this error stay, and are reported.
                failure = error if isinstance(error, WorkspaceError) else failure
                outcomes.append(Outcome(rejected=1, note=str(error)))
        total = total_of(outcomes)
        if failure is not None and not total.artifacts:
            raise failure
        return total


def _reported(file: ReturnedFile, context: ObserverContext) -> Outcome:
    """A file that came with a result, and is in the workspace."""
    if not file.is_new:
        return already_saved(file.path)
    with context.workspace.root.opened(file.path) as opened:
        kind = media_type(opened.read(HEAD_SIZE)) or "file"
        digest, size = _digest(opened), opened.tell()
    return Outcome((Saved(file.path, kind, size, digest),), items=1)


def _claimed(result: ToolResult, context: ObserverContext) -> Iterator[str]:
    """The paths that the call or its result name as outputs, the most likely first."""
    yield from _paths_in(result.call.input)
    decoded = decode_texts(texts_of(result, context.workspace))
    only_reads = _ONLY_READS.intersection(words_of(short_name(result.call.name)))
    # A result may repeat the names of the files that were read.
    read = {each for each in result.call.input.values() if isinstance(each, str)}
    for inner in values_within([*decoded.values]):
        if not isinstance(inner, dict):
            continue
        yield from (
            path for path in _paths_in(inner, _VAGUE_KEYS if only_reads else _RESULT_KEYS) if path not in read
        )
        for text in inner.values():
            if isinstance(text, str):
                yield from (match[1] for match in _PATH_IN_TEXT.finditer(text[:20_000]))
    yield from (match[1] for match in _PATH_IN_TEXT.finditer(decoded.prose[:20_000]))


def _paths_in(value: JsonMapping, vague: Set[str] = _VAGUE_KEYS) -> Iterator[str]:
    for key, named in value.items():
        plain = key.replace("_", "").replace("-", "").lower() if isinstance(key, str) else ""
        for path in named if isinstance(named, list) else (named,):
            if isinstance(path, str) and path and len(path) <= _LONGEST_PATH:
                is_vague = plain.removesuffix("s") in vague or plain in vague
                if plain.removesuffix("s") in _OUTPUT_KEYS or (is_vague and _MEDIA_SUFFIX.search(path)):
                    yield path


def _copy_file(path: str, context: ObserverContext) -> Outcome:
    """Copy a file, unless there is one with the same bytes.

    Raises:
        ObserverError: the file may not be copied; the message says why.
    """
    shown = clean_line(PurePosixPath(path).name, 80)
    if _INTERMEDIATE.search(PurePosixPath(path).name) or _INTERMEDIATE.search(PurePosixPath(path).stem):
        raise ObserverError(f"{shown}: an intermediate file")
    reason = "not a media file, or not in a folder from which media files are copied"
    for root, relative in _places(path, context):
        with ExitStack() as stack:
            try:
                file = stack.enter_context(root.opened(relative))
            except WorkspaceError:
                continue
            # All that follows goes by this descriptor: another file put under the name meanwhile is not read.
            found = os.fstat(file.fileno())
            kind = media_type(file.read(HEAD_SIZE)) if found.st_uid == os.getuid() else None
            if kind is None:
                continue
            if found.st_size > MAX_SIZE:
                reason = f"larger than {MAX_SIZE >> 20} MiB, so not copied"
                continue
            if root.path == context.workspace.path / "work_products" and relative.startswith("media/"):
                return already_saved(f"work_products/{relative}")
            return _copy(file, found.st_size, PurePosixPath(relative), kind, context)
    raise ObserverError(f"{shown}: {reason}")


def _places(path: str, context: ObserverContext) -> Iterator[tuple[Root, str]]:
    """The folders in which a named file may be: the session's downloads and work products, and the temporary folder."""
    workspace = context.workspace.path
    for folder in (workspace / "downloads", workspace / "work_products", Path(tempfile.gettempdir())):
        try:
            root = Root(folder)
        except WorkspaceError:
            continue
        candidates = (Path(path),) if os.path.isabs(path) else (workspace / path, folder / path)
        for candidate in candidates:
            for base in (folder, root.path):
                if candidate.is_relative_to(base):
                    yield root, candidate.relative_to(base).as_posix()
                    break


def _copy(
    file: BufferedReader, size: int, source: PurePosixPath, kind: str, context: ObserverContext
) -> Outcome:
    """Copy an open file to its own name, or the next unused one, unless the same bytes exist already."""
    workspace = context.workspace
    stem = safe_name(workspace.redactor.redact(source.stem), 80)
    suffix = source.suffix.lower() if len(source.suffix) <= 8 else ""
    digest: str | None = None
    with context.ledger.turn():
        for name in numbered(f"{FOLDER}/{stem}{suffix}"):
            if workspace.exists(name):
                if workspace.root.size(name) == size:
                    digest = digest or _digest(file)
                    with workspace.root.opened(name) as existing:
                        if _digest(existing) == digest:
                            return already_saved(name)
                continue
            try:
                written = workspace.root.write_chunks(name, _pieces(file, size, source.name), replace=False)
            except (AlreadyThere, PathRefused):
                continue
            return Outcome((Saved(name, kind, written.size, written.sha256),), items=1)
    raise WorkspaceError(f"cannot copy {source.name}: too many files of that name in {FOLDER}; remove some")


def _pieces(file: BufferedReader, size: int, name: str) -> Iterator[bytes]:
    """The bytes of an open file, if its size does not change.

    Raises:
        ObserverError: it grows or shrinks meanwhile.
    """
    file.seek(0)
    left = size
    while left and (piece := file.read(min(_CHUNK, left))):
        left -= len(piece)
        yield piece
    if left or os.fstat(file.fileno()).st_size != size:
        raise ObserverError(
            f"{clean_line(name, 80)}: it changed while it was copied; name it again when it is complete"
        )


def _digest(file: BufferedReader) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


OBSERVER = ObserverSpec(lambda _rules: Media(), order=50)
