"""A short-lived client of an MCP server, for requests that the agent's own connection cannot make.

The agent lists no resources and no prompts: they are listed and read here, within limits, and safe to show. The client
starts or reaches a server as the agent does, with the same configuration. `mcp` is slow to import.
"""

from __future__ import annotations

import asyncio
import binascii
import os
import tempfile
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from ua_tui.core.agent.bounds import MOST_ENTRIES, MOST_PARTS
from ua_tui.core.agent.mcp.error_messages import describe_server_error, last_words, problem_in
from ua_tui.core.errors import AgentError, ConnectionFailed
from ua_tui.core.json_values import JsonMapping
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean, clean_line, is_unsafe

_WITHIN, _WITHIN_AFTER_OUTPUT = 27.0, 10.0
"""Seconds that a server may take, in all and after output that is not part of the protocol."""


_CLOSED = "Connection closed"
_T = TypeVar("_T")


async def ask_server(
    server: JsonMapping,
    request: Callable[[Any], Awaitable[_T]],
    *,
    folder: str | None = None,
    root: Path | None = None,
    secrets: Iterable[str] = (),
) -> _T:
    """Start or reach a server by its configuration for the agent, and return what `request` gets from it.

    Args:
        server: the configuration.
        request: makes the requests with a connected `mcp.Client`.
        folder: the folder that a program is started in.
        root: the folder that it may ask for, as the agent offers it; None offers none.
        secrets: masked in its errors, which may repeat its command.

    Raises:
        ConnectionFailed: it does not answer, with the code `unreachable`, `http_401` without a valid key, or
            `http_429` or `http_5NN` for a moment; or it refuses. The message is a clause.
        TimeoutError: a time limit of the caller has passed.
    """
    mcp = await asyncio.to_thread(import_module, "mcp")
    masked = Redactor(secrets).redact
    refused = ""

    async def roots(_context: Any) -> Any:
        assert root is not None
        return mcp.types.ListRootsResult(roots=[mcp.types.Root(uri=root.as_uri())])

    with tempfile.TemporaryFile() as errors:
        limit = asyncio.timeout(_WITHIN)
        output = _ServerOutput(
            lambda: limit.reschedule(asyncio.get_running_loop().time() + _WITHIN_AFTER_OUTPUT)
        )
        try:
            async with limit, AsyncExitStack() as stack:
                transport = await _transport(mcp, server, folder, errors, output, stack)
                client = await stack.enter_async_context(
                    mcp.Client(
                        transport,
                        list_roots_callback=None if root is None else roots,
                        message_handler=output.on_message,
                    )
                )
                output.has_spoken = True
                try:
                    return await request(client)
                except mcp.MCPError as error:
                    refused = error.message or "it refused without giving a reason"
        except TimeoutError:
            if not limit.expired():
                raise
            why = _reason_in(output) or f"it gave no MCP answer within {_WITHIN:g} s"
        except OSError as error:
            why = f"it cannot be started: {error.strerror or error}"
        except Exception as error:
            # A refusal is a message of the protocol, too, and so is an answer that the client does not support.
            output.has_spoken |= any(
                isinstance(each, (mcp.MCPError, RuntimeError, ValueError)) and str(each) != _CLOSED
                for each in _leaves(error)
            )
            why = _reason_in(output) or _reason(error, errors)
        if refused:
            raise ConnectionFailed(clean_line(masked(refused), 300))
        code = (
            f"http_{output.status}" if output.status in {401, 429} or output.status >= 500 else "unreachable"
        )
        raise ConnectionFailed(clean_line(masked(why), 300), code=code)


