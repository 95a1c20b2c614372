"""Records the files that tool calls uploaded: which, how large, and where to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.json_values import JsonMapping, JsonObject, values_within
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.text import clean_line, words_of
from ua_tui.observers.base import (
    ObserverContext,
    ObserverSpec,
    Outcome,
    already_saved,
    input_text,
    moment_of,
    texts_of,
    total_of,
)
from ua_tui.observers.decoding.decode import decode_texts
from ua_tui.observers.output.saving import save_once
from ua_tui.observers.search.keys import listed
from ua_tui.observers.search.tool_names import answer_of, is_multi_execute, runs_of

FOLDER = "uploads"
_TOOLKIT = "workbench_upload"
_PATHS = listed("upload_paths")
_OFTEN_PATHS = ("file", "source")
_LIKE_A_PATH = re.compile(r"/|\.\w{1,8}$")
_TARGETS = listed("upload_targets")
_ABOUT_UPLOADS = frozenset(listed("about_uploads"))
_MOST_FILES = 100
_LONGEST = 1_000


class Uploads:
    """Observer of every call that uploads files, also inside a call of several tools."""

    name = "uploads"

    def wants(self, call: ToolCall) -> bool:
        """Calls whose arguments hand over a file."""
        return any(_hands_over(name, arguments) for name, arguments in runs_of(call))

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save one record for each tool that uploaded something."""
        if result.observation.has_error:
            return Outcome(note="the call failed, and nothing is known to have been uploaded")
        values = decode_texts(texts_of(result, context.workspace)).values
        value = next((each for each in values if isinstance(each, dict)), None)
        outcomes = []
        for index, (name, arguments) in enumerate(runs_of(result.call)):
            if _hands_over(name, arguments):
                several = is_multi_execute(result.call.name)
                answer = answer_of(value, index) if several else value
                outcomes.append(_record(result, context, name, index, arguments, answer or {}))
        return total_of(outcomes)


def _hands_over(name: str, arguments: JsonMapping) -> bool:
    if next(_stored_files(arguments), None) is not None:
        return True
    words = words_of(name)
    return "upload" in words and _ABOUT_UPLOADS.isdisjoint(words) and _path_in(arguments) is not None


def _record(
    result: ToolResult,
    context: ObserverContext,
    name: str,
    index: int,
    arguments: JsonMapping,
    answer: JsonMapping,
) -> Outcome:
    files = list(_files(name, arguments, answer, context))[:_MOST_FILES]
    if answer.get("successful") is False or answer.get("error"):
        return Outcome(note="the tool reports a failure, and nothing is known to have been uploaded")
    if not files:
        return Outcome(note="no uploaded file is named")
    server = result.call.name.split("__")[1] if result.call.name.startswith("mcp__") else None
    record: JsonObject = {
        "type": "upload",
        "tool": name,
        "server": server,
        "timestamp": moment_of(result, context).isoformat(timespec="microseconds"),
        "tool_use_id": result.call.tool_use_id,
        "files": files,
    }
    saved, path = save_once(
        result,
        context,
        record,
        files,
        folder=FOLDER,
        stem=context.workspace.redactor.redact(files[0]["name"]) or "upload",
        kind="upload",
        run=index,
    )
    if saved is None:
        return already_saved(path)
    return Outcome((saved,), items=len(files))


def _files(
    name: str, arguments: JsonMapping, answer: JsonMapping, context: ObserverContext
) -> Iterator[JsonObject]:
    if name == _TOOLKIT:
        match answer:
            case {"status": "uploaded", "path": str(path), "remote_path": str(target), "size": int(size)}:
                yield _file(path=path, size=size, sha256=_text(answer.get("sha256")), destination=target)
            case _:
                return
    elif stored := list(_stored_files(arguments)):
        for each in stored:
            yield _file(
                name=_text(each.get("name")),
                mimetype=_text(each.get("mimetype")),
                key=_text(each.get("s3key") or each.get("s3_key")),
                destination=_target(arguments) or name,
            )
    else:
        yield _local(_path_in(arguments) or "", _target(arguments) or name, context)


def _local(path: str, target: str, context: ObserverContext) -> JsonObject:
    """A file that a call names by its path: its size and digest, if it is in the workspace."""
    workspace = context.workspace
    relative = path.removeprefix(f"{workspace.path}/")
    try:
        with workspace.root.opened(relative) as file:
            digest, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    except WorkspaceError:
        return _file(path=path, destination=target)
    return _file(path=relative, size=size, sha256=digest, destination=target)


def _file(
    *,
    destination: str,
    name: str | None = None,
    path: str | None = None,
    size: int | None = None,
    sha256: str | None = None,
    mimetype: str | None = None,
    key: str | None = None,
) -> JsonObject:
    found = name or PurePosixPath(_plain(path or key or "")).name
    return {
        "name": clean_line(found, 200) or "file",
        "path": None if path is None else _plain(path),
        "size": size,
        "sha256": sha256,
        "mimetype": mimetype,
        "key": None if key is None else _plain(key),
        "destination": _plain(destination),
    }


def _plain(text: str) -> str:
    """A path, key or address without its query, which may give access to whoever has it."""
    if "://" in text:
        try:
            parts = urlsplit(text)
        except ValueError:
            return "an address that cannot be read"
        text = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return clean_line(text, _LONGEST)


def _path_in(arguments: JsonMapping) -> str | None:
    """The argument that is a path; a content is longer, or has several lines."""
    path = input_text(arguments, *_PATHS)
    if path is None:
        values = [input_text(arguments, name) or "" for name in _OFTEN_PATHS]
        path = next((value for value in values if _LIKE_A_PATH.search(value)), None)
    return path if path is not None and len(path) <= _LONGEST and "\n" not in path else None


def _target(arguments: JsonMapping) -> str | None:
    return input_text(arguments, *_TARGETS)


def _stored_files(arguments: JsonMapping) -> Iterator[JsonMapping]:
    """The files among the arguments that were stored for the tool before, as Composio's tools take them."""
    for each in values_within(arguments):
        match each:
            case {"s3key": str(key)} | {"s3_key": str(key)} if key:
                yield each


def _text(value: object) -> str | None:
    return clean_line(value, _LONGEST) if isinstance(value, str) and value else None


OBSERVER = ObserverSpec(lambda _rules: Uploads(), order=65)
