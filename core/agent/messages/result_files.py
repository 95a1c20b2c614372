"""Results that the Claude Code CLI stores outside the session: the agent gets files in the workspace instead.

Where a result is too large for the model, the command line writes it, unmasked, to a folder `tool-results` beside its
transcript, where it also writes every file in a result of an MCP server. It names these paths to the model, which may
not read there. Observers and events get a result, too: a large one is adapted and stored in a worker process.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec.structs import fields

from ua_tui.core.agent.bounds import DEEPEST, LARGE_TEXT, LARGEST_FILE, MOST_ENTRIES, PIECE
from ua_tui.core.agent.messages.results import (
    LONGEST_NOTICE,
    RawResult,
    ResultAdapter,
    is_cut_off,
    replaced_path,
    results_folder,
    texts_in,
)
from ua_tui.core.agent.permissions.actions import TOOLS
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess, packed
from ua_tui.core.connections.toolkit_tools import SERVER as TOOLKIT
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.events.types import READ_RESOURCE
from ua_tui.core.events.units import quantity, size
from ua_tui.core.json_values import JsonMapping, JsonObject, list_in, object_in, objects_in, text_in
from ua_tui.core.log import log
from ua_tui.core.media_types import HEAD_SIZE, media_suffix, media_type
from ua_tui.core.observation import AnyObservation, ReturnedFile, TextContent
from ua_tui.core.redaction.masking import masked_file
from ua_tui.core.storage.kinds import check_writable
from ua_tui.core.storage.large_results import store_large_result
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.storage.regular_file import read_regular
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line, without_surrogates

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_FOLDER = "tool_results"
# The agent's search leaves out longer lines, and its reader cannot begin in the middle of one.
_WIDTH = 400
_PREVIEW = 2_000


class ReadableText(msgspec.Struct, frozen=True):
    """A text file in the workspace: its path, its size in characters and lines, and its beginning."""

    path: str
    characters: int
    lines: int
    preview: str


def name_of(key: str) -> str:
    """The path of the text file of a result, whose `key` is the id of its call or the name of another file."""
    return f"{_FOLDER}/{safe_name(key, 100)}.txt"


class _Counted:
    """Iterates over lines, counts them, and keeps the first ones."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.count = self.characters = 0
        self.first: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            if self.characters < _PREVIEW:
                self.first.append(line)
            self.count += 1
            self.characters += len(line) + 1
            yield line


def _lines(text: str) -> Iterator[str]:
    if text.lstrip()[:1] in {"{", "["}:
        with suppress(msgspec.DecodeError, ValueError, RecursionError):
            # Decoded first: what is no JSON would otherwise be changed.
            msgspec.json.decode(text, type=msgspec.Raw)
            text = msgspec.json.format(text, indent=1)
    for line in text.split("\n"):
        start = 0
        while len(line) - start > _WIDTH:
            end = line.rfind(" ", start + 1, start + _WIDTH) + 1 or start + _WIDTH
            yield line[start:end]
            start = end
        yield line[start:]


