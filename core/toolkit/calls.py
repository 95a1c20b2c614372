"""The tools and their calls, each a task on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.telemetry.http import CALL_ID
from ua_tui.core.toolkit.context import ToolContext
from ua_tui.core.toolkit.mcp_server import failure, text_result

log = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], None]
"""Called with the result of a call."""


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


class ToolCalls:
    """Runs the calls of tools with one context, which it closes."""

    def __init__(self, context: ToolContext, tools: Sequence[Tool]) -> None:
        self._context = context
        self._tools = {tool.name: tool for tool in tools}
        self._requests: dict[int | str, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._input_ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)
        self._thread.start()

    def begin(
        self, message_id: int | str, name: str, given: Mapping[str, Any], meta: Mapping[str, Any], send: Send
    ) -> None:
        """Begin a call; its result is sent in the thread of the calls."""
        self._loop.call_soon_threadsafe(self._begin, message_id, self._answer(name, given, meta, send))

    def cancel(self, message_id: int | str) -> None:
        """Cancel a call that still runs."""
        self._loop.call_soon_threadsafe(self._cancel, message_id)

    def close(self) -> None:
        """Begin what is not begun yet, cancel what has to wait for something, and close the context."""
        self._loop.call_soon_threadsafe(self._input_ended.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._input_ended.wait()
        requests = list(self._requests.values())
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await self._context.aclose()

    def _begin(self, message_id: int | str, answer: Coroutine[Any, Any, None]) -> None:
        request = self._loop.create_task(answer)
        self._requests[message_id] = request
        request.add_done_callback(lambda _: self._requests.pop(message_id, None))

    def _cancel(self, message_id: int | str) -> None:
        if (request := self._requests.get(message_id)) is not None:
            request.cancel()

    async def _answer(self, name: str, given: Mapping[str, Any], meta: Mapping[str, Any], send: Send) -> None:
        """Call a tool and send its result."""
        try:
            await self._context.begin_call(str(meta.get(CALL_ID, "")))
            result = text_result(await self._tools[name].call(self._context, given))
        except (UniversalAgentError, msgspec.ValidationError) as error:
            result = failure(name, str(error))
        except Exception:
            # What it says is not written for the model.
            log.exception("the tool %s failed", name)
            result = failure(name)
        send(result)
