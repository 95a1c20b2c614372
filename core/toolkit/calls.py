"""What every tool gets, and the calls of the tools: each is a task on an event loop, which has a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import ConnectionFailed, KnowledgeError, UniversalAgentError
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.log import log
from ua_tui.core.tasks import end_tasks
from ua_tui.core.telemetry.http import CALL_ID, CURRENT_CALL, CallScope, OnRequest
from ua_tui.core.toolkit.mcp_server import failure, text_result

if TYPE_CHECKING:
    from ua_tui.core.concurrency.conversions import Conversions
    from ua_tui.core.knowledge.search.search import KnowledgeSearch
    from ua_tui.core.net.client import Fetcher
    from ua_tui.core.storage.workspace import Workspace
    from ua_tui.core.toolkit.remote import RemoteFiles
    from ua_tui.core.web_reader import Blacklist


class ToolContext(msgspec.Struct, eq=False, dict=True):
    """The workspace, the clock, the blacklist, the remote sandbox, the client and the conversions of one toolkit.

    The client is made on the first fetch, because its libraries are slow to import. All calls share it, so that its
    limits and its cache of robots.txt apply to the whole session. `learn_secrets` tells the redactor of the workspace
    the session's secrets. `send_progress` gets the id of a call, how many pieces of it are done and how many there
    are, and what they are called; `on_request` gets the HTTP requests of calls. `open_knowledge` is None if the
    settings turn the knowledge base off. A page is not fetched again if it was read at most `page_age` seconds ago.
    """

    workspace: Workspace
    open_fetcher: Callable[[], Fetcher]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    blacklist: Blacklist | None = None
    open_remote: Callable[[], RemoteFiles] | None = None
    learn_secrets: Callable[[], object] | None = None
    send_progress: Callable[[str, int, int, str], None] | None = None
    on_request: OnRequest | None = None
    open_knowledge: Callable[[], KnowledgeSearch] | None = None
    page_age: int = 0
    _fetcher: Fetcher | None = None
    _opening: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    _stack: AsyncExitStack = msgspec.field(default_factory=AsyncExitStack)

    async def begin_call(self, tool_use_id: str = "") -> None:
        """Begin a call in this task: learn the secrets that the session knows by now, before a tool writes anything."""
        CURRENT_CALL.set(CallScope(tool_use_id, self.on_request if tool_use_id else None))
        if self.learn_secrets is not None:
            await asyncio.to_thread(self.learn_secrets)

    def report_progress(self, done: int, total: int, unit: str) -> None:
        """Report how many pieces of the call of this task are done; `unit` is the plural of their name."""
        if self.send_progress is not None and (call := CURRENT_CALL.get().tool_use_id):
            self.send_progress(call, done, total, unit)

    async def fetcher(self) -> Fetcher:
        """The shared client, opened on first use."""
        async with self._opening:
            if self._fetcher is None:
                fetcher = await asyncio.to_thread(self.open_fetcher)
                self._fetcher = await self._stack.enter_async_context(fetcher)
            return self._fetcher

    @cached_property
    def conversions(self) -> Conversions:
        """The worker processes in which pages are converted; they start with the first page."""
        from ua_tui.core.concurrency.conversions import Conversions

        conversions = Conversions()
        self._stack.push_async_callback(asyncio.to_thread, conversions.close)
        return conversions

    @cached_property
    def knowledge(self) -> KnowledgeSearch:
        """What earlier sessions found; only threads may ask for it and use it.

        Raises:
            KnowledgeError: the settings turn the knowledge base off.
        """
        if self.open_knowledge is None:
            raise KnowledgeError("there is no knowledge base: the setting `knowledge` is off")
        return self.open_knowledge()

    async def remote(self) -> RemoteFiles:
        """The files of the remote sandbox.

        Raises:
            ConnectionFailed: there is no sandbox.
        """
        if self.open_remote is None:
            raise ConnectionFailed("there is no remote workbench: set COMPOSIO_API_KEY to have one")
        return await asyncio.to_thread(self.open_remote)

    async def aclose(self) -> None:
        """Close the client and the knowledge base if they were opened, and end the conversions."""
        self._fetcher = None
        if "knowledge" in vars(self):
            await asyncio.to_thread(self.knowledge.close)
        await self._stack.aclose()


Send = Callable[[JsonObject], None]
"""Called with the result of a call."""


@dataclass(frozen=True)
class Tool:
    """A tool for the model, who knows the name of its function, the parameters after the context, and the docstring.

    What a docstring says after `Raises:` is not for the model.
    """

    function: Callable[..., Awaitable[str]]

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

    def description(self) -> JsonObject:
        """What `tools/list` says of its function."""
        schema: JsonObject = msgspec.json.schema(self._arguments)["$defs"][self.name]
        return {
            "name": self.name,
            "description": (inspect.getdoc(self.function) or "").partition("\n\nRaises:")[0],
            "inputSchema": {name: value for name, value in schema.items() if name != "title"},
        }

    async def call(self, context: ToolContext, given: JsonMapping) -> str:
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
        self._requests: dict[int | str, Future[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._input_ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)
        self._thread.start()

    def begin(
        self, message_id: int | str, name: str, given: JsonMapping, meta: JsonMapping, send: Send
    ) -> None:
        """Begin a call; its result is sent in the thread of the calls."""
        request = asyncio.run_coroutine_threadsafe(self._answer(name, given, meta, send), self._loop)
        self._requests[message_id] = request
        request.add_done_callback(lambda _: self._requests.pop(message_id, None))

    def cancel(self, message_id: int | str) -> None:
        """Cancel a call that still runs."""
        if (request := self._requests.get(message_id)) is not None:
            request.cancel()

    def close(self) -> None:
        """Begin what is not begun yet, cancel what has to wait for something, and close the context."""
        self._loop.call_soon_threadsafe(self._input_ended.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._input_ended.wait()
        await end_tasks(*asyncio.all_tasks() - {asyncio.current_task()})
        await self._context.aclose()

    async def _answer(self, name: str, given: JsonMapping, meta: JsonMapping, send: Send) -> None:
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
