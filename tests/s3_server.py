"""A bucket of S3 on loopback, as far as large files need it: head, put, get, and uploads in parts."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/[^/]+/s3/aws4_request, ?SignedHeaders=[^,]+, ?Signature=[0-9a-f]{64}"
)


@dataclass
class Bucket:
    """What the server has: `objects` by their path; `refused` counts requests without a signature."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    refused: int = 0
    signed: int = 0


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        # A client may leave at any time.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def s3_server() -> Iterator[Bucket]:
    """Serve an empty bucket."""
    bucket = Bucket()
    uploads: dict[str, dict[int, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(head=True)

        def do_GET(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self, *, head: bool = False) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if _SIGNED.fullmatch(self.headers.get("authorization", "")) is None:
                bucket.refused += 1
                self._send(403, b"<Error><Code>AccessDenied</Code></Error>")
                return
            bucket.signed += 1
            parts = urlsplit(self.path)
            query = parse_qs(parts.query, keep_blank_values=True)
            if self.command == "PUT":
                if "partNumber" in query:
                    uploads[query["uploadId"][0]][int(query["partNumber"][0])] = body
                else:
                    bucket.objects[parts.path] = body
                self._send(200, b"", etag=hashlib.md5(body).hexdigest())
            elif self.command == "POST" and "uploads" in query:
                number = f"u{len(uploads)}"
                uploads[number] = {}
                self._send(
                    200, f"<R><Bucket>b</Bucket><Key>k</Key><UploadId>{number}</UploadId></R>".encode()
                )
            elif self.command == "POST":
                pieces = uploads.pop(query["uploadId"][0])
                bucket.objects[parts.path] = b"".join(pieces[number] for number in sorted(pieces))
                self._send(200, b'<R><Bucket>b</Bucket><Key>k</Key><ETag>"e"</ETag></R>')
            elif parts.path in bucket.objects:
                self._send(200, bucket.objects[parts.path], head=head)
            else:
                self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", head=head)

        def _send(self, status: int, body: bytes, *, etag: str = "e", head: bool = False) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{etag}"')
            self.send_header("Last-Modified", "Fri, 20 Nov 2026 10:00:00 GMT")
            self.end_headers()
            if not head:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    bucket.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
