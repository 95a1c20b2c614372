"""Keeps the conversation in the session's folder, so that it can be resumed after that folder was moved or copied."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from string import hexdigits
from typing import Any, BinaryIO
from uuid import uuid4

import msgspec

from ua_tui.core.agent.bounds import LONGEST_NAME, PIECE
from ua_tui.core.agent.messages.usage import Spending, model_reports
from ua_tui.core.errors import AgentError, WorkspaceError
from ua_tui.core.json_values import JsonMapping, JsonObject, list_in, value_in
from ua_tui.core.redaction.redactor import REDACTED, Redactor, seal_json
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import CONVERSATION, Workspace

_COST_STATE = b'"type":"cost-state"'


class _CostState(msgspec.Struct):
    type: str
    total: float = msgspec.field(default=0.0, name="totalCostUSD")
    models: JsonObject = msgspec.field(default_factory=dict, name="modelUsage")


def transcript_of(conversation: str, *, worked_in: Path, agent_home: Path) -> Path | None:
    """The agent's file of a conversation; None if it no longer exists.

    The agent stores them below its state, in a folder named after its working folder, and removes each some weeks
    after its last use.
    """
    if len(conversation) != 36 or not set(conversation) <= {*hexdigits, "-"}:
        return None
    projects = agent_home / "projects"
    key = re.sub(r"[^a-zA-Z0-9]", "-", unicodedata.normalize("NFC", os.path.realpath(worked_in)))
    # The agent truncates a long path, and appends a digest.
    is_long = len(key) > LONGEST_NAME
    folders = sorted(projects.glob(f"{key[:LONGEST_NAME]}*")) if is_long else [projects / key]
    paths = (folder / f"{conversation}.jsonl" for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def spending_so_far(transcript: Path) -> Spending:
    """What the agent has counted for a conversation.

    It records that at its end, and adds to the last record when the conversation is resumed. The file is read from the
    end: call this in a thread.
    """
    with suppress(OSError), open(transcript, "rb") as file:
        for _, line in lines_backwards(file):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                if _COST_STATE in line:
                    state = msgspec.json.decode(line, type=_CostState)
                    if state.type == "cost-state":
                        return Spending(state.total, model_reports(state.models))
    return Spending()


def lines_backwards(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from the last to the first, each with the offset at which it ends."""
    at, rest = file.seek(0, os.SEEK_END), b""
    end = at
    while at:
        size = min(at, PIECE)
        at -= size
        file.seek(at)
        block = file.read(size) + rest
        # The first line may have begun before this block.
        rest, *lines = block.split(b"\n") if at else (b"", *block.split(b"\n"))
        for line in reversed(lines):
            yield end, line
            end -= len(line) + 1


_SIGNED = {"thinking", "redacted_thinking"}
_BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")


def sealed_entry(entry: JsonMapping, redactor: Redactor) -> bytes:
    """Encode an entry of a transcript as one line without secrets.

    The model's service refuses a block of thinking that was changed, as its signature is wrong then: where there is a
    secret in one, a text takes its place. It refuses a damaged picture, too: in the data of one, only known secrets are
    masked, and not what looks like one.
    """
    data: dict[str, str] = {}
    # Nothing that is nested so deeply has a picture that the model was sent.
    with suppress(RecursionError):
        entry = _without_data(entry, redactor, data)
    encoded = msgspec.json.encode(entry).decode()
    line = seal_json(encoded, redactor)
    if "thinking" in encoded and (content := _without_changed_thinking(entry, line)) is not None:
        entry = {**entry, "message": {**entry["message"], "content": content}}
        line = seal_json(msgspec.json.encode(entry).decode(), redactor)
    for name, value in data.items():
        line = line.replace(name.encode(), value.encode())
    return line


