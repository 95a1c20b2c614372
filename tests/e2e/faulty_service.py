"""A Messages API on loopback that fails as the query says: the last word of the query names the fault."""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.e2e.scripted_model import Text, events_of
from tests.loopback import Handler, serving_http
from tests.model_server import refusal
from tests.waiting import PATIENCE

Fault = Callable[["Service", dict[str, Any]], None]


class Service(Handler):
    """Answers each request with the fault that its conversation asks for, else with a text."""

    over: threading.Event

    def do_POST(self) -> None:
        body = json.loads(self.body() or b"{}")
        if self.path.split("?")[0] == "/v1/messages":
            FAULTS.get(_fault_in(body), works)(self, body)
        else:
            self.answer_json(404, {"input_tokens": 10})

    def stream(self, data: bytes) -> None:
        """Begin a stream of events with this data, and leave it open."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = True

    def reset(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _fault_in(body: dict[str, Any]) -> str:
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    words = re.findall(r"fault ([a-z0-9-]+)", json.dumps(asked[-1] if asked else ""))
    return words[-1] if words else ""


def _events(body: dict[str, Any]) -> list[bytes]:
    return [
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
        for name, data in events_of([Text("Half of an answer, and the rest of it.")], body["model"], 1)
    ]


def works(service: Service, body: dict[str, Any]) -> None:
    """Answer as a model does."""
    service.stream(b"".join(_events(body)))


def _refuses(status: int, kind: str, message: str, **headers: str) -> Fault:
    data = json.dumps(refusal(kind, message)).encode()
    return lambda service, _body: service.answer(status, data, **headers)


def _answers(data: bytes, kind: str) -> Fault:
    return lambda service, _body: service.answer(200, data, kind)


def _resets(service: Service, body: dict[str, Any]) -> None:
    if body.get("stream"):
        service.stream(b"".join(_events(body)[:3]))
    service.reset()


def _ends(service: Service, body: dict[str, Any]) -> None:
    # The agent asks again, without a stream.
    if body.get("stream"):
        service.stream(b"".join(_events(body)[:3]))
    service.close_connection = True


def _stops(service: Service, body: dict[str, Any]) -> None:
    if body.get("stream"):
        service.stream(b"".join(_events(body)[:3]))
    _never_answers(service, body)


def _breaks(service: Service, body: dict[str, Any]) -> None:
    broken = b'{"type": "content_bl'
    if body.get("stream"):
        service.stream(b"".join(_events(body)[:3]) + b"event: content_block_delta\ndata: %s\n\n" % broken)
    else:
        service.answer(200, broken)


def _never_answers(service: Service, _body: dict[str, Any]) -> None:
    service.over.wait(PATIENCE)
    service.close_connection = True


def _drips(service: Service, body: dict[str, Any]) -> None:
    service.stream(_events(body)[0])
    with suppress(OSError):
        while not service.over.wait(0.2):
            service.wfile.write(b'event: ping\ndata: {"type": "ping"}\n\n')
            service.wfile.flush()


FAULTS: dict[str, Fault] = {
    "401": _refuses(401, "authentication_error", "invalid x-api-key"),
    "402": _refuses(402, "billing_error", "no credit left"),
    "403": _refuses(403, "permission_error", "not in your country"),
    "404-model": _refuses(404, "not_found_error", "model: claude-x"),
    "404-page": lambda service, _body: service.answer(404, b"404 page not found", "text/plain"),
    "429": _refuses(429, "rate_limit_error", "30 requests a minute"),
    "429-after": _refuses(429, "rate_limit_error", "30 requests a minute", retry_after="1"),
    "500": _refuses(500, "api_error", "Internal server error"),
    "529": _refuses(529, "overloaded_error", "Overloaded"),
    "html": _answers(b"<!DOCTYPE html><html><title>Log in</title></html>", "text/html"),
    "empty": _answers(b"", "application/json"),
    "broken-json": _answers(b'{"id": "msg_1", "content": [{"ty', "application/json"),
    "broken-stream": _breaks,
    "ended-stream": _ends,
    "reset": _resets,
    "silent": _never_answers,
    "stopped-stream": _stops,
    "pings": _drips,
}
"""Every fault that a query can ask for."""


@contextmanager
def faulty_service(tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve it, with `tls` over TLS; gives its base URL."""
    over = threading.Event()
    with serving_http(type("Faulty", (Service,), {"over": over}), tls) as url:
        try:
            yield url
        finally:
            over.set()
