"""The resources and prompts of an MCP server: listed and read with a client, within limits, and safe to show."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from ua_tui.core.agent.bounds import MOST_ENTRIES, MOST_PARTS
from ua_tui.core.errors import AgentError
from ua_tui.core.text import clean, clean_line, is_unsafe

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
        raise AgentError(f"it has {len(contents):,} parts, and at most {MOST_PARTS} are sent")
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
        raise AgentError(f"it has {len(messages):,} messages, and at most {MOST_PARTS} are sent")
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
