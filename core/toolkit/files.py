"""The tools for files of the workspace: write_local_file, read_local_file, list_directory."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.storage.kinds import check_writable
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.articles import text_end
from ua_tui.core.toolkit.calls import ToolContext

DEFAULT_CHARACTERS = 40_000
MAX_CHARACTERS = 200_000
MAX_BYTES_READ = 32 << 20
MAX_NAMES = 500


def inside(context: ToolContext, path: str) -> str:
    """Make a path relative to the workspace; an absolute path outside it is returned unchanged.

    The result is not safe yet: whatever opens it refuses what leaves the workspace.
    """
    base = str(context.workspace.path)
    if path.rstrip("/") == base:
        return ""
    return path.removeprefix(f"{base}/")


def read_text(context: ToolContext, path: str) -> str:
    """Read a text file of the workspace; bytes that are not UTF-8 become replacement characters.

    Raises:
        PathRefused: the path leaves the workspace.
        WorkspaceError: the file is missing, too large, or not text.
    """
    data = context.workspace.read_artifact(path, MAX_BYTES_READ + 1)
    if len(data) > MAX_BYTES_READ:
        raise WorkspaceError(f"{_shown(path)} is larger than {MAX_BYTES_READ >> 20} MB and cannot be read")
    if b"\0" in data[:8192]:
        raise WorkspaceError(f"{_shown(path)} is not a text file ({len(data):,} bytes)")
    return data.decode("utf-8", "replace")


async def write_local_file(
    context: ToolContext,
    path: Annotated[str, Meta(description="path in the workspace, such as work_products/report.html")],
    content: Annotated[str, Meta(description="the whole text of the file")],
) -> str:
    """Write a text file in the workspace, replacing an earlier one. Returns JSON: path, size, sha256.

    Raises:
        PathRefused: the path leaves the workspace, is of a kind that other programs obey, names a record of the
            session, or holds a secret.
    """
    relative = inside(context, path)
    check_writable(relative, content[:64].encode("utf-8", "replace"))
    if context.workspace.redactor.redact(relative) != relative:
        raise PathRefused(
            "the path contains a secret, which would be visible in the name; choose another name"
        )
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    written = context.workspace.write(relative, content)
    answer = {"path": written.path, "size": written.size, "sha256": written.sha256}
    if written.sha256 != digest:
        # The file differs from what was asked for.
        answer["note"] = "values that look like secrets were masked in the file"
    return msgspec.json.encode(answer).decode()


async def read_local_file(
    context: ToolContext,
    path: Annotated[str, Meta(description="path in the workspace")],
    offset: Annotated[int, Meta(description="first character to read", ge=0)] = 0,
    limit: Annotated[
        int, Meta(description="most characters to read", ge=1, le=MAX_CHARACTERS)
    ] = DEFAULT_CHARACTERS,
) -> str:
    """Read a text file of the workspace. Long files come in parts; the last line says how much is left.

    The addresses of the links of an article are a part of their own, behind its text.

    Raises:
        PathRefused: the path leaves the workspace.
        WorkspaceError: the file is missing or not text, or the offset lies behind its end.
    """
    relative = inside(context, path)
    text = read_text(context, relative)
    if offset and offset >= len(text):
        raise WorkspaceError(
            f"offset {offset} is beyond the end of {_shown(relative)} ({len(text)} characters)"
        )
    # Most readers of an article need no addresses, which may be as long as the text.
    article = text_end(text)
    end = min(offset + limit, article if offset < article else len(text))
    part = text[offset:end]
    if not text:
        return "[The file is empty.]"
    if end == len(text):
        return part
    rest = "are left" if end != article else "are left, the addresses of the links"
    return (
        f"{part}\n[Characters {offset} to {end} of {len(text)}. {len(text) - end} {rest}: "
        f"read on with offset={end}.]"
    )


async def list_directory(
    context: ToolContext,
    path: Annotated[str, Meta(description="folder in the workspace; empty for the workspace itself")] = "",
) -> str:
    """List a folder of the workspace: kind, size in bytes and name of each entry.

    Raises:
        PathRefused: the path leaves the workspace.
        WorkspaceError: there is no such folder.
    """
    relative = inside(context, path.strip()).rstrip("/")
    if relative == ".":
        relative = ""
    found = [entry for entry in context.workspace.list(relative) if entry.name != ".lock"]
    entries = sorted(found, key=lambda entry: (not entry.is_dir, entry.name))
    title = f"{_shown(relative)}/" if relative else "workspace"
    lines = [f"{title}: {quantity(len(entries), 'entry', 'entries')}"]
    for entry in entries[:MAX_NAMES]:
        name = clean_line(entry.name)
        if entry.is_dir:
            lines.append(f"folder {'-':>12}  {name}/")
        else:
            kind = PurePosixPath(entry.name).suffix[1:] or "file"
            lines.append(f"{clean_line(kind, 8):<6} {entry.size:>12,}  {name}")
    if len(entries) > MAX_NAMES:
        lines.append(f"... and {len(entries) - MAX_NAMES} more")
    return "\n".join(lines)


def _shown(path: str) -> str:
    return clean_line(path, 120)
