"""A server of the Model Context Protocol on standard input and output that has tools, and nothing else.

It replaces the one of the package `mcp`, whose import takes two thirds of a second of processor time in each session.
It speaks every released version: those that begin with `initialize`, and 2026-07-28, in which each request says its
version. Tested with the reference client in each version, and with the scenarios of the conformance suite on tools.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.telemetry.http import CALL_ID
from ua_tui.core.text import clean

if TYPE_CHECKING:
    from ua_tui.core.toolkit.context import ToolContext

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSION = "2026-07-28"

_PREFIX = "io.modelcontextprotocol/"
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_UNSUPPORTED_VERSION = -32022

log = logging.getLogger(__name__)


class _Message(msgspec.Struct):
    """A request, a notification (without an id) or a response (without a method)."""

    jsonrpc: Literal["2.0"]
    method: str | None = None
    id: int | str | None = None
    params: dict[str, Any] | None = None


class _Refused(Exception):
    """A request gets an error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


@dataclass(frozen=True)
class Tool:
    """A tool for the model, who knows the name of its function, the parameters after the context, and the docstring.

    What a docstring says after `Raises:` is not for the model. `annotations` and `meta` are those of the protocol.
    """

    function: Callable[..., Awaitable[str]]
    annotations: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name for the model."""
        return self.function.__name__

    @cached_property
    def _arguments(self) -> type[msgspec.Struct]:
        _, *parameters = inspect.signature(self.function, eval_str=True).parameters.values()
        fields = [
            (each.name, each.annotation, *(() if each.default is each.empty else (each.default,)))
            for each in parameters
        ]
        return msgspec.defstruct(self.name, fields, kw_only=True)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.schema(self._arguments)["$defs"][self.name]
        return {name: value for name, value in found.items() if name != "title"}

    def description(self) -> dict[str, Any]:
        """The tool as `tools/list` describes it."""
        return {
            "name": self.name,
            "description": (inspect.getdoc(self.function) or "").partition("\n\nRaises:")[0],
            "inputSchema": self._schema,
            "annotations": self.annotations,
            "_meta": self.meta,
        }

    async def call(self, context: ToolContext, given: Mapping[str, Any]) -> str:
        """Call it with what the model gave.

        Raises:
            msgspec.ValidationError: the arguments do not match.
        """
        kinds = {each.name: each.type for each in msgspec.structs.fields(self._arguments)}
        given = {name: _parsed(value, kinds.get(name, Any)) for name, value in given.items()}
        arguments = msgspec.convert(given, self._arguments, strict=False)
        return await self.function(context, **msgspec.structs.asdict(arguments))


def _parsed(value: object, kind: Any) -> object:
    """A value, or the list in it if a model wrote one as a string of JSON where no string is expected."""
    if isinstance(value, str) and value.startswith("["):
        try:
            msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError:
            with suppress(msgspec.DecodeError):
                return msgspec.json.decode(value)
    return value


class ToolServer:
    """Serves tools to the one client at the other end of standard input and output."""

    def __init__(
        self, name: str, version: str, instructions: str, context: ToolContext, tools: Sequence[Tool]
    ) -> None:
        self._info = {"name": name, "version": version}
        self._about = {"capabilities": {"tools": {}}, "instructions": instructions}
        self._context = context
        self._tools = {tool.name: tool for tool in tools}
        self._requests: dict[int | str, asyncio.Task[None]] = {}
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()

    async def run(self) -> None:
        """Serve until standard input ends; requests that still run then are cancelled."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        source, target = _take(0, nothing), _take(1, 2)
        os.close(nothing)
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        # Threads, because either may be a file, a device or a pipe that is full.
        reading = partial(_read_lines, source, asyncio.get_running_loop(), lines)
        threading.Thread(target=reading, daemon=True).start()
        writer = threading.Thread(target=self._write_messages, args=(target,), daemon=True)
        writer.start()
        while line := await lines.get():
            if line.strip():
                self._receive(line)
        # Every request begins; only what has to wait for something is cancelled.
        await asyncio.sleep(0)
        requests = list(self._requests.values())
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        self._outgoing.put(None)
        await asyncio.to_thread(writer.join, 5.0)

    def _write_messages(self, target: int) -> None:
        with suppress(OSError), open(target, "wb", buffering=0) as stream:
            while (data := self._outgoing.get()) is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[stream.write(rest) :]

    def _send(self, message_id: int | str | None, **answer: object) -> None:
        message = {"jsonrpc": "2.0", "id": message_id, **answer}
        self._outgoing.put(msgspec.json.encode(message) + b"\n")

    def _receive(self, line: bytes) -> None:
        try:
            message = _decode(line)
        except _Refused as refused:
            self._send(None, error=refused.error)
            return
        params = message.params or {}
        if message.method == "notifications/cancelled":
            asked = params.get("requestId")
            if isinstance(asked, int | str) and asked in self._requests:
                self._requests[asked].cancel()
        elif message.method is not None and (number := message.id) is not None:
            request = asyncio.create_task(self._answer(number, message.method, params))
            self._requests[number] = request
            request.add_done_callback(lambda _: self._requests.pop(number, None))

    async def _answer(self, message_id: int | str, method: str, params: Mapping[str, Any]) -> None:
        try:
            version = _version_of(method, params)
            if method == "tools/call":
                result = await self._call(params)
            else:
                result = self._describe(method, params, version)
        except _Refused as refused:
            self._send(message_id, error=refused.error)
            return
        if version is not None:
            result |= {"resultType": "complete", "_meta": {f"{_PREFIX}serverInfo": self._info}}
        self._send(message_id, result=result)

    def _describe(self, method: str, params: Mapping[str, Any], version: str | None) -> dict[str, Any]:
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
                return {"tools": [tool.description() for tool in self._tools.values()], **uncached}
        raise _Refused(_NO_METHOD, "Method not found", method)

    async def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; a problem is a result for the model, who may try again."""
        name, given, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise _Refused(_INVALID_PARAMS, f"Unknown tool: {name}")
        if not isinstance(given, dict) or not isinstance(meta, dict):
            raise _Refused(_INVALID_PARAMS, "Invalid params: arguments and _meta are objects")
        failed, text = True, f"Error executing tool {name}"
        try:
            await self._context.begin_call(str(meta.get(CALL_ID, "")))
            failed, text = False, await tool.call(self._context, given)
        except (UniversalAgentError, msgspec.ValidationError) as error:
            text += f": {clean(str(error))}"
        except Exception:
            # What it says is not written for the model.
            log.exception("the tool %s failed", name)
        # Half a character, which a page may contain, cannot be sent.
        content = [{"type": "text", "text": text.encode("utf-8", "replace").decode()}]
        return {"content": content, "isError": failed}


def _decode(line: bytes) -> _Message:
    try:
        return msgspec.json.decode(line, type=_Message)
    except msgspec.ValidationError as error:
        raise _Refused(_INVALID_REQUEST, f"Invalid request: {error}") from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise _Refused(_PARSE_ERROR, "Parse error") from error


def _version_of(method: str, params: Mapping[str, Any]) -> str | None:
    """The version that a request says; None for one of the handshake versions, where requests say nothing."""
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
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


def _read_lines(source: int, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes]) -> None:
    """Put each line into the queue, and an empty one at the end."""
    with suppress(RuntimeError), open(source, "rb") as stream:
        with suppress(OSError):
            for line in stream:
                loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, b"")