def _without_data(value: Any, redactor: Redactor, data: dict[str, str]) -> Any:
    """Copy a value with a name in place of the data of each picture and PDF file, which is added to `data`."""
    if isinstance(value, list):
        return [_without_data(each, redactor, data) for each in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("type") == "base64" and isinstance(found := value.get("data"), str):
        if _BASE64.fullmatch(found) is None or any(secret in found for secret in redactor.values):
            return value
        name = f"data {uuid4()}"
        data[name] = found
        return {**value, "data": name}
    return {key: _without_data(each, redactor, data) for key, each in value.items()}


def _without_changed_thinking(entry: JsonMapping, line: bytes) -> list[Any] | None:
    """The content of a message with a text for each block of thinking that `line` changes; None if it changes none."""
    before, after = (list_in(each, "message", "content") for each in (entry, msgspec.json.decode(line)))
    changed = {at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
    signed = {at for at in changed if value_in(before[at], "type") in _SIGNED}
    if not signed:
        return None
    return [{"type": "text", "text": REDACTED} if at in signed else each for at, each in enumerate(before)]


_METADATA = "agent_metadata"
# The agent's own notes about its requests, which it neither passes on nor needs.
_NOT_KEPT = "api-request"


class _Entry(msgspec.Struct):
    type: str = ""
    uuid: str | None = None
    timestamp: Any = ""


class ConversationStore(msgspec.Struct, eq=False):
    """The transcripts of a session's conversations in its folder, as a `SessionStore` that the SDK only appends to.

    A transcript is a file of JSON lines with secrets masked: `.conversation/ID.jsonl` is that of the main agent, and
    `.conversation/ID/subagents/agent-….jsonl` that of a sub-agent. The agent passes on each entry once it is in its own
    file. What was lost on the way, because the program was killed or the disk was full, is added from there.

    Args:
        workspace: the session's folder.
        agent_home: where the command-line agent has its own files.
        report: called when entries cannot be written; not again before that works.
    """

    workspace: Workspace
    agent_home: Path
    report: Callable[[Exception], object] = lambda _error: None
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)
    _behind: bool = False
    _failing: bool = False

    async def append(self, key: Mapping[str, str], entries: Sequence[JsonMapping]) -> None:
        """Append entries to a transcript; never raises."""
        failure = await asyncio.to_thread(self._append, key, entries)
        if failure is not None:
            self.report(failure)

    def note_lost(self) -> None:
        """Entries did not come: those of the agent's own file are added with the next ones."""
        self._behind = True

    def prepare(self, conversation: str) -> bool:
        """Have the agent find a conversation in its own files; returns False if it is in none. Call it in a thread.

        Its own file is used if it has all that the session's folder has; otherwise it is made from that.

        Raises:
            WorkspaceError: the session's copy cannot be read, or the agent's file cannot be written.
        """
        own = self._own(conversation)
        last, _ = self._end_of(f"{CONVERSATION}/{conversation}.jsonl")
        if last is None or (own is not None and _offset_behind(own, last) is not None):
            return own is not None
        self._restore(conversation)
        return True

    def catch_up(self, conversation: str) -> bool:
        """Append what only the agent's own files have; returns False if it has none. Call it in a thread.

        Raises:
            WorkspaceError: they cannot be read, or the copy cannot be written.
        """
        with self._lock:
            return self._catch_up(conversation)

    def transcripts(
        self, conversation: str, until: datetime | None = None, said: str = ""
    ) -> Iterator[tuple[str, list[bytes]]]:
        """Yield the path and the lines of each transcript of a conversation, the main agent's first; writes nothing.

        With `until` they are as they were at that time, by the clock of the journal: transcripts are only appended to.
        The main agent's has at least the message with the id `said`, as the clock may have been set back.

        Raises:
            WorkspaceError: one cannot be read.
        """
        with _reading_own(conversation):
            own, folder = dict(self._own_files(conversation)), f"{CONVERSATION}/{conversation}"
            main = f"{folder}.jsonl"
            kept = [main] if self.workspace.exists(main) else []
            kept += [f"{folder}/{each}.jsonl" for each in self._subpaths(folder)]
            for path in dict.fromkeys((*kept, *own)):
                lines = list(self._lines(path)) if path in kept else []
                if path in own:
                    lines += (line.strip() for line in self._missing(own[path], path))
                yield path, lines[: _count_before(lines, until, said)]

    def _append(self, key: Mapping[str, str], entries: Sequence[JsonMapping]) -> Exception | None:
        with self._lock:
            try:
                if not (self._behind and self._catch_up(key["session_id"])):
                    redactor = self.workspace.redactor
                    path = "/".join(filter(None, (CONVERSATION, key["session_id"], key.get("subpath"))))
                    self._write(f"{path}.jsonl", (sealed_entry(entry, redactor) for entry in entries))
                self._behind = self._failing = False
            except WorkspaceError as error:
                was_failing, self._behind, self._failing = self._failing, True, True
                failure = AgentError(
                    "The conversation is not copied to the session's folder: "
                    "if you move the folder, you cannot resume the session."
                )
                failure.__cause__ = error
                return None if was_failing else failure
        return None

    def _catch_up(self, conversation: str) -> bool:
        found = False
        with _reading_own(conversation):
            for path, own in self._own_files(conversation):
                found = True
                self._write(path, self._missing(own, path))
        return found

    def _own_files(self, conversation: str) -> Iterator[tuple[str, Path]]:
        """The agent's own files of a conversation, each with the path of its copy; the main agent's first."""
        own = self._own(conversation)
        if own is not None:
            copies = f"{CONVERSATION}/{conversation}"
            yield f"{copies}.jsonl", own
            folder = own.with_suffix("")
            for file in sorted(folder.rglob("*.jsonl")):
                yield f"{copies}/{file.relative_to(folder).as_posix()}", file

    def _missing(self, own: Path, path: str) -> Iterator[bytes]:
        """The lines that the agent's own file has, and its copy has not."""
        last, behind = self._end_of(path)
        start = 0 if last is None else _offset_behind(own, last)
        for entry in _entries_from(own, start) if start is not None else ():
            line = sealed_entry(entry, self.workspace.redactor)
            if line.removesuffix(b"\n") not in behind:
                yield line

    def _write(self, path: str, lines: Iterator[bytes]) -> None:
        batch, size = list[bytes](), 0
        for line in lines:
            batch.append(line)
            size += len(line)
            if size >= 1 << 20:
                self.workspace.root.append_lines(path, batch)
                batch, size = [], 0
        self.workspace.root.append_lines(path, batch)

    def _restore(self, conversation: str) -> None:
        """Write the agent's own files of a conversation."""
        from claude_agent_sdk import project_key_for_directory

        home = Root(
            self.agent_home / "projects" / project_key_for_directory(self.workspace.path), create=True
        )
        folder = f"{CONVERSATION}/{conversation}"
        for subpath in self._subpaths(folder):
            metadata: JsonObject = {}
            home.write_chunks(
                f"{conversation}/{subpath}.jsonl", self._transcript(f"{folder}/{subpath}.jsonl", metadata)
            )
            if metadata:
                home.write(f"{conversation}/{subpath}.meta.json", msgspec.json.encode(metadata))
        # The last one: the conversation is found by it.
        home.write_chunks(f"{conversation}.jsonl", self._transcript(f"{folder}.jsonl", {}))

    def _transcript(self, path: str, metadata: JsonObject) -> Iterator[bytes]:
        """The lines of a transcript as the agent writes them; what it stores in another file goes to `metadata`."""
        for line in self._lines(path):
            if _entry_in(line).type == _METADATA:
                metadata.clear()
                metadata.update(msgspec.json.decode(line))
                del metadata["type"]
            else:
                yield line + b"\n"

    def _end_of(self, path: str) -> tuple[str | None, frozenset[bytes]]:
        """The `uuid` of the last entry that has one, None if there is none, and the lines behind it."""
        behind = set[bytes]()
        if self.workspace.exists(path):
            with self.workspace.root.opened(path) as file:
                for _, line in lines_backwards(file):
                    if (uuid := _entry_in(line).uuid) is not None:
                        return uuid, frozenset(behind)
                    behind.add(line)
        return None, frozenset(behind)

    def _lines(self, path: str) -> Iterator[bytes]:
        """The lines that are entries; a crash may have cut off one."""
        with self.workspace.root.opened(path) as file:
            for line in file:
                if _entry_in(line).type:
                    yield line.strip()

    def _subpaths(self, folder: str, below: str = "") -> Iterator[str]:
        with suppress(WorkspaceError):
            for entry in self.workspace.list(f"{folder}/{below}".removesuffix("/")):
                if entry.is_dir:
                    yield from self._subpaths(folder, f"{below}{entry.name}/")
                elif entry.name.endswith(".jsonl"):
                    yield below + entry.name.removesuffix(".jsonl")

    def _own(self, conversation: str) -> Path | None:
        return transcript_of(conversation, worked_in=self.workspace.path, agent_home=self.agent_home)


def _count_before(lines: Sequence[bytes], until: datetime | None, said: str) -> int:
    """How many of the entries are from before a time, at least those up to a message."""
    if until is None:
        return len(lines)
    # As the agent writes times: in UTC, to the millisecond.
    limit = until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    message = f'"id":"{said}"'.encode()
    first = max((at + 1 for at, line in enumerate(lines) if said and message in line), default=0)
    later = (at for at in range(first, len(lines)) if str(_entry_in(lines[at]).timestamp) >= limit)
    count = next(later, len(lines))
    # What has no time describes what follows it.
    return count if any(_entry_in(line).timestamp for line in lines[:count]) else first


@contextmanager
def _reading_own(conversation: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkspaceError(
            f"cannot read the agent's own files of the conversation {conversation}: {reason}"
        ) from error


def _entries_from(own: Path, start: int) -> Iterator[JsonObject]:
    """The entries of a file of the agent that its copy has, too, from an offset on."""
    with open(own, "rb") as file:
        file.seek(start)
        for line in file:
            found = _entry_in(line)
            if found.type and not found.type.startswith(_NOT_KEPT):
                yield msgspec.json.decode(line)
    metadata = own.with_suffix(".meta.json")
    with suppress(FileNotFoundError, msgspec.DecodeError):
        yield {"type": _METADATA, **msgspec.json.decode(metadata.read_bytes(), type=JsonObject)}


def _offset_behind(own: Path, uuid: str) -> int | None:
    """Where the entry with this `uuid` ends in a file of the agent; None if it is not in it."""
    wanted = uuid.encode()
    try:
        with open(own, "rb") as file:
            for end, line in lines_backwards(file):
                if wanted in line and _entry_in(line).uuid == uuid:
                    return end + 1
    except OSError:
        return None
    return None


def _entry_in(line: bytes) -> _Entry:
    """The type and the `uuid` of an entry; none if the line is not an entry."""
    try:
        return msgspec.json.decode(line, type=_Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Entry()
