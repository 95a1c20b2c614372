"""A server of the Model Context Protocol on standard input and output that has tools, and nothing else.

It replaces the one of the package `mcp`, whose import takes two thirds of a second of processor time in each session.
It speaks every released version: those that begin with `initialize`, and 2026-07-28, in which each request says its
version. Tested with the reference client in each version, and with the scenarios of the conformance suite on tools.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ua_tui.core.json_values import JsonMapping, JsonObject, object_in
from ua_tui.core.text import clean

if TYPE_CHECKING:
    from ua_tui.core.toolkit.calls import ToolCalls

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSION = "2026-07-28"

_PREFIX = "io.modelcontextprotocol/"
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_UNSUPPORTED_VERSION = -32022


class _Refused(Exception):
    """A request gets an error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class ToolServer:
    """Serves tools to the one client at the other end of standard input and output.

    `listed` describes the tools, as `tools/list` does. What runs them is opened for the first call: a session of which
    the model calls none waits for nothing that they need.
    """

    def __init__(
        self,
        name: str,
        version: str,
        instructions: str,
        listed: Sequence[JsonMapping],
        open_calls: Callable[[], ToolCalls],
    ) -> None:
        self._info = {"name": name, "version": version}
        self._about = {"capabilities": {"tools": {}}, "instructions": instructions}
        self._listed = listed
        self._names = {tool["name"] for tool in listed}
        self._open_calls = open_calls
        self._calls: ToolCalls | None = None
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()

    def run(self) -> None:
        """Serve until standard input ends; calls that still run then are cancelled."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        source, target = _take(0, nothing), _take(1, 2)
        os.close(nothing)
        # A thread, because the client may be slow to read what a call has sent.
        writer = threading.Thread(target=self._write_messages, args=(target,), daemon=True)
        writer.start()
        with open(source, "rb") as stream, suppress(OSError):
            for line in stream:
                if line.strip():
                    self._receive(line)
        if self._calls is not None:
            self._calls.close()
        self._outgoing.put(None)
        writer.join(5.0)

    def _write_messages(self, target: int) -> None:
        with suppress(OSError), open(target, "wb", buffering=0) as stream:
            while (data := self._outgoing.get()) is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[stream.write(rest) :]

    def _send(self, message_id: int | str | None, **answer: object) -> None:
        message = {"jsonrpc": "2.0", "id": message_id, **answer}
        self._outgoing.put(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def _receive(self, line: bytes) -> None:
        try:
            number, method, params = _decode(line)
        except _Refused as refused:
            self._send(None, error=refused.error)
            return
        if method == "notifications/cancelled":
            asked = params.get("requestId")
            if self._calls is not None and isinstance(asked, int | str):
                self._calls.cancel(asked)
        elif method is not None and number is not None:
            try:
                self._answer(number, method, params)
            except _Refused as refused:
                self._send(number, error=refused.error)

    def _answer(self, message_id: int | str, method: str, params: JsonMapping) -> None:
        version = _version_of(method, params)

        def send(result: JsonObject) -> None:
            if version is not None:
                result |= {"resultType": "complete", "_meta": {f"{_PREFIX}serverInfo": self._info}}
            self._send(message_id, result=result)

        if method != "tools/call":
            send(self._describe(method, params, version))
            return
        name, given, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
        if not isinstance(name, str) or name not in self._names:
            raise _Refused(_INVALID_PARAMS, f"Unknown tool: {name}")
        if not isinstance(given, dict) or not isinstance(meta, dict):
            raise _Refused(_INVALID_PARAMS, "Invalid params: arguments and _meta are objects")
        if self._calls is None:
            from ua_tui.core.errors import UniversalAgentError

            try:
                self._calls = self._open_calls()
            except UniversalAgentError as error:
                send(failure(name, str(error)))
                return
        self._calls.begin(message_id, name, given, meta, send)

    def _describe(self, method: str, params: JsonMapping, version: str | None) -> JsonObject:
        uncached = {"ttlMs": 0, "cacheScope": "private"} if version else {}
        match method, version:
            case "initialize", None:
                asked = params.get("protocolVersion")
                if not isinstance(asked, str):
                    raise _Refused(_INVALID_PARAMS, "Invalid params: protocolVersion is missing")
                chosen = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
                return {**self._about, "protocolVersion": chosen, "serverInfo": self._info}
            case "ping", None:
                return {}
            case "server/discover", str():
                return {**self._about, **uncached, "supportedVersions": [STATELESS_VERSION]}
            case "tools/list", _:
                return {"tools": self._listed, **uncached}
        raise _Refused(_NO_METHOD, "Method not found", method)


def text_result(text: str, *, failed: bool = False) -> JsonObject:
    """A text as the result of a call."""
    # Half a character, which a page may contain, cannot be sent.
    content = [{"type": "text", "text": text.encode("utf-8", "replace").decode()}]
    return {"content": content, "isError": failed}


def failure(tool: str, why: str = "") -> JsonObject:
    """The result of a call that failed: a problem is for the model, who may try again."""
    return text_result(f"Error executing tool {tool}{': ' if why else ''}{clean(why)}", failed=True)


def _decode(line: bytes) -> tuple[int | str | None, str | None, JsonObject]:
    """The id, method and parameters of a request, a notification (no id) or a response (no method)."""
    try:
        message = json.loads(line.decode())
        if b"\\u" in line:
            # Half a character could not be sent back.
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _Refused(_PARSE_ERROR, "Parse error") from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise _Refused(_INVALID_REQUEST, "Invalid request: no message of JSON-RPC 2.0")
    for name, kind in (("id", int | str), ("method", str), ("params", dict)):
        if not isinstance(found := message.get(name), kind | None) or isinstance(found, bool):
            raise _Refused(_INVALID_REQUEST, f"Invalid request: {name} is of the wrong type")
    return message.get("id"), message.get("method"), message.get("params") or {}


def _version_of(method: str, params: JsonMapping) -> str | None:
    """The version that a request says; None for one of the handshake versions, where requests say nothing."""
    meta = object_in(params, "_meta")
    asked = meta.get(f"{_PREFIX}protocolVersion")
    if method == "initialize" or (asked is None and method != "server/discover"):
        return None
    if not isinstance(asked, str) or f"{_PREFIX}clientCapabilities" not in meta:
        raise _Refused(_INVALID_PARAMS, "Invalid params: _meta needs protocolVersion and clientCapabilities")
    if asked != STATELESS_VERSION:
        data = {"supported": [STATELESS_VERSION], "requested": asked}
        raise _Refused(_UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return asked


def _take(number: int, replacement: int) -> int:
    """Take a standard stream over, so that nothing a tool or its child reads or prints comes between the messages."""
    taken = os.dup(number)
    os.dup2(replacement, number)
    return taken
