"""Copies the pictures, sounds and films that tools made into the session."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from core.errors import PathRefused, WorkspaceError
from core.files import AlreadyThere, Root
from core.names import safe_name
from core.observation import ToolCall, ToolResult
from observers.base import ObserverContext, Outcome, Saved, texts_of
from observers.decode import decode_texts
from observers.search.names import short_name, words_of

__all__ = ["FOLDER", "Media", "media_type"]

FOLDER = "work_products/media"
MAX_SIZE = 512 << 20
_OUTPUT_KEYS = (
    "output_video_path",
    "output_audio_path",
    "output_image_path",
    "output_path",
    "output_file",
    "output_filename",
    "video_path_out",
    "save_path",
    "saved_to",
    "dest_path",
)
_MEDIA_WORDS = frozenset(
    {
        "video",
        "videos",
        "audio",
        "media",
        "movie",
        "clip",
        "image",
        "images",
        "overlay",
        "overlays",
        "subtitles",
        "music",
    }
)
_MAKES_MEDIA = frozenset({"trim", "concatenate", "transcode", "watermark", "ffmpeg"})
_SUFFIX = r"mp4|m4v|mov|mkv|webm|avi|mp3|m4a|wav|flac|ogg|oga|opus|aac|gif|png|jpe?g|webp"
_PATH_IN_TEXT = re.compile(
    rf"(?:\b(?:to|at|as|in|path)\b|:)\s*[`\"']?((?:/|\./|[\w-]+/)[^\s`\"'<>|*?]*\.(?:{_SUFFIX}))\b",
    re.IGNORECASE,
)
_INTERMEDIATE = re.compile(
    r"^(?:temp_|tmp_|last_|first_|\.|_)|_part\d*$|_part_|\.part$|_temp$|_tmp$", re.IGNORECASE
)
_MAGIC_SIZE = 64


class Media:
    """Observer of tools that leave a media file behind."""

    name = "media"

    def wants(self, call: ToolCall) -> bool:
        """Tools that speak of media in their name, and any tool that is given an output path."""
        words = words_of(short_name(call.name))
        if words & _MEDIA_WORDS or words & _MAKES_MEDIA:
            return "search" not in words
        return any(isinstance(call.input.get(key), str) for key in _OUTPUT_KEYS)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Copy every media file the call names as its output to `work_products/media/`."""
        if result.observation.has_error:
            return Outcome(note="the tool failed")
        claimed = list(dict.fromkeys(_claimed(result, context)))
        if not claimed:
            return Outcome(note="no output file is named")
        artifacts: list[Saved] = []
        notes: list[str] = []
        rejected = duplicates = 0
        for path in claimed[:32]:
            refusal = _refusal(path)
            found = None if refusal else _find(path, context)
            if found is None:
                rejected += 1
                notes.append(
                    refusal or f"{PurePosixPath(path).name}: not a media file in a folder it may come from"
                )
                continue
            with context.ledger.editing:
                saved, name = _copy(*found, context)
            if saved is None:
                duplicates += 1
                notes.append(f"saved before as {name}")
            else:
                artifacts.append(saved)
        return Outcome(
            tuple(artifacts), len(artifacts), rejected, duplicates, "; ".join(dict.fromkeys(notes)) or None
        )


def media_type(head: bytes) -> str | None:
    """The kind of media that begins with these bytes: `video`, `audio` or `image`; None for anything else."""
    match head:
        case _ if head[4:8] == b"ftyp":
            return (
                "audio"
                if head[8:12] in (b"M4A ", b"M4B ")
                else "image"
                if head[8:12] in (b"avif", b"heic")
                else "video"
            )
        case _ if head.startswith(b"\x1a\x45\xdf\xa3"):
            return "video"
        case _ if head.startswith(b"RIFF"):
            return {b"AVI ": "video", b"WAVE": "audio", b"WEBP": "image"}.get(head[8:12])
        case _ if head.startswith((b"ID3", b"fLaC", b"OggS")) or (
            len(head) > 3 and head[0] == 0xFF and head[1] & 0xE6 in (0xE2, 0xE4, 0xE6)
        ):
            return "audio"
        case _ if head.startswith((b"\xff\xf1", b"\xff\xf9")):
            return "audio"
        case _ if head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")):
            return "image"
        case _:
            return None


def _claimed(result: ToolResult, context: ObserverContext) -> Iterator[str]:
    """The paths that the call or its result name as outputs, likeliest first."""
    yield from _paths_in(result.call.input)
    decoded = decode_texts(texts_of(result, context.workspace))
    for value in decoded.values:
        if isinstance(value, dict):
            yield from _paths_in(value)
            for inner in value.values():
                if isinstance(inner, dict):
                    yield from _paths_in(inner)
                elif isinstance(inner, str):
                    yield from (match[1] for match in _PATH_IN_TEXT.finditer(inner[:20_000]))
    yield from (match[1] for match in _PATH_IN_TEXT.finditer(decoded.prose[:20_000]))


def _paths_in(value: Mapping[str, Any]) -> Iterator[str]:
    yield from (path for key in _OUTPUT_KEYS if isinstance(path := value.get(key), str) and path)


def _refusal(path: str) -> str | None:
    pure = PurePosixPath(path)
    if _INTERMEDIATE.search(pure.name) or _INTERMEDIATE.search(pure.stem):
        return f"{pure.name}: an intermediate file"
    return None


def _find(path: str, context: ObserverContext) -> tuple[Root, str, str] | None:
    """The folder, the path below it and the kind of a claimed file, when it may be copied."""
    for root, relative in _places(path, context):
        try:
            if root.size(relative) > MAX_SIZE or not _is_own(root, relative):
                continue
            kind = media_type(root.read(relative, _MAGIC_SIZE))
        except (WorkspaceError, OSError):
            continue
        if kind is not None:
            return root, relative, kind
    return None


def _places(path: str, context: ObserverContext) -> Iterator[tuple[Root, str]]:
    """Where a claimed path may lie: the session's downloads and work products, and the machine's temporary folder."""
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


def _is_own(root: Root, relative: str) -> bool:
    return os.lstat(root.path / relative).st_uid == os.getuid()


def _copy(root: Root, relative: str, kind: str, context: ObserverContext) -> tuple[Saved | None, str]:
    """Copy a file under its own name, or the next free one; None when the same bytes are there already."""
    workspace = context.workspace
    if root.path == workspace.path / "work_products" and relative.startswith("media/"):
        return None, f"work_products/{relative}"
    data = root.read(relative, MAX_SIZE)
    source = PurePosixPath(relative)
    stem, suffix = safe_name(source.stem, 80), source.suffix.lower() if len(source.suffix) <= 8 else ""
    for number in range(1, 1_000):
        name = f"{FOLDER}/{stem}{'' if number == 1 else f'-{number}'}{suffix}"
        if workspace.exists(name):
            if workspace.root.size(name) == len(data) and workspace.read(name) == data:
                return None, name
            continue
        try:
            written = workspace.write(name, data, replace=False)
        except (AlreadyThere, PathRefused):
            continue
        return Saved(name, kind, written.size, written.sha256), name
    raise WorkspaceError(f"cannot copy {source.name}: too many files of that name in {FOLDER}; remove some")