async def _transport(
    mcp: Any,
    server: JsonMapping,
    folder: str | None,
    errors: IO[bytes],
    output: _ServerOutput,
    stack: AsyncExitStack,
) -> Any:
    if server["type"] == "stdio":
        stdio = await asyncio.to_thread(import_module, "mcp.client.stdio")
        parameters = mcp.StdioServerParameters(
            command=server["command"], args=server["args"], env=server["env"], cwd=folder
        )
        return stdio.stdio_client(parameters, errlog=errors)
    httpx2 = await asyncio.to_thread(import_module, "httpx2")

    def client(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        options = {} if timeout is None else {"timeout": timeout}
        return httpx2.AsyncClient(
            headers=headers, auth=auth, event_hooks={"response": [output.on_response]}, **options
        )

    headers = server["headers"]
    if server["type"] == "sse":
        sse = await asyncio.to_thread(import_module, "mcp.client.sse")
        return sse.sse_client(server["url"], headers=headers, httpx_client_factory=client)
    http = await asyncio.to_thread(import_module, "mcp.client.streamable_http")
    used = await stack.enter_async_context(client(headers))
    return http.streamable_http_client(server["url"], http_client=used)


def _reason_in(output: _ServerOutput) -> str:
    """The problem with a server by its output that is not part of the protocol; empty without such output."""
    if output.status:
        return problem_in(describe_server_error(f"Non-200 status code ({output.status})"))
    if output.is_page:
        return problem_in(describe_server_error("Invalid content type: text/html"))
    if output.line is not None and not output.has_spoken:
        return f"it does not speak MCP: it printed {clean_line(output.line, 120)!r}"
    return ""


def _reason(error: BaseException, errors: IO[bytes]) -> str:
    """The problem with a server by the error of its client, and by what its program wrote."""
    found = dict.fromkeys(str(each) or type(each).__name__ for each in _leaves(error))
    reasons = "; ".join([each for each in found if each != _CLOSED] or [_CLOSED])
    described = problem_in(describe_server_error(reasons))
    if reasons not in {described, _CLOSED}:
        return described
    if "connection attempts failed" in reasons:
        reasons = "nothing is listening at its address"
    elif reasons == _CLOSED:
        reasons = "it ended without a message"
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
    written = last_words(errors.read().decode("utf-8", "replace"))
    return f"it does not answer: {written or reasons}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


class _ServerOutput(msgspec.Struct, eq=False):
    """Watches a server for output that is not part of the protocol: lines of a program, or answers over HTTP.

    Attributes:
        line: the first line that is not a message of the protocol.
        has_spoken: whether there was a message of the protocol.
        status: the first HTTP status that is an error; 0 without one.
        is_page: whether an answer was a web page.
    """

    on_line: Callable[[], object]
    line: str | None = None
    has_spoken: bool = False
    status: int = 0
    is_page: bool = False

    async def on_response(self, response: Any) -> None:
        """Handle an HTTP answer; the errors of the client do not contain it."""
        # A server without a stream of its own answers a request for it with 405.
        has_no_stream = response.status_code == 405 and response.request.method == "GET"
        if response.status_code >= 400 and not has_no_stream and not self.status:
            self.status = response.status_code
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self.is_page = self.is_page or (response.status_code < 400 and kind == "text/html")

    async def on_message(self, message: Any) -> None:
        """Handle a message, or the error of one that could not be parsed, which has the line."""
        if not isinstance(message, Exception):
            self.has_spoken = True
            return
        errors = getattr(message, "errors", None)
        found = errors() if callable(errors) else ()
        line = next((line for each in found if isinstance(line := each.get("input"), str)), "")
        if self.line is None and line.strip():
            self.line = line.strip()
            self.on_line()


_NAME, _ABOUT, _URI = 100, 200, 1_000
_READABLE = ("text/", "application/json", "application/xml", "application/yaml", "application/javascript")


class ServerResource(msgspec.Struct, frozen=True):
    """A resource that a server lists; that of a template has an address with gaps, as `notes://day/{day}`."""

    uri: str
    title: str
    about: str = ""
    media_type: str = ""
    size: int | None = None
    is_template: bool = False

    @property
    def folded(self) -> str:
        """The text that is searched."""
        return f"{self.title} {self.uri}".casefold()


class PromptArgument(msgspec.Struct, frozen=True):
    """An argument of a prompt."""

    name: str
    about: str
    required: bool


class ServerPrompt(msgspec.Struct, frozen=True):
    """A prompt that a server lists; a person sends it as `/server:name` with its arguments."""

    name: str
    about: str
    arguments: tuple[PromptArgument, ...] = ()

    @property
    def hint(self) -> str:
        """The arguments as a person writes them, those in brackets only if wanted: `topic [style]`."""
        return " ".join(each.name if each.required else f"[{each.name}]" for each in self.arguments)


class Contents(msgspec.Struct, frozen=True):
    """What a server offers a person: its resources, then its templates, and its prompts."""

    resources: tuple[ServerResource, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()

    def prompt(self, name: str) -> ServerPrompt | None:
        """The prompt with a name, in letters of any case if there is only one such."""
        exact = [each for each in self.prompts if each.name == name]
        same = exact or [each for each in self.prompts if each.name.casefold() == name.casefold()]
        return same[0] if len(same) == 1 else None


class Part(msgspec.Struct, frozen=True):
    """A part of a resource, or a picture of a prompt: its data, or its text in UTF-8."""

    uri: str
    media_type: str
    data: bytes
    is_text: bool


class PromptMessage(msgspec.Struct, frozen=True):
    """A message of a prompt: a text, or something to attach."""

    role: str
    content: str | Part


async def list_contents(client: Any) -> Contents:
    """List what a server offers; a kind that it does not support is not requested."""
    resources: list[ServerResource] = []
    prompts: list[ServerPrompt] = []
    offered = client.server_capabilities
    if offered is not None and offered.resources is not None:
        async for each in _pages(client.list_resources, "resources"):
            if _is_usable(str(each.uri)):
                resources.append(_resource(each, str(each.uri)))
        async for each in _pages(client.list_resource_templates, "resource_templates"):
            if _is_usable(str(each.uri_template)):
                resources.append(_resource(each, str(each.uri_template), is_template=True))
    if offered is not None and offered.prompts is not None:
        async for each in _pages(client.list_prompts, "prompts"):
            if _is_usable(each.name) and not any(map(str.isspace, each.name)):
                prompts.append(_prompt(each))
    return Contents(tuple(resources), tuple(prompts))


async def read_resource(client: Any, uri: str) -> list[Part]:
    """Read a resource.

    Raises:
        AgentError: it has no content, or more parts than can be sent; the message is a clause.
    """
    contents = (await client.read_resource(uri)).contents
    if not contents:
        raise AgentError("it is empty")
    if len(contents) > MOST_PARTS:
        raise AgentError(f"it has {len(contents):,} parts, but at most {MOST_PARTS} are sent")
    return [_part(each) for each in contents]


async def get_prompt(client: Any, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
    """Get the messages of a prompt.

    Raises:
        AgentError: it has no messages, too many, or a kind that cannot be sent; the message is a clause.
    """
    messages = (await client.get_prompt(name, dict(arguments))).messages
    if not messages:
        raise AgentError("it is empty")
    if len(messages) > MOST_PARTS:
        raise AgentError(f"it has {len(messages):,} messages, but at most {MOST_PARTS} are sent")
    return [PromptMessage(str(each.role), _content(each.content)) for each in messages]


async def _pages(request: Callable[..., Awaitable[Any]], field: str) -> AsyncIterator[Any]:
    """Every entry of a list, page by page, up to a limit."""
    import mcp

    count, cursor = 0, None
    while count < MOST_ENTRIES:
        try:
            page = await request(cursor=cursor)
        except mcp.MCPError:
            if field == "resource_templates":
                # Some servers with resources do not know the request.
                return
            raise
        entries: Sequence[Any] = getattr(page, field)
        for each in entries[: MOST_ENTRIES - count]:
            yield each
        count += len(entries)
        cursor = page.next_cursor
        if not cursor or not entries:
            return


def _is_usable(name: str) -> bool:
    """Whether a name can be written in a query."""
    return 0 < len(name) <= _URI and not is_unsafe(name) and name.isprintable() and '"' not in name


def _resource(given: Any, uri: str, *, is_template: bool = False) -> ServerResource:
    return ServerResource(
        uri,
        clean_line(given.title or given.name or "", _NAME),
        clean_line(given.description or "", _ABOUT),
        clean_line(given.mime_type or "", _NAME),
        getattr(given, "size", None),
        is_template,
    )


def _prompt(given: Any) -> ServerPrompt:
    arguments = [
        PromptArgument(each.name, clean_line(each.description or "", _ABOUT), bool(each.required))
        for each in (given.arguments or ())[:MOST_PARTS]
        if _is_usable(each.name)
    ]
    about = clean_line(given.title or given.description or given.name, _ABOUT)
    # Those that are needed come first, so that they can be written without their names.
    return ServerPrompt(given.name, about, tuple(sorted(arguments, key=lambda each: not each.required)))


def _content(given: Any) -> str | Part:
    match given.type:
        case "text":
            return clean(given.text)
        case "image":
            return Part("", given.mime_type, _decoded(given.data), is_text=False)
        case "resource":
            return _part(given.resource)
        case "resource_link":
            return clean(f"{given.title or given.name}: {given.uri}")
        case kind:
            raise AgentError(f"it has a part of the kind {clean_line(str(kind), 40)}, which cannot be sent")


def _part(given: Any) -> Part:
    uri, media_type = str(given.uri), clean_line(given.mime_type or "", _NAME)
    if (text := getattr(given, "text", None)) is not None:
        return Part(uri, media_type or "text/plain", clean(text).encode("utf-8", "replace"), is_text=True)
    data = _decoded(given.blob)
    if media_type.startswith(_READABLE):
        try:
            return Part(uri, media_type, clean(data.decode()).encode(), is_text=True)
        except UnicodeDecodeError:
            pass
    return Part(uri, media_type or "application/octet-stream", data, is_text=False)


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=False)
    except (binascii.Error, ValueError) as error:
        raise AgentError("its data is damaged") from error