def _joined(lines: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= PIECE:
            yield without_surrogates("\n".join([*waiting, ""])).encode()
            waiting, size = [], 0
    yield without_surrogates("\n".join(waiting)).encode()


LIMIT = 50_000
"""From this size on, in characters, the command line stores the result of an MCP server."""

_TASK = "ua_tui.core.agent.messages.result_files:write_in_child"
_BLOB = r"mcp-(?:[\w.%-]+?-blob-\d+|resource-\d+-\d+)-[a-z0-9]+(?:\.[A-Za-z0-9]{1,8})?"
_ORIGIN = re.compile(
    r"\[(?P<kind>Image|Audio|Resource) from .{1,200}?(?: at (?P<uri>\S{1,2000}))?\] ", re.DOTALL
)
READERS: Mapping[str, str] = TOOLS["file_readers"]
"""The tools that read files, and the argument of each that has the path."""


class Received(msgspec.Struct, frozen=True):
    """A result with the paths of the workspace: for the model, for observers in full, and the files in it.

    `for_model` is None if the model is given what it would get anyway.
    """

    for_model: Any = None
    for_observers: Any = None
    files: tuple[ReturnedFile, ...] = ()


class ResultStore(msgspec.Struct, eq=False):
    """Adapts results, and stores them and what the agent reads of them; for threads, never for the event loop.

    Without a worker, or if it fails, also large ones are handled in the calling thread.
    """

    adapter: ResultAdapter
    workspace: Workspace
    worker: WorkerProcess | None = None

    def receive(self, tool_name: str, tool_use_id: str, response: Any, transcript: str) -> Received:
        """Store the files of a result, and the text of one that is too large for the model."""
        if tool_name != READ_RESOURCE and not tool_name.startswith("mcp__"):
            return Received(for_observers=response)
        response, files = self._move_files(tool_name, response, transcript)
        given = Received(response if files else None, response, files)
        if tool_name == READ_RESOURCE:
            return given
        saved = replaced_path(response)
        # The toolkit's own limit is higher, and the command line knows it.
        is_own = tool_name.startswith(f"mcp__{TOOLKIT}__")
        blocks = list_in(response)
        texts = [response] if isinstance(response, str) else [_text(each) or "" for each in blocks]
        if saved is None and (is_own or sum(map(len, texts)) <= LIMIT):
            return given
        # The lines that name files are short, and the model needs them.
        lines = [
            each for each in blocks if (text := _text(each)) and any(file.path in text for file in files)
        ]
        texts = texts_in([each for each in blocks if each not in lines] or response)
        try:
            stored = self._write(tool_use_id, texts, saved, transcript)
        except WorkspaceError as error:
            log.warning("a large tool result cannot be given to the agent: %s", error)
            stored = None
        if stored is None:
            return given
        others = [each for each in objects_in(blocks) if _text(each) is None]
        return Received([{"type": "text", "text": _notice(stored)}, *others, *lines], response, files)

    def redirect(self, tool_name: str, tool_input: JsonObject, transcript: str) -> JsonObject:
        """The input of a call, which reads a file of the workspace if it would read one that holds a result."""
        field = READERS.get(tool_name, "")
        asked = tool_input.get(field)
        if not isinstance(asked, str) or "/tool-results/" not in asked:
            return tool_input
        path = Path(asked)
        if path.parent != results_folder(transcript):
            return tool_input
        try:
            if re.fullmatch(_BLOB, path.name):
                return tool_input | {field: move_to_workspace(self.workspace, path, path.stem).path}
            name = name_of(path.stem)
            if not self.workspace.exists(name) and self._write(path.stem, [], path, transcript) is None:
                return tool_input
        except (OSError, ValueError, WorkspaceError) as error:
            log.warning("a stored tool result cannot be given to the agent: %s", error)
            return tool_input
        return tool_input | {field: name}

    def _move_files(
        self, tool_name: str, response: Any, transcript: str
    ) -> tuple[Any, tuple[ReturnedFile, ...]]:
        """The response with the paths of its files in the workspace, to which they are moved."""
        folder, blocks = results_folder(transcript), list_in(response, "contents") or list_in(response)
        if folder is None or not blocks:
            return response, ()
        wanted = re.compile(rf"{re.escape(str(folder))}/{_BLOB}")
        changed, files, origin = [], [], None
        for block in blocks:
            given = object_in(block)
            texts = {name: text for name in ("text", "blobSavedTo") if (text := text_in(given, name))}
            if any(len(text) > LONGEST_NOTICE for text in texts.values()):
                texts = {}
            origin = _ORIGIN.match(texts.get("text", "")) or origin
            paths = dict.fromkeys(path for text in texts.values() for path in wanted.findall(text))
            if not paths:
                changed.append(block)
                continue
            own = "_".join(tool_name.removeprefix("mcp__").split("__"))
            called = text_in(given, "uri") or (origin and origin["uri"]) or own
            moved = {path: self._moved(Path(path), called) for path in paths}
            files += [each for each in moved.values() if each]
            new_path = partial(_new_path, moved)
            changed.append(given | {name: wanted.sub(new_path, text) for name, text in texts.items()})
            origin = None
        if changed == blocks:
            return response, ()
        return (changed if isinstance(response, list) else {**response, "contents": changed}), tuple(files)

    def _moved(self, path: Path, name: str) -> ReturnedFile | None:
        try:
            return move_to_workspace(self.workspace, path, name)
        except (OSError, ValueError, WorkspaceError) as error:
            log.warning("a file that a tool returned is not kept: %s", clean_line(str(error), 300))
            return None

    def _write(
        self, key: str, texts: Sequence[str], saved: Path | None, transcript: str
    ) -> ReadableText | None:
        """Write a text for the agent, a long one in the worker; None if there is nothing to be read at `saved`."""
        if saved is not None or sum(map(len, texts)) >= LARGE_TEXT:
            asked = (key, None if saved is None else str(saved), transcript)
            if (done := self._in_worker(_TASK, asked, texts)) is not None:
                return msgspec.msgpack.decode(done, type=ReadableText | None)
        return _written(self.workspace, self.adapter, key, texts, saved, transcript)

    def store(
        self, raw: RawResult, facts: JsonMapping, denial: str | None = None
    ) -> tuple[AnyObservation, AnyObservation]:
        """Return the observation for observers and the one for events, as `store_large_result` does.

        `facts` are the other arguments of `ResultAdapter.observe`; `denial` is the reason, when the call was not
        allowed to run. For a large result the observers, too, get the preview and the file with the full content.

        Takes time in proportion to the result: call it in a thread.
        """
        if self.worker is not None and denial is None and (is_cut_off(raw) or _is_large(raw)):
            texts: list[str] = []
            shell = {part.name: _without_texts(getattr(raw, part.name), texts) for part in fields(raw)}
            if (done := self._in_worker(_STORE_TASK, (shell, dict(facts)), texts)) is not None:
                whole, shown = (
                    None if given is None else msgspec.msgpack.decode(given, type=AnyObservation)
                    for given in done
                )
                assert shown is not None
                return self._without_copy(raw, (whole or shown, shown))
        observation = self.adapter.observe(raw=raw, **facts)
        if denial is not None:
            # The agent wraps the reason in a text of its own, meant for the model.
            observation = msgspec.structs.replace(observation, error=denial)
        return self._without_copy(
            raw, store_large_result(observation, self.workspace, self.workspace.redactor)
        )

    def _without_copy(
        self, raw: RawResult, stored: tuple[AnyObservation, AnyObservation]
    ) -> tuple[AnyObservation, AnyObservation]:
        """Remove the copy of a stored result outside of the session, in which secrets are not masked."""
        if stored[0].stored_at is not None and stored[0].recovered:
            self.adapter.remove_saved(raw)
        return stored

    def end_worker(self) -> None:
        """End the worker process, as when it does not react; what it was given is then stored by this process."""
        if self.worker is not None:
            self.worker.kill()

    def _in_worker(self, task: str, asked: Any, texts: Sequence[str]) -> Any:
        """What a task of the worker process returns; None if it cannot do it."""
        try:
            if self.worker is not None:
                asked = (str(self.adapter.saved_results_root), asked)
                return self.worker.call(task, packed(asked), lambda _name: texts)
        except WorkerFailed as error:
            log.warning("a large tool result is handled in the main process: %s", error)
        return None


def _begun(desk: TaskContext, argument: bytes) -> tuple[ResultAdapter, Any]:
    """The adapter in the worker process, and what a task is asked."""
    root, asked = msgspec.msgpack.decode(argument)
    desk.make_room()
    return ResultAdapter(Path(root)), asked


def write_in_child(desk: TaskContext, argument: bytes) -> bytes:
    """Write a text for the agent in the worker process."""
    adapter, (key, saved, transcript) = _begun(desk, argument)
    texts = desk.texts("raw") if saved is None else []
    path = None if saved is None else Path(saved)
    return msgspec.msgpack.encode(_written(desk.workspace, adapter, key, texts, path, transcript))


def _written(
    workspace: Workspace,
    adapter: ResultAdapter,
    key: str,
    texts: Sequence[str],
    saved: Path | None,
    transcript: str,
) -> ReadableText | None:
    if saved is not None:
        blocks = adapter.read_saved(saved, transcript)
        if blocks is None:
            return None
        texts = texts_in(msgspec.to_builtins(blocks))
    lines = _Counted(line for text in texts for line in _lines(workspace.redactor.redact(text)))
    written = workspace.root.write_chunks(name_of(key), _joined(lines))
    return ReadableText(written.path, lines.characters, lines.count, "\n".join(lines.first)[:_PREVIEW])


def _notice(stored: ReadableText) -> str:
    """What the model reads in place of a large result, in the form that the command line gives it."""
    return (
        f"<persisted-output>\nOutput too large ({size(stored.characters)}, {quantity(stored.lines, 'line')}). "
        f"Full output saved to: {stored.path}\n"
        "The file is in the workspace: read it in parts with Read (offset and limit count lines) or read_local_file "
        "(they count characters), or search it with Grep. JSON is indented and long lines are broken.\n\n"
        f"Preview (the beginning):\n{stored.preview}\n...\n</persisted-output>"
    )


def _new_path(moved: Mapping[str, ReturnedFile | None], found: re.Match[str]) -> str:
    file = moved[found[0]]
    return "(not saved)" if file is None else file.path


def _text(block: Any) -> str | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return None


_MEDIA = "work_products/media"
_OTHERS = "downloads"


def move_to_workspace(workspace: Workspace, path: Path, name: str) -> ReturnedFile:
    """Move a file that the command line wrote to the workspace; `name` is untrusted, and a safe one is made of it.

    Its bytes decide whether it is a media file; secrets in a text are masked. If a file with the same content exists in
    the folder, that is the result.

    Raises:
        WorkspaceError: it cannot be written.
        OSError: it is too large, is not a regular file, or is gone.
    """
    data = read_regular(path, LARGEST_FILE)
    head = data[:HEAD_SIZE]
    content: IO[bytes] = BytesIO(data)
    if media_type(head) is not None:
        folder, suffix = _MEDIA, media_suffix(head)
    else:
        folder, suffix = _OTHERS, ".pdf" if head.startswith(b"%PDF-") else path.suffix.lower()
        content = masked_file(content, workspace.redactor)
    name = _allowed(_stem(workspace, name), suffix, head)
    known = _holder(workspace, folder, content)
    kept = known or workspace.root.write_new(f"{folder}/{name}", content).path
    path.unlink(missing_ok=True)
    return ReturnedFile(kept, is_new=not known)


def _holder(workspace: Workspace, folder: str, content: IO[bytes]) -> str:
    """The path of the file in a folder that has the content already, under any name; "" if none has."""
    data = content.read()
    content.seek(0)
    digest = hashlib.sha256(data).digest()
    for entry in workspace.list(folder) if workspace.exists(folder) else ():
        # It can be gone meanwhile.
        with suppress(WorkspaceError):
            if not entry.is_dir and entry.size == len(data):
                with workspace.root.opened(path := f"{folder}/{entry.name}") as other:
                    if hashlib.file_digest(other, "sha256").digest() == digest:
                        return path
    return ""


def _stem(workspace: Workspace, name: str) -> str:
    """The name without folders and suffix; of an address, its last part without its query."""
    path = name
    if "://" in name:
        with suppress(ValueError):
            parts = urlsplit(name)
            path = parts.path.strip("/") or parts.netloc.rpartition("@")[2]
    stem = PurePosixPath(unquote(path).replace("\\", "/")).stem
    return safe_name(workspace.redactor.redact(stem) or "file", 80)


def _allowed(stem: str, suffix: str, head: bytes) -> str:
    """A name of a kind that no other program obeys; a file of another kind is opaque data."""
    for name in (f"{stem}{suffix}", f"{stem}_data{suffix}"):
        with suppress(PathRefused):
            check_writable(name, head)
            return name
    return f"{stem}.bin"


_STORE_TASK = "ua_tui.core.agent.messages.result_files:store_in_child"


def store_in_child(desk: TaskContext, argument: bytes) -> tuple[bytes | None, bytes]:
    """Store a result in the worker process, and leave its content there for the observers."""
    adapter, (shell, facts) = _begun(desk, argument)
    raw = RawResult(**_with_texts(shell, desk.texts("raw")))
    observation = adapter.observe(raw=raw, **facts)
    whole, shown = store_large_result(observation, desk.workspace, desk.workspace.redactor)
    encode = msgspec.msgpack.encode
    if whole.stored_at is None:
        return encode(whole), encode(shown)
    size = sum(len(block.text) for block in whole.content if isinstance(block, TextContent))
    desk.keep(whole.tool_use_id, whole.content, size)
    return None, encode(shown)


def _without_texts(value: Any, texts: list[str], depth: int = 0) -> Any:
    """The value with each long text moved to `texts`, because encoding it at once would block for long."""
    match value:
        case str() if len(value) >= (16 << 10):
            texts.append(value)
            return msgspec.msgpack.Ext(1, str(len(texts) - 1).encode())
        case dict() if depth < DEEPEST and len(value) < MOST_ENTRIES:
            return {key: _without_texts(item, texts, depth + 1) for key, item in value.items()}
        case list() | tuple() if depth < DEEPEST and len(value) < MOST_ENTRIES:
            return [_without_texts(item, texts, depth + 1) for item in value]
        case _:
            return value


def _with_texts(value: Any, texts: list[str]) -> Any:
    match value:
        case msgspec.msgpack.Ext(code=code, data=data) if code == 1:
            return texts[int(bytes(data))]
        case dict() if texts:
            return {key: _with_texts(item, texts) for key, item in value.items()}
        case list() if texts:
            return [_with_texts(item, texts) for item in value]
        case _:
            return value


def _is_large(raw: RawResult) -> bool:
    """Whether the parts of a result that would be read are large, determined without reading all of them."""
    waiting: list[Any] = [raw.block or raw.hook_copy]
    size = seen = 0
    while waiting:
        part = waiting.pop()
        seen += 1
        match part:
            case str():
                size += len(part)
            case dict():
                waiting += part.values()
            case list() | tuple():
                waiting += part
        if size >= LARGE_TEXT or seen + len(waiting) > MOST_ENTRIES:
            return True
    return False
