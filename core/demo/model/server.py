"""The demo's model: a server of the Anthropic Messages API that plays the script."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ua_tui.core.demo.model.script import Script, ScriptedTurn
from ua_tui.core.demo.playbook import LONG_INPUT, PROSE, THINKING, Pace

DEFAULT_MODEL = "scripted-demo"
OVERLOADED_STATUS = 529
FIRST_TOKEN_SECONDS = 0.45


class ModelServer(msgspec.Struct, eq=False):
    """Answers /v1/messages and /v1/messages/count_tokens, streaming or whole, at a given pace."""

    script: Script
    pace: Pace
    _refusals: Counter[str] = msgspec.field(default_factory=Counter)

    def routes(self) -> list[Route]:
        """The paths of the API that a Messages client uses."""
        return [
            Route("/v1/messages", self._messages, methods=["POST"]),
            Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
        ]

    async def _messages(self, request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return api_error(400, "invalid_request_error", "The body must be a JSON object with messages.")
        turn = self.script.next(body)
        if turn.overloads:
            place = _place(request.headers.get("x-claude-code-session-id", ""), body)
            if self._refusals[place] < turn.overloads:
                self._refusals[place] += 1
                return api_error(OVERLOADED_STATUS, "overloaded_error", "Overloaded")
            del self._refusals[place]
        if body.get("stream"):
            return StreamingResponse(
                self._stream(turn, body),
                media_type="text/event-stream",
                headers={"cache-control": "no-cache"},
            )
        await self.pace.wait(FIRST_TOKEN_SECONDS)
        return JSONResponse(_whole(turn, body), headers={"request-id": f"req_demo_{secrets.token_hex(8)}"})

    async def _count_tokens(self, request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return api_error(400, "invalid_request_error", "The body must be a JSON object with messages.")
        return JSONResponse({"input_tokens": _tokens(_prompt(body))})

    async def _stream(self, turn: ScriptedTurn, body: Mapping[str, Any]) -> AsyncIterator[str]:
        blocks = _blocks(turn, body)
        start = _message(body)
        start["usage"] = _usage(body, [])
        yield _event("message_start", message=start)
        yield _event("ping")
        await self.pace.wait(FIRST_TOKEN_SECONDS)
        for index, block in enumerate(blocks):
            async for event in self._stream_block(index, block, turn.speed):
                yield event
        yield _event(
            "message_delta",
            delta={"stop_reason": _stop_reason(turn), "stop_sequence": None},
            usage=_usage(body, blocks),
        )
        yield _event("message_stop")

    async def _stream_block(self, index: int, block: Mapping[str, Any], speed: float) -> AsyncIterator[str]:
        match block["type"]:
            case "thinking":
                empty: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
                text, rate, delta, field = block["thinking"], THINKING, "thinking_delta", "thinking"
            case "tool_use":
                empty = {**block, "input": {}}
                text = json.dumps(block["input"], ensure_ascii=False)
                rate, delta, field = LONG_INPUT, "input_json_delta", "partial_json"
            case _:
                empty = {"type": "text", "text": ""}
                text, rate, delta, field = block["text"], PROSE, "text_delta", "text"
        yield _event("content_block_start", index=index, content_block=empty)
        async for piece in self.pace.pieces(text, rate * speed):
            yield _event("content_block_delta", index=index, delta={"type": delta, field: piece})
        if block["type"] == "thinking":
            signature = {"type": "signature_delta", "signature": block["signature"]}
            yield _event("content_block_delta", index=index, delta=signature)
        yield _event("content_block_stop", index=index)


def api_error(status: int, kind: str, message: str) -> Response:
    """An error in the shape of the Anthropic API; a temporary one asks for a quick retry."""
    request_id = f"req_demo_{secrets.token_hex(8)}"
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    headers = {"request-id": request_id}
    if status == OVERLOADED_STATUS:
        headers |= {"x-should-retry": "true", "retry-after": "1"}
    return JSONResponse(body, status, headers=headers)


async def _body(request: Request) -> dict[str, Any] | None:
    try:
        body = json.loads(await request.body())
    except ValueError:
        return None
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None
    return dict(body)


def _place(session: str, body: Mapping[str, Any]) -> str:
    """Identify one point of a conversation, to count the rejections of an overload."""
    contents = json.dumps(
        [message.get("content") for message in body["messages"] if message.get("role") != "system"]
    )
    return f"{session}:{hashlib.sha256(contents.encode()).hexdigest()}"


def _blocks(turn: ScriptedTurn, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The content blocks of an answer; thinking only if the request asks for it."""
    blocks: list[dict[str, Any]] = []
    thinking = body.get("thinking")
    wants_thinking = (
        isinstance(thinking, dict)
        and thinking.get("type") in {"adaptive", "enabled"}
        and thinking.get("display") != "omitted"
    )
    if turn.thinking and wants_thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": secrets.token_urlsafe(48)})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {
            "type": "tool_use",
            "id": f"toolu_demo{secrets.token_hex(9)}",
            "name": call.name,
            "input": dict(call.input),
        }
        for call in turn.calls
    ]
    return blocks


def _message(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_demo{secrets.token_hex(10)}",
        "type": "message",
        "role": "assistant",
        "model": str(body.get("model") or DEFAULT_MODEL),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _whole(turn: ScriptedTurn, body: Mapping[str, Any]) -> dict[str, Any]:
    blocks = _blocks(turn, body)
    return {
        **_message(body),
        "content": blocks,
        "stop_reason": _stop_reason(turn),
        "usage": _usage(body, blocks),
    }


def _stop_reason(turn: ScriptedTurn) -> str:
    return "tool_use" if turn.calls else "end_turn"


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def _prompt(body: Mapping[str, Any]) -> str:
    return json.dumps([body.get("system"), body.get("tools"), body["messages"]])


def _tokens(text: str) -> int:
    return max(1, len(text) // 4)


def _usage(body: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Plausible numbers: everything before the newest message counts as cached by the previous request."""
    messages = body["messages"]
    everything = _tokens(_prompt(body))
    newest = min(everything, _tokens(json.dumps(messages[-1:])))
    cached = everything - newest if len(messages) > 1 else 0
    return {
        "input_tokens": min(newest, 12),
        "cache_creation_input_tokens": everything - cached - min(newest, 12),
        "cache_read_input_tokens": cached,
        "output_tokens": _tokens(json.dumps(blocks)),
    }
