"""What an observer is, what it is given and what it gives back."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

import msgspec

from core.errors import ObserverError
from core.files import Written
from core.names import artifact_name
from core.observation import ImageContent, TextContent, ToolCall, ToolResult
from core.text import clean_line, escape_unsafe
from core.workspace import Workspace
from observers.decode import MAX_TEXT
from observers.ledger import Ledger

__all__ = [
    "Interest",
    "Observer",
    "ObserverContext",
    "Outcome",
    "Saved",
    "encoded",
    "input_text",
    "is_preview",
    "local_now",
    "moment_of",
    "save_json_once",
    "save_once",
    "texts_of",
    "unique_id",
    "write_json",
    "write_laid_out",
]

# `core.spill` shows 16,384 characters of a result; a mask can be a little longer than what it hides.
_LONGEST_PREVIEWS = 32 << 10
_LEFT_OUT = re.compile(r"\[… \d+ characters left out …\]")


@dataclass(frozen=True, slots=True)
class Saved:
    """A file an observer saved.

    `path` is relative to the workspace, `size` in bytes, `sha256` in hexadecimal; `copied_to` is the absolute
    path of a copy outside the session.
    """

    path: str
    kind: str
    size: int
    sha256: str
    copied_to: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of observing one result; `note` says why nothing was saved, or what is odd about what was."""

    artifacts: tuple[Saved, ...] = ()
    items: int = 0
    rejected: int = 0
    duplicates: int = 0
    note: str | None = None


def local_now() -> datetime:
    """The present moment in the machine's time zone."""
    return datetime.now().astimezone()


@dataclass
class ObserverContext:
    """What observers share: the session's folder, its clock (local, aware) and its memory."""

    workspace: Workspace
    now: Callable[[], datetime] = local_now
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.workspace)


class Interest(Enum):
    """What an observer makes of a tool call before it has seen its result; only `NONE` is false.

    `CURIOUS` is for a call whose name promises nothing but whose result may be worth keeping all the same. Such
    a run is told of when it is over, and not at all when it came to nothing.
    """

    NONE = "none"
    CURIOUS = "curious"
    SURE = "sure"

    def __bool__(self) -> bool:
        return self is not Interest.NONE


class Observer(Protocol):
    """Looks at finished tool calls and keeps what is worth keeping."""

    @property
    def name(self) -> str:
        """The observer's name in the feed, unique among the observers."""
        ...

    def wants(self, call: ToolCall) -> bool | Interest:
        """Tell cheaply whether the result of `call` is worth looking at; runs on the event loop.

        True is the same as `Interest.SURE`, False as `Interest.NONE`.
        """
        ...

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Look at a result and save what it holds; runs in a worker thread and may raise."""
        ...


def texts_of(result: ToolResult, workspace: Workspace) -> list[str]:
    """The text blocks of a result, from the workspace file that holds it when the event has only a preview.

    A result just in has its content at hand although it is stored as well; one from the journal has previews.
    The stored file has had its secrets masked, so that blocks that are whole are preferred to it.

    Raises:
        ObserverError: the file is not a list of content blocks.
        WorkspaceError: the file cannot be read.
    """
    observation = result.observation
    if not is_preview(result):
        return [block.text for block in observation.content if isinstance(block, TextContent)]
    assert observation.stored_at is not None
    data = workspace.read_artifact(observation.stored_at, MAX_TEXT * 4 + 1)
    try:
        blocks = msgspec.json.decode(data, type=list[TextContent | ImageContent])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ObserverError(
            f"the stored result '{clean_line(observation.stored_at)}' is damaged or too large and cannot be read "
            f"back ({clean_line(str(error))}); put back the file as it was"
        ) from error
    return [block.text for block in blocks if isinstance(block, TextContent)]


def is_preview(result: ToolResult) -> bool:
    """Whether a result only shows pieces of what a file of the workspace holds whole."""
    observation = result.observation
    if observation.stored_at is None:
        return False
    texts = [block.text for block in observation.content if isinstance(block, TextContent)]
    if not texts:
        return True
    return sum(map(len, texts)) <= _LONGEST_PREVIEWS and any(_LEFT_OUT.search(text) for text in texts)


def moment_of(result: ToolResult, context: ObserverContext) -> datetime:
    """When the tool gave its result, in the session's time zone; dates like "2 hours ago" count from here."""
    now = context.now()
    ended = result.observation.ended_at
    return ended.astimezone(now.tzinfo) if ended is not None and ended.tzinfo is not None else now


