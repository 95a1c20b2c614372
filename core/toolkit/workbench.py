"""The tools workbench_download and workbench_upload: copy files between the remote sandbox and the workspace."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import tempfile
from pathlib import PurePosixPath
from typing import IO, Annotated

import msgspec
from msgspec import Meta

from ua_tui.core.connections.base import MOUNT
from ua_tui.core.errors import ConnectionFailed, PathRefused, TooLarge, WorkspaceError
from ua_tui.core.media_types import HEAD_SIZE
from ua_tui.core.redaction.masking import masked_file
from ua_tui.core.storage.files import Written
from ua_tui.core.storage.kinds import check_writable
from ua_tui.core.storage.paths import safe_name, split_path
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.calls import ToolContext
from ua_tui.core.toolkit.files import inside

FOLDER = "downloads"
SMALL = 5 << 20
"""Larger files (in bytes) are copied only if the agent asks for it."""
LARGEST = 100 << 20
_DEADLINE = 300.0


async def workbench_download(
    context: ToolContext,
    path: Annotated[
        str, Meta(description="file in the remote workbench, such as /mnt/files/output/chart.png")
    ],
    name: Annotated[str | None, Meta(description="its name in downloads/; by default the same name")] = None,
    allow_large: Annotated[
        bool, Meta(description="also above 5 MB, up to 100 MB; only when the person wants it here")
    ] = False,
) -> str:
    """Copy a file of Composio's remote workbench (below /mnt/files) into downloads/ of the workspace.

    Returns JSON: status saved with path, size, sha256; or status left_remote for one above 5 MB.

    Raises:
        PathRefused: the path is not one of a file below the sandbox's mount, or other programs obey files of this kind.
        ConnectionFailed: there is no such file, it has more than 100 MB, or the service fails.
        FetchRefused: its address is not allowed.
        WorkspaceError: it cannot be written.
    """
    relative = _remote(path)
    limit = LARGEST if allow_large else SMALL
    shown = context.workspace.redactor.redact((name or "").strip() or PurePosixPath(relative).name)
    wanted = safe_name(shown, 110)
    remote = await context.remote()
    with tempfile.SpooledTemporaryFile(8 << 20) as file:
        try:
            async with asyncio.timeout(_DEADLINE), remote.download(relative, limit) as pieces:
                async for piece in pieces:
                    file.write(piece)
        except TooLarge as large:
            return _left(relative, large.size, allow_large=allow_large)
        except TimeoutError as error:
            raise ConnectionFailed(
                f"the download took longer than {_DEADLINE:g} s: leave the file remote, and work on it there",
                code="timeout",
            ) from error
        written = await asyncio.to_thread(_write, context, wanted, file)
    return _answer(
        status="saved",
        path=written.path,
        size=written.size,
        sha256=written.sha256,
        remote_path=f"{MOUNT}/{relative}",
    )


async def workbench_upload(
    context: ToolContext,
    path: Annotated[str, Meta(description="file in the workspace")],
    remote_path: Annotated[
        str | None, Meta(description="its path below /mnt/files; by default the same name")
    ] = None,
    allow_large: Annotated[bool, Meta(description="also above 5 MB, up to 100 MB")] = False,
) -> str:
    """Copy a file of the workspace into Composio's remote workbench, below /mnt/files, replacing one there.

    Returns JSON: status uploaded, remote_path, path, size, sha256.

    Raises:
        PathRefused: a path leaves the workspace or the sandbox's mount.
        WorkspaceError: the file is missing or too large.
        ConnectionFailed: the service fails.
        FetchRefused: it would go to an address that is not used.
    """
    relative = inside(context, path)
    target = (
        _remote(remote_path.strip()) if remote_path and remote_path.strip() else PurePosixPath(relative).name
    )
    limit = LARGEST if allow_large else SMALL
    data = await asyncio.to_thread(context.workspace.read_artifact, relative, limit + 1)
    if len(data) > limit:
        advice = "it stays here" if allow_large else "set allow_large to copy it anyway"
        raise WorkspaceError(f"{clean_line(relative, 120)} is larger than {limit >> 20} MB: {advice}")
    remote = await context.remote()
    kind = mimetypes.guess_type(target)[0] or "application/octet-stream"
    try:
        async with asyncio.timeout(_DEADLINE):
            await remote.upload(target, data, kind)
    except TimeoutError as error:
        raise ConnectionFailed(
            f"the upload took longer than {_DEADLINE:g} s: try again", code="timeout"
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    return _answer(
        status="uploaded", remote_path=f"{MOUNT}/{target}", path=relative, size=len(data), sha256=digest
    )


def _remote(path: str) -> str:
    """The path below the mount, of a path with or without it."""
    name = path.strip()
    if name == MOUNT or name.startswith(f"{MOUNT}/"):
        name = name[len(MOUNT) + 1 :]
    elif name.startswith("/"):
        raise PathRefused(
            f"{clean_line(name, 160)} is not below {MOUNT}, and only files below it can be copied: "
            "copy it there first in the workbench"
        )
    name = name.removeprefix("./")
    if len(name) > 1_000:
        raise PathRefused("the path in the remote workbench is too long")
    # The rules for paths of the workspace: plain names, no parent folders, nothing that configures other programs.
    return "/".join(split_path(name))


def _write(context: ToolContext, name: str, file: IO[bytes]) -> Written:
    file = masked_file(file, context.workspace.redactor)
    file.seek(0)
    check_writable(f"{FOLDER}/{name}", file.read(HEAD_SIZE))
    return context.workspace.root.write_new(f"{FOLDER}/{name}", file)


def _left(relative: str, size: int | None, *, allow_large: bool) -> str:
    if allow_large:
        raise ConnectionFailed(
            f"{clean_line(relative, 120)} is larger than {LARGEST >> 20} MB and cannot be downloaded: "
            "work on it in the remote workbench, or make it smaller there",
            code="too_large",
        )
    return _answer(
        status="left_remote",
        remote_path=f"{MOUNT}/{relative}",
        size=size,
        note=(
            f"The file is larger than {SMALL >> 20} MB and stays in the remote workbench. Work on it there, or call "
            "again with allow_large if the person wants it on this machine."
        ),
    )


def _answer(**answer: str | int | None) -> str:
    return msgspec.json.encode(answer).decode()
