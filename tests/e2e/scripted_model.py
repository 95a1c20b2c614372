"""A Messages API on loopback whose every reply a test writes itself."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Handler, serving_http
from tests.model_server import refusal
from tests.waiting import PATIENCE


@dataclass(frozen=True)
class Text:
    """A block of text, streamed in pieces."""

    text: str


@dataclass(frozen=True)
class Thinking:
    """A block of thinking."""

    text: str


@dataclass(frozen=True)
class Use:
    """A call of a tool."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)


Block = Text | Thinking | Use
Reply = Callable[[dict[str, Any], int], Sequence[Block]]
"""Answers one request: (its body, how many tool results the conversation holds) -> blocks."""


def last_query(body: dict[str, Any], *queries: str) -> tuple[str, int]:
    """The last of these queries in the conversation, and how many results of tools came after it."""
    query, results = "", 0
    for message in body["messages"]:
        text = json.dumps(message["content"], ensure_ascii=False)
        came = text.count('"type": "tool_result"')
        if message["role"] == "user" and not came and (found := [each for each in queries if each in text]):
            query, results = found[-1], 0
        results += came
    return query, results


class HeldReply:
    """Answers a query with a text only after `may_answer` is set; other requests are answered at once.

    Args:
        query: the query that is held; `asked` is set when it comes.
        answer: the text of every answer.
    """

    def __init__(self, query: str, answer: str) -> None:
        self.asked = threading.Event()
        self.may_answer = threading.Event()
        self._query = query
        self._answer = answer

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Block]:
        if self._query in str(body["messages"]):
            self.asked.set()
            self.may_answer.wait(PATIENCE)
        return [Text(self._answer)]


PIECE, PIECES = 40, 10_000
"""Characters of text in one event of a stream, and the most events of a text: a longer one comes in larger pieces."""


def events_of(blocks: Sequence[Block], model: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream that brings these blocks, with their names."""
    usage = {"input_tokens": 100, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield "message_start", {"message": message}
    for index, block in enumerate(blocks):
        match block:
            case Text(text):
                yield "content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}}
                piece = max(PIECE, len(text) // PIECES)
                for start in range(0, len(text), piece):
                    delta = {"type": "text_delta", "text": text[start : start + piece]}
                    yield "content_block_delta", {"index": index, "delta": delta}
            case Thinking(text):
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                yield "content_block_start", {"index": index, "content_block": empty}
                delta = {"type": "thinking_delta", "thinking": text}
                yield "content_block_delta", {"index": index, "delta": delta}
                signed = {"type": "signature_delta", "signature": "sig"}
                yield "content_block_delta", {"index": index, "delta": signed}
            case Use(name, given):
                use = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
                yield "content_block_start", {"index": index, "content_block": use}
                partial = {"type": "input_json_delta", "partial_json": json.dumps(given)}
                yield "content_block_delta", {"index": index, "delta": partial}
        yield "content_block_stop", {"index": index}
    stop = "tool_use" if any(isinstance(block, Use) for block in blocks) else "end_turn"
    yield (
        "message_delta",
        {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 9}},
    )
    yield "message_stop", {}


@contextmanager
def scripted_model(
    reply: Reply,
    *,
    rate: float | None = None,
    before_piece: Callable[[], object] | None = None,
    ended: Callable[[float], object] | None = None,
    requested: Callable[[Mapping[str, str]], object] | None = None,
    refuses: Callable[[], bool] = lambda: False,
    rejects: Callable[[dict[str, Any]], bool] = lambda _body: False,
) -> Iterator[str]:
    """Serve a model that answers with `reply`; gives its base URL.

    With a `rate` a stream brings so many pieces in a second, and with `before_piece` each when that returns, else all
    at once; `ended` is told when the last byte of a paced one was written (`time.perf_counter`); `requested` gets
    the headers of each request. While it `refuses`, requests are answered with the status 429, and
    one whose body it `rejects` with 400.
    """
    served = 0

    class Model(Handler):
        def do_POST(self) -> None:
            nonlocal served
            body = json.loads(self.body() or b"{}")
            if self.path.split("?")[0] != "/v1/messages":
                self.answer_json(404, {"input_tokens": 10})
                return
            if requested is not None:
                requested(dict(self.headers.items()))
            if refuses():
                self.answer_json(429, refusal("rate_limit_error", "too many requests"))
                return
            if rejects(body):
                self.answer_json(400, refusal("invalid_request_error", "unknown field"))
                return
            served += 1
            results = sum(
                1
                for message in body["messages"]
                if isinstance(message["content"], list)
                for block in message["content"]
                if block.get("type") == "tool_result"
            )
            blocks = reply(body, results)
            if not body.get("stream"):
                text = "".join(block.text for block in blocks if isinstance(block, Text))
                answer = {
                    "id": "msg",
                    "type": "message",
                    "role": "assistant",
                    "model": body["model"],
                    "content": [{"type": "text", "text": text}],
                    "usage": {"input_tokens": 1_000, "output_tokens": 4},
                }
                self.answer_json(200, answer)
                return
            stream = [
                (name, f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())
                for name, data in events_of(blocks, body["model"], served)
            ]
            if rate is None and before_piece is None:
                self.answer(200, b"".join(event for _, event in stream), "text/event-stream")
            else:
                self._stream(stream, 1 / rate if rate else 0.0)

        def _stream(self, events: Sequence[tuple[str, bytes]], pause: float) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            due = time.perf_counter()
            for name, event in events:
                if name == "content_block_delta" and before_piece is not None:
                    before_piece()
                elif name == "content_block_delta":
                    # The speed of a model is real time: by the times due, so that a late piece makes no other one late.
                    due += pause
                    time.sleep(max(0.0, due - time.perf_counter()))
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.write(b"0\r\n\r\n")
            if ended is not None:
                ended(time.perf_counter())

    with serving_http(Model) as url:
        yield url
