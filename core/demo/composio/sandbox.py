"""The remote sandbox of the demo: the files of its mount, and presigned addresses to transfer them.

The files are those that the recorded scripts would have written.
"""

from __future__ import annotations

import mimetypes
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

__all__ = ["PREFIX", "Mounts", "sandbox_files"]

_MONTHS = {"2026-07": 412_300, "2026-08": 398_750, "2026-09": 455_100, "2026-10": 487_920}
_NAMES = ("July", "August", "September", "October")
_DAYS = 28
_SIZE = (640, 400)
_INK, _PAPER, _BAR, _GRID = "#1f2430", "#ffffff", "#3b6ea5", "#d9dde3"


def sandbox_files() -> Mapping[str, bytes]:
    """The files of a new session: a table of revenue, and its chart."""
    return {"revenue.csv": _table(), "outputs/monthly_revenue.png": _chart()}


def _table() -> bytes:
    lines = ["date,revenue"]
    for month, total in _MONTHS.items():
        each, rest = divmod(total, _DAYS)
        lines += [f"{month}-{day:02},{each + (rest if day == 1 else 0)}" for day in range(1, _DAYS + 1)]
    return ("\n".join(lines) + "\n").encode()


def _chart() -> bytes:
    from PIL import Image, ImageDraw, ImageFont

    width, height = _SIZE
    picture = Image.new("RGB", _SIZE, _PAPER)
    draw, font, small = ImageDraw.Draw(picture), ImageFont.load_default(20), ImageFont.load_default(14)
    draw.text((width / 2, 24), "Revenue by month", _INK, font, anchor="mm")
    top, bottom, left = 60, height - 50, 80
    scale = (bottom - top) / 500_000
    for value in range(0, 500_001, 100_000):
        y = bottom - value * scale
        draw.line((left, y, width - 20, y), _GRID)
        draw.text((left - 10, y), f"{value // 1000} k", _INK, small, anchor="rm")
    step = (width - 20 - left) / len(_NAMES)
    for number, (name, total) in enumerate(zip(_NAMES, _MONTHS.values(), strict=True)):
        middle = left + step * (number + 0.5)
        draw.rectangle((middle - 40, bottom - total * scale, middle + 40, bottom), _BAR)
        draw.text((middle, bottom - total * scale - 12), f"{total:,}", _INK, small, anchor="mm")
        draw.text((middle, bottom + 20), name, _INK, small, anchor="mm")
    data = BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()


PREFIX = "/mnt/files"
STORAGE = "/storage/{ticket}"
LARGEST = 128 << 20
LIFETIME = timedelta(minutes=15)


@dataclass(frozen=True)
class _Ticket:
    session_id: str
    path: str
    method: str


@dataclass
class Mounts:
    """The mount `files` of every session: its files by session and path.

    `recorded` makes the files of a new session.
    """

    recorded: Callable[[], Mapping[str, bytes]] = dict

    def __post_init__(self) -> None:
        self._files: dict[str, dict[str, bytes]] = {}
        self._tickets: dict[str, _Ticket] = {}

    def files(self, session_id: str) -> dict[str, bytes]:
        """The files of a session by path below the mount."""
        if session_id not in self._files:
            self._files[session_id] = dict(self.recorded())
        return self._files[session_id]

    def forget(self, session_id: str) -> None:
        """Drop the files of a deleted session."""
        self._files.pop(session_id, None)

    def storage_route(self) -> Route:
        """The route of presigned addresses, which need no key."""
        return Route(STORAGE, self._stored, methods=["GET", "PUT"])

    def list(self, session_id: str, prefix: str) -> Response:
        """Answer with the files whose paths start with `prefix`."""
        now = _stamp(datetime.now(UTC))
        items = [
            {
                "last_modified": now,
                "mount_relative_path": path,
                "sandbox_mount_prefix": PREFIX,
                "size": len(data),
            }
            for path, data in sorted(self.files(session_id).items())
            if path.startswith(prefix)
        ]
        return JSONResponse({"items": items, "next_cursor": None})

    def presign(
        self,
        request: Request,
        session_id: str,
        body: Mapping[str, Any],
        method: str,
        missing: Callable[[], Response],
    ) -> Response:
        """Answer with an address to write or read a file; `missing` makes the answer for a file that does not exist."""
        path = str(body.get("mount_relative_path", ""))
        if method == "GET" and path not in self.files(session_id):
            return missing()
        ticket = secrets.token_urlsafe(18)
        self._tickets[ticket] = _Ticket(session_id, path, method)
        return JSONResponse(
            {
                "download_url" if method == "GET" else "upload_url": f"{request.base_url}storage/{ticket}",
                "expires_at": _stamp(datetime.now(UTC) + LIFETIME),
                "mount_relative_path": path,
                "sandbox_mount_prefix": PREFIX,
            }
        )

    async def _stored(self, request: Request) -> Response:
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


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
