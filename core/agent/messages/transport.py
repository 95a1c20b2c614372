"""The pipes of the Claude Code CLI: each line of its output is a message, and any other line is skipped."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from ua_tui.core.agent.bounds import LONGEST_TEXT, PIECE
from ua_tui.core.agent.conversation import ConversationStore
from ua_tui.core.agent.mcp.elicitation import Ask, ElicitationChannel
from ua_tui.core.agent.messages.malformed import MalformedMessages, Message, lost_result, usable_message
from ua_tui.core.json_values import JsonMapping, object_in, objects_in
from ua_tui.core.log import log
from ua_tui.core.text import clean_line, encodable

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking"}
"""The field with the text, by the type of the piece."""


class _Text(NamedTuple):
    """The text that a message is a piece of."""

    kind: str
    block: object
    subagent: object


def join_deltas(messages: Iterable[Message]) -> Iterator[Message]:
    """Give the messages in order, with the pieces of one text that follow each other as one message."""
    for key, found in groupby(messages, _text_of):
        if key is None:
            yield from found
            continue
        pieces = list(found)
        first = pieces[0]
        if len(pieces) > 1:
            kind, event = _TEXTS[key.kind], first["event"]
            text = "".join(each["event"]["delta"][kind] for each in pieces)
            first = {**first, "event": {**event, "delta": {**event["delta"], kind: text}}}
        yield first


def _text_of(message: JsonMapping) -> _Text | None:
    """The text that a message is a piece of; None if it is no piece of a text."""
    match message:
        case {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "delta": {"type": "text_delta", "text": str()}
                | {"type": "thinking_delta", "thinking": str()},
            } as event,
        }:
            return _Text(event["delta"]["type"], event.get("index"), message.get("parent_tool_use_id"))
        case _:
            return None


# Only a result has this field, and in a text its quotes are escaped.
_OF_RESULT = re.compile(r'\{"type":"result"|(?<!\\)"duration_api_ms"\s*:')
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LAST_SECONDS = 5.0
"""Seconds until a process whose input broke counts as one that goes on."""
_MIRROR = '{"type":"transcript_mirror"'
# Messages that come at any time between the others.
_BESIDE = frozenset({"transcript_mirror", "control_request", "control_response"})


class CliTransport:
    """Runs the command line as the SDK's own transport does, but no line of its output can end the connection.

    It implements `claude_agent_sdk.Transport`. The SDK's transport starts and ends the process; this one reads its
    output and its standard error.

    Args:
        options: the options of the connection; `max_buffer_size` bounds a line.
        malformed: counts the lines that are no messages.
        stderr: reads the standard error.
        on_start: called with the pid of the process, before anything is written to it.
        ask: asks the person what an MCP server wants to know; without it the server gets no answer.

    A line too long to be read that has entries of the transcript is reported to the store in `options`.

    Attributes:
        was_killed: whether the process was killed, because it did not end when it was to.
    """

    def __init__(
        self,
        options: sdk.ClaudeAgentOptions,
        malformed: MalformedMessages,
        stderr: StandardError,
        on_start: Callable[[int], Awaitable[None]],
        ask: Ask | None = None,
    ) -> None:
        from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

        # For a transport of its own the SDK sets the first itself; the second makes the standard error a pipe.
        given = replace(options, permission_prompt_tool_name="stdio", stderr=lambda _line: None)
        self._cli = cast("Any", SubprocessCLITransport(_no_prompt(), given))
        self._cli._handle_stderr = self._read_stderr
        self._longest = options.max_buffer_size or 1 << 20
        self._malformed = malformed
        self._stderr = stderr
        self._on_start = on_start
        self._store = options.session_store
        self._requests = ElicitationChannel(ask, self.write) if ask is not None else None
        self.was_killed = False

    @property
    def pid(self) -> int | None:
        """The pid of the process; None if it has none or it has ended."""
        process = self._cli._process
        return process.pid if process is not None and process.returncode is None else None

    async def connect(self) -> None:
        """Start the process."""
        await self._cli.connect()
        if (pid := self.pid) is not None:
            await self._on_start(pid)

    async def write(self, data: str) -> None:
        """Write to its standard input.

        Raises:
            ProcessError: the process has ended with an error.
            CLIConnectionError: it cannot be written to for another reason.
        """
        import claude_agent_sdk as sdk

        try:
            await self._cli.write(data)
        except sdk.CLIConnectionError:
            # What a process died of tells more than the pipe that broke, which may be noticed first.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    await self._raise_for_exit()
            raise

    async def end_input(self) -> None:
        """Close its standard input."""
        await self._cli.end_input()

    def kill(self) -> None:
        """Kill the process, if it has not ended."""
        if self.pid is not None:
            self.was_killed = True
            with suppress(ProcessLookupError):
                self._cli._process.kill()

    async def close(self) -> None:
        """End the process, by force if it does not end with its input, and release its pipes."""
        # SIGTERM, which the SDK's transport sends first, does not reach a process that is stopped.
        timer = asyncio.get_running_loop().call_later(6.0, self.kill)
        try:
            if self._requests is not None:
                await self._requests.close()
            await self._cli.close()
        finally:
            timer.cancel()
            # Also if this is cancelled.
            self.kill()

    def is_ready(self) -> bool:
        """Whether it can be written to."""
        return bool(self._cli.is_ready())

    async def read_messages(self) -> AsyncIterator[Message]:
        """Every message, until the process closes its output.

        While a text streams, what comes within 30 ms is read at once, and its pieces are joined: every message and
        every time that something wakes up costs more than the text in it.

        Raises:
            ProcessError: the process ended with an error.
        """
        import anyio
        from anyio.streams.text import TextReceiveStream

        process = self._cli._process
        lines = Lines(self._longest)
        retries = RetryReasons()
        try:
            async for chunk in TextReceiveStream(process.stdout, errors="replace"):
                found = (self._message_in(line) for line in lines.push(chunk))
                message = None
                for message in retries.explain(join_deltas(each for each in found if each is not None)):
                    if self._requests is not None and self._requests.handles(message):
                        continue
                    yield message
                if (
                    message is not None
                    and message.get("type") == "stream_event"
                    and message["event"].get("type") == "content_block_delta"
                    and len(chunk) < PIECE
                ):
                    # Let pieces gather: each message costs more than the text in it.
                    await asyncio.sleep(0.03)
        except anyio.ClosedResourceError:
            pass
        # A process that was killed may leave half a message.
        if (message := message_in(lines.rest(), MalformedMessages())) is not None:
            yield message
        await self._raise_for_exit()

    async def _raise_for_exit(self) -> None:
        import claude_agent_sdk as sdk

        process = self._cli._process
        if process is not None and (code := await process.wait()):
            raise sdk.ProcessError("it ended", exit_code=code)

    def _message_in(self, line: str) -> Message | None:
        if len(line) <= self._longest or not line.startswith(_MIRROR):
            return message_in(line, self._malformed)
        if isinstance(self._store, ConversationStore):
            self._store.note_lost()
        return None

    async def _read_stderr(self) -> None:
        import anyio

        try:
            async for chunk in self._cli._process.stderr:
                self._stderr.feed(chunk)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        finally:
            self._stderr.close()


class RetryReasons(msgspec.Struct, eq=False):
    """Adds to the message of a retry why the request failed.

    Only an entry of the transcript, which follows within a moment, has the words of the model's service: the message is
    held back until then.
    """

    _held: Message | None = None

    def explain(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Give the messages in order, each of a retry with the `cause`."""
        for message in messages:
            is_mirror = message.get("type") == "transcript_mirror"
            entries = objects_in(message, "entries") if is_mirror else []
            errors = [object_in(each, "error") for each in entries if each.get("subtype") == "api_error"]
            cause: Message = next(filter(None, reversed(errors)), {})
            if self._held is not None and (cause or message.get("type") not in _BESIDE):
                held, self._held = self._held, None
                yield held | {"cause": cause}
            if message.get("subtype") == "api_retry":
                self._held = message
            else:
                yield message


