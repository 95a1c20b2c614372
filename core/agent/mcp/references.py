"""Resources and prompts of MCP servers that a person names in a query: `@server:uri`, and `/server:prompt arguments`.

The text of a resource, or its picture, is copied into the session's folder, and the query names the copy as any other
file: so it is sent, recorded and shown like one. Of a prompt the messages are sent; they are a server's words, so they
can neither name files nor begin with a command.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import msgspec

from ua_tui.core.agent.attachments.blocks import is_media
from ua_tui.core.agent.attachments.mentions import mentions_in, without_mentions
from ua_tui.core.agent.attachments.places import LARGEST, attach_data
from ua_tui.core.agent.bounds import LONGEST_PROMPT, MOST_PARTS
from ua_tui.core.agent.mcp.client import (
    Contents,
    Part,
    PromptMessage,
    ServerPrompt,
    ask_server,
    get_prompt,
    list_contents,
    read_resource,
)
from ua_tui.core.connections.base import Connector
from ua_tui.core.errors import AgentError, ConnectionFailed, PathRefused
from ua_tui.core.events.types import AttachedFile, Event, McpServer, McpStatus
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.tasks import end_tasks
from ua_tui.core.text import clean_line, shell_words

_CALL = re.compile(r"/([A-Za-z0-9][\w-]*):(\S*)(?:\s+(.*))?", re.DOTALL)
_STARTING, _STARTING_SECONDS = frozenset({"pending", "reconnecting"}), 30.0
_SUFFIXES = {"text/plain": ".txt", "text/markdown": ".md", "application/json": ".json"}

_T = TypeVar("_T")


class Expanded(msgspec.Struct, frozen=True):
    """A query with what it names: the text that is sent, and the copies that it names, by their paths."""

    prompt: str
    copies: Mapping[str, AttachedFile] = {}


class PromptCall(msgspec.Struct, frozen=True):
    """A text that begins with the name of a prompt of a server."""

    server: str
    name: str
    arguments: str


class ServerReferences(msgspec.Struct, eq=False):
    """Lists and reads what the user's own servers offer; only when a person names it, and only of connected servers.

    The lists are kept until a server is connected again. What was read for a preview is what is sent.

    Args:
        connectors: give the configuration of each of the user's servers.
        states: the present states of the servers.
        workspace: the session's folder.
        ask: asks a server, as `ask_server` does.

    Attributes:
        contents: what the servers offer that were listed already.
    """

    connectors: Mapping[str, Connector]
    states: Callable[[], Sequence[McpServer]]
    workspace: Workspace
    ask: Callable[..., Awaitable[Any]] = ask_server
    contents: dict[str, Contents] = {}
    _copies: dict[tuple[str, str], tuple[AttachedFile, ...]] = {}
    _expanded: dict[str, Expanded] = {}
    _work: dict[object, asyncio.Task[Any]] = {}
    _connected: frozenset[str] = frozenset()
    _changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of the connected servers."""
        states = {each.name: each.status for each in self.states()}
        return tuple(name for name in self.connectors if states.get(name) == "connected")

    def reference(self, path: str) -> tuple[str, str] | None:
        """The server and the address that a name after an `@` stands for; None if it is that of a file."""
        server, colon, uri = path.partition(":")
        if not colon or not uri or server not in self.connectors:
            return None
        try:
            is_file = self.workspace.exists(path)
        except PathRefused:
            is_file = False
        return None if is_file else (server, uri)

    def prompt_call(self, text: str) -> PromptCall | None:
        """The prompt of a server that a text begins with."""
        found = _CALL.fullmatch(text.strip())
        if found is None or found[1] not in self.connectors:
            return None
        return PromptCall(found[1], found[2], (found[3] or "").strip())

    def names_any(self, text: str) -> bool:
        """Whether a text names a resource or a prompt."""
        return self.prompt_call(text) is not None or (
            "@" in text and any(self.reference(each.path) for each in mentions_in(text))
        )

    async def list(self, server: str) -> Contents:
        """List what a server offers, once.

        Raises:
            ConnectionFailed: it is not connected, or does not answer.
        """
        if (known := self.contents.get(server)) is not None:
            return known
        contents = await self._once(server, lambda: self._ask(server, list_contents))
        self.contents[server] = contents
        return contents

    async def read(self, server: str, uri: str) -> tuple[AttachedFile, ...]:
        """Copy a resource into the session's folder; the same copy until it was sent.

        Raises:
            UniversalAgentError: it cannot be read or sent.
        """
        key = (server, uri)
        if key not in self._copies:
            self._copies[key] = await self._once(key, lambda: self._read(server, uri))
        return self._copies[key]

    async def prepare(self, text: str) -> None:
        """Read what a text names before it is sent, so that an error can be corrected in it.

        Raises:
            UniversalAgentError: something in it cannot be read or sent; the message says what to do.
        """
        expanded = await self._expand(text.strip())
        while len(self._expanded) >= MOST_PARTS:
            del self._expanded[next(iter(self._expanded))]
        self._expanded[text.strip()] = expanded

    async def expand(self, text: str) -> Expanded:
        """The text that is sent for a query, with copies of the resources that it names.

        Raises:
            UniversalAgentError: something in it cannot be read or sent; the message says what to do.
        """
        expanded = self._expanded.pop(text.strip(), None) or await self._expand(text)
        for mention in mentions_in(text):
            # The next query is sent what the resource is then.
            if (reference := self.reference(mention.path)) is not None:
                self._copies.pop(reference, None)
        return expanded

    def handle_event(self, event: Event) -> None:
        """Forget the list of a server that was connected again."""
        if isinstance(event, McpStatus):
            self._changed.set()
            connected = frozenset(each.name for each in event.servers if each.status == "connected")
            for name in connected - self._connected:
                self.contents.pop(name, None)
            self._connected = connected

    async def close(self) -> None:
        """End the clients."""
        await end_tasks(*self._work.values())

    async def _expand(self, text: str) -> Expanded:
        if (call := self.prompt_call(text)) is not None:
            return await self._send_prompt(call)
        copies: dict[str, AttachedFile] = {}
        for mention in reversed(list(mentions_in(text))):
            reference = self.reference(mention.path)
            if reference is None:
                continue
            server, uri = reference
            files = await self.read(server, uri)
            copies = {each.path: each for each in files} | copies
            names = " ".join(f"@{each.path}" for each in files)
            replacement = f"{names} (the resource {without_mentions(uri)} of the MCP server {server})"
            text = text[: mention.start] + replacement + text[mention.end :]
        return Expanded(text, copies)

    async def _read(self, server: str, uri: str) -> tuple[AttachedFile, ...]:
        shown = f"{clean_line(uri, 200)} of {server}"
        with _shown_errors(shown, "cannot be read", f"type @{server}: to list its resources"):
            parts = await self._ask(server, lambda client: read_resource(client, uri))
        return tuple([await self._copy(server, each, shown) for each in parts])

    async def _copy(self, server: str, part: Part, shown: str) -> AttachedFile:
        if not part.is_text and not is_media(part.data[:16]):
            raise AgentError(
                f"{shown} is {part.media_type}, which the model cannot read: "
                "choose a text, picture or PDF file"
            )
        if len(part.data) > LARGEST:
            raise AgentError(f"{shown} is larger than {LARGEST >> 20} MB: name a smaller one")
        name = _file_name(server, part)
        file = await asyncio.to_thread(attach_data, self.workspace, name, part.data)
        return AttachedFile(
            path=file.path,
            media_type=part.media_type,
            size=file.size,
            sha256=file.sha256,
            resource=f"{server}:{clean_line(part.uri, 1_000)}",
        )

    async def _send_prompt(self, call: PromptCall) -> Expanded:
        server = call.server
        contents = await self.list(server)
        prompt = contents.prompt(call.name)
        if prompt is None:
            missing = f"no prompt {clean_line(call.name, 60)}" if call.name else "no prompt without a name"
            raise AgentError(f"{server} has {missing}: type /{server}: to list its prompts")
        arguments = arguments_of(call, prompt)
        shown = f"/{server}:{clean_line(prompt.name, 60)}"
        with _shown_errors(shown, "was refused", "check its arguments"):
            messages = await self._ask(server, lambda client: get_prompt(client, prompt.name, arguments))
        copies: dict[str, AttachedFile] = {}
        text = await self._text_of(messages, server, shown, copies)
        if len(text) > LONGEST_PROMPT:
            raise AgentError(f"{shown} is longer than {LONGEST_PROMPT:,} characters, and is not sent")
        # It cannot begin with the name of a command.
        head = f"The prompt {without_mentions(prompt.name)} of the MCP server {server}:"
        return Expanded(f"{head}\n\n{text}", copies)

    async def _text_of(
        self, messages: Sequence[PromptMessage], server: str, shown: str, copies: dict[str, AttachedFile]
    ) -> str:
        several = any(each.role != "user" for each in messages)
        texts: list[str] = []
        for message in messages:
            content = message.content
            if isinstance(content, Part):
                copied = await self._copy(server, content, f"a part of {shown}")
                copies[copied.path] = copied
                text = f"@{copied.path}"
            else:
                text = without_mentions(content)
            texts.append(f"{message.role.capitalize()}: {text}" if several else text)
        return "\n\n".join(texts)

    async def _ask(self, server: str, request: Callable[[Any], Awaitable[_T]]) -> _T:
        # As a query does.
        with suppress(TimeoutError):
            async with asyncio.timeout(_STARTING_SECONDS):
                while {each.name: each.status for each in self.states()}.get(server, "pending") in _STARTING:
                    self._changed.clear()
                    await self._changed.wait()
        if server not in self.servers:
            raise ConnectionFailed(
                f"{server} is not connected: reconnect it with r in /connections", code="unreachable"
            )
        # As the agent's connection is opened: checked for trust, with the present values of variables.
        connection = await self.connectors[server]()
        if server not in connection.servers:
            raise ConnectionFailed(connection.note or f"{server} is not available", code="unreachable")
        for secret in connection.secrets:
            self.workspace.redactor.add(secret)
        config = connection.servers[server]
        if connection.headers is not None:
            config = {**config, "headers": {**config["headers"], **await connection.headers()}}
        try:
            answer: _T = await self.ask(config, request, root=self.workspace.path, secrets=connection.secrets)
        except ConnectionFailed as error:
            if error.code == "failed":
                raise
            remedy = (
                f"log in with `ua-tui connect {server}`"
                if error.code == "http_401"
                else "see `ua-tui doctor`"
            )
            raise ConnectionFailed(
                f"the request to {server} failed ({error}): {remedy}", code=error.code
            ) from error
        return answer

    async def _once(self, key: object, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do work for all who want its result at the same time; it continues if one of them is cancelled."""
        task = self._work.get(key)
        if task is None:
            task = self._work[key] = asyncio.ensure_future(work())
            task.add_done_callback(lambda done: self._finish(key, done))
        result: _T = await asyncio.shield(task)
        return result

    def _finish(self, key: object, task: asyncio.Task[Any]) -> None:
        self._work.pop(key, None)
        if not task.cancelled():
            # Those who wait have its error; asyncio would log one for which nobody waits.
            task.exception()


@contextmanager
def _shown_errors(shown: str, refused: str, remedy: str) -> Iterator[None]:
    """Name what was asked of a server in its error, with the remedy where it `refused`."""
    try:
        yield
    except ConnectionFailed as error:
        if error.code != "failed":
            raise
        raise AgentError(f"{shown} {refused} ({error}): {remedy}") from error
    except AgentError as error:
        raise AgentError(f"{shown} cannot be sent: {error}") from error


def arguments_of(call: PromptCall, prompt: ServerPrompt) -> dict[str, str]:
    """The arguments of a prompt as they were written: in order, or as `name=value`; the last takes the rest.

    Raises:
        AgentError: one that is required is missing, or there are too many.
    """
    names = [each.name for each in prompt.arguments]
    given: dict[str, str] = {}
    rest: list[str] = []
    for word in shell_words(call.arguments):
        name, equals, value = word.partition("=")
        if equals and name in names and name not in given:
            given[name] = value
        else:
            rest.append(word)
    left = [name for name in names if name not in given]
    shown = f"/{call.server}:{prompt.name} {prompt.hint}".strip()
    if rest and not left:
        raise AgentError(f"{shown} takes no more arguments")
    for at, name in enumerate(left):
        words, rest = (rest, []) if at == len(left) - 1 else (rest[:1], rest[1:])
        if words:
            given[name] = " ".join(words)
    missing = [each.name for each in prompt.arguments if each.required and not given.get(each.name)]
    if missing:
        raise AgentError(f"{shown} needs a value for {', '.join(missing)}")
    return given


def _file_name(server: str, part: Part) -> str:
    """A name for the copy of a resource, with the suffix of its type."""
    import mimetypes

    last = re.split(r"[/:?#]+", part.uri.rstrip("/"))[-1] if part.uri else "prompt"
    suffix = _SUFFIXES.get(part.media_type) or mimetypes.guess_extension(part.media_type) or ""
    if not suffix and part.is_text:
        suffix = ".txt"
    plain = mimetypes.guess_type(last)[0] is not None
    return f"{server}-{last}" if plain else f"{server}-{last}{suffix}"
