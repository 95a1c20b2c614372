"""The remote sandbox of the demo: the files of its mount, and presigned addresses to transfer them.

The files are those that the recorded scripts would have written.
"""

from __future__ import annotations

import mimetypes
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

PREFIX = "/mnt/files"
RECORDED = ("revenue.csv", "outputs/monthly_revenue.png")
LARGEST = 128 << 20
LIFETIME = timedelta(minutes=15)


def sandbox_files() -> Mapping[str, bytes]:
    """The files of a new session: a table of revenue, and its chart."""
    folder = files("ua_tui.core.demo.composio").joinpath("files")
    return {name: folder.joinpath(name).read_bytes() for name in RECORDED}


@dataclass(frozen=True)
class _Ticket:
    session_id: str
    path: str
    method: str


@dataclass
class Mounts:
    """The mount `files` of every session: its files by session and path; a new session has the `recorded` ones."""

    recorded: Mapping[str, bytes]

    def __post_init__(self) -> None:
        self._files: dict[str, dict[str, bytes]] = {}
        self._tickets: dict[str, _Ticket] = {}

    def files(self, session_id: str) -> dict[str, bytes]:
        """The files of a session by path below the mount."""
        if session_id not in self._files:
            self._files[session_id] = dict(self.recorded)
        return self._files[session_id]

    def forget(self, session_id: str) -> None:
        """Drop the files of a deleted session."""
        self._files.pop(session_id, None)

    def presign(
        self, request: Request, session_id: str, body: Mapping[str, Any], method: str
    ) -> Response | None:
        """Answer with an address to write or read a file; None if the file to read does not exist."""
        path = str(body.get("mount_relative_path", ""))
        if method == "GET" and path not in self.files(session_id):
            return None
        ticket = secrets.token_urlsafe(18)
        self._tickets[ticket] = _Ticket(session_id, path, method)
        return JSONResponse(
            {
                "download_url" if method == "GET" else "upload_url": f"{request.base_url}storage/{ticket}",
                "expires_at": stamp(datetime.now(UTC) + LIFETIME),
                "mount_relative_path": path,
                "sandbox_mount_prefix": PREFIX,
            }
        )

    async def stored(self, request: Request) -> Response:
        """Answer at a presigned address, which needs no key."""
        ticket = self._tickets.get(request.path_params["ticket"])
        if ticket is None or ticket.method != request.method.replace("HEAD", "GET"):
            return Response("AccessDenied", 403)
        files = self.files(ticket.session_id)
        if ticket.method == "GET":
            kind = mimetypes.guess_type(ticket.path)[0] or "application/octet-stream"
            return Response(files[ticket.path], media_type=kind)
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST:
                return Response("EntityTooLarge", 413)
        files[ticket.path] = bytes(body)
        return Response(status_code=200)


def stamp(moment: datetime) -> str:
    """A moment as the API writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