class Lines(msgspec.Struct, eq=False):
    """Makes lines of the pieces of a text; of a line that is longer than `longest` only the beginning is kept."""

    longest: int
    _pieces: list[str] = []
    _length: int = 0

    def push(self, piece: str) -> Iterator[str]:
        """Add a piece; yields the lines that it completes."""
        *ends, rest = piece.split("\n")
        for end in ends:
            self._add(end)
            yield self.rest()
        self._add(rest)

    def rest(self) -> str:
        """Return, and forget, the line that is not complete."""
        line = "".join(self._pieces)
        self._pieces, self._length = [], 0
        return line

    def _add(self, piece: str) -> None:
        if piece and self._length <= self.longest:
            self._pieces.append(piece)
            self._length += len(piece)


def message_in(line: str, malformed: MalformedMessages) -> Message | None:
    """Read the message in a line; None if there is none, which is counted unless the line is empty."""
    line = line.strip()
    if not line:
        return None
    try:
        raw = json.loads(line)
        if _ESCAPED_SURROGATE.search(line) is not None:
            # A half of a character, which cannot be written anywhere.
            raw = encodable(raw)
    except (ValueError, RecursionError) as error:
        malformed.note(f"a line that is not JSON ({error})", line)
        if _OF_RESULT.search(line[:LONGEST_TEXT]) is None:
            return None
        return lost_result()
    return usable_message(raw, malformed)


async def _no_prompt() -> AsyncIterator[Message]:
    return
    yield {}


_TAIL = 8 << 10
# By this mark a piece of a secret is recognised.
_CUT = "…".encode()


class StandardError(msgspec.Struct, eq=False):
    """Reads what the command line writes to its standard error; a flood is counted, and not logged."""

    _tail: bytes = b""
    _partial: bytes = b""
    _left: int = 256 << 10
    _dropped: int = 0

    @property
    def last_line(self) -> str:
        """The last line that is not empty; empty if there was none."""
        tail = _CUT + self._tail if len(self._tail) == _TAIL else self._tail
        lines = tail.decode(errors="replace").splitlines()
        return next((text for line in reversed(lines) if (text := clean_line(line, 500).strip())), "")

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]
        logged = data[: self._left]
        self._left -= len(logged)
        self._dropped += len(data) - len(logged)
        *lines, self._partial = (self._partial + logged).split(b"\n")
        for line in lines:
            self._log(line)

    def close(self) -> None:
        """Log what is left: an unfinished line, and how much was dropped."""
        self._log(self._partial + _CUT if self._dropped and self._partial else self._partial)
        if self._dropped:
            log.warning("agent: %d more bytes of its standard error were dropped", self._dropped)
        self._partial, self._dropped = b"", 0

    def _log(self, line: bytes) -> None:
        if line.strip():
            log.info("agent: %s", line.decode(errors="replace").rstrip())