def input_text(arguments: Mapping[str, Any], *keys: str) -> str | None:
    """The first of the named arguments that is text and not empty."""
    return next((value for key in keys if isinstance(value := arguments.get(key), str) and value), None)


def unique_id(context: ObserverContext, tool_use_id: str, *content: Any, clean: bool = False) -> str:
    """A name part of 13 characters made from what is saved (45 bits) and the call it came from (20 bits).

    Secrets are masked first, so that a result read back from the journal gets the name it had; `clean` says that
    there are none.
    """
    text = encoded(content)
    if text is None:
        text, clean = repr(content), False
    return _digest(text if clean else context.workspace.redactor.redact(text))[:9] + _digest(tool_use_id)[:4]


def encoded(value: Any) -> str | None:
    """A value as compact JSON, or None when it has no such form."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return None


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()
    return base64.b32encode(digest[:10]).decode().lower()


def save_json_once(
    context: ObserverContext,
    build: Callable[[], Mapping[str, Any]],
    *,
    folder: str,
    stem: str,
    unique: str,
    kind: str,
    moment: datetime,
    by_content: bool = True,
    exact: Sequence[str] = (),
) -> tuple[Saved | None, str]:
    """Save what `build` makes as JSON under a name of its own, unless the session has it already.

    `exact` lists texts that stay as they are although they look as if they held a secret. Returns what was
    saved, or None, and the path of the artifact in either case.
    """
    workspace = context.workspace
    return save_once(
        context,
        lambda path: write_json(workspace, path, build(), exact),
        folder=folder,
        name=artifact_name(stem, ".json", moment, unique),
        unique=unique,
        kind=kind,
        by_content=by_content,
    )


def save_once(
    context: ObserverContext,
    write: Callable[[str], Written],
    *,
    folder: str,
    name: str,
    unique: str,
    kind: str,
    by_content: bool = True,
) -> tuple[Saved | None, str]:
    """Have an artifact written under a path of its own, unless the session has it already.

    Returns what was saved, or None, and the path of the artifact in either case.
    """
    with context.ledger.saving():
        existing = context.ledger.claim(folder, unique, name, by_content=by_content)
        if existing is not None:
            return None, existing
        try:
            written = write(f"{folder}/{name}")
        except BaseException:
            context.ledger.release(folder, unique)
            raise
        context.ledger.settle(folder, unique, written.path)
    return Saved(written.path, kind, written.size, written.sha256), written.path


def write_json(
    workspace: Workspace, path: str, value: Mapping[str, Any], exact: Sequence[str] = ()
) -> Written:
    """Write JSON as the workspace does, except that the texts of `exact` are not masked."""
    redactor = workspace.redactor
    text = encoded(value)
    if text is None:
        return workspace.write_json_artifact(path, value)
    marks = {
        f'"exact_{number}_{_digest(text)[:12]}"': json.dumps(part, ensure_ascii=False)
        for number, part in enumerate(exact)
    }
    for mark, part in marks.items():
        text = text.replace(part, mark)
    text = redactor.redact_json(text)
    for mark, part in marks.items():
        text = text.replace(mark, part)
    return write_laid_out(workspace, path, text)


def write_laid_out(workspace: Workspace, path: str, text: str) -> Written:
    """Write JSON that holds no secrets, laid out for people to read."""
    laid_out = escape_unsafe(msgspec.json.format(text, indent=2))
    return workspace.write_artifact(path, f"{laid_out}\n", redacted=True, durable=False)
