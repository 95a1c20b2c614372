"""A server on loopback that answers each request for a message as a test says, right or wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Handler, serving_http
from tests.waiting import PATIENCE

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "H"}],
    "stop_reason": "max_tokens",
    "usage": {"input_tokens": 8, "output_tokens": 1},
}


def refusal(kind: str, message: str) -> dict[str, Any]:
    """An error as the Messages API writes it."""
    return {"type": "error", "error": {"type": kind, "message": message}}


@dataclass
class Answer:
    """What is sent back; a text is sent as it is, anything else as JSON."""

    status: int = 200
    body: Any = field(default_factory=lambda: MESSAGE)
    kind: str = "application/json"
    wait: threading.Event | None = None


@dataclass
class ModelServer:
    """Where it is, what it answers by path, and what it was sent: path, headers in small letters, body."""

    url: str
    answers: dict[str, Answer]
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    @property
    def messages(self) -> list[tuple[dict[str, str], Any]]:
        """The headers and bodies of the requests for a message."""
        return [(headers, body) for path, headers, body in self.asked if path == "/v1/messages"]


@contextmanager
def model_server(answer: Answer | None = None, models: Answer | None = None) -> Iterator[ModelServer]:
    """Serve `answer` to requests for a message, and `models` to those for the list of models."""

    class Model(Handler):
        def do_POST(self) -> None:
            self._answer(json.loads(self.body() or b"null"))

        def do_GET(self) -> None:
            self._answer(None)

        do_DELETE = do_GET

        def _answer(self, body: Any) -> None:
            path = self.path.split("?")[0]
            server.asked.append((path, {name.lower(): value for name, value in self.headers.items()}, body))
            answer = server.answers.get(path) or Answer(404, "404 page not found", "text/plain")
            if answer.wait is not None:
                answer.wait.wait(PATIENCE)
            data = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            # A caller that has stopped waiting is part of the tests.
            with suppress(ConnectionError):
                self.answer(answer.status, data.encode(), answer.kind)

    server = ModelServer("", {"/v1/messages": answer or Answer()})
    if models is not None:
        server.answers["/v1/models"] = models
    with serving_http(Model) as server.url:
        yield server
