"""The files that a query names, as content blocks for the model: texts, pictures and PDF files.

The agent's command line expands no names: what is sent is read, judged by the permission rules, and recorded here.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from os.path import isdir, isfile, normpath
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.agent.attachments.mentions import mentions_in
from ua_tui.core.agent.attachments.places import FOLDER, LARGEST, AttachmentPlaces, attach
from ua_tui.core.agent.bounds import LONGEST_PROMPT
from ua_tui.core.errors import AgentError, WorkspaceError
from ua_tui.core.events.types import AttachedFile
from ua_tui.core.json_values import JsonMapping
from ua_tui.core.log import log
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.concurrency.conversions import Conversions


_TASK = "ua_tui.core.agent.attachments.media:prepare_media"
_MOST_FILES = 20
# A request of 32 MB is the maximum, and Base64 needs a third more than the data.
_MOST_BYTES = 20 << 20
_BEGINNINGS = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"BM",
    b"II*\0",
    b"MM\0*",
    b"%PDF-",
)


class Attachment(msgspec.Struct, frozen=True):
    """A file that goes to the model: its content block, and what the journal says about it."""

    block: JsonMapping
    file: AttachedFile


def is_media(head: bytes) -> bool:
    """Whether a file with these first bytes goes to the model as it is: a picture or a PDF file."""
    return head.startswith(_BEGINNINGS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


class Attachments:
    """Reads the files that queries name; pictures and PDF files are decoded in a process with limits.

    Args:
        workspace: the session's folder.
        may_read: whether a file that a query names is read; raises an `AgentError` with the reason if it is denied.
        start: the folder in which names are looked for first; None if the queries are of other people.
    """

    def __init__(
        self, workspace: Workspace, may_read: Callable[[Path], Awaitable[bool]], start: Path | None = None
    ) -> None:
        self._workspace = workspace
        self.places = AttachmentPlaces(workspace.path, start)
        self._may_read = may_read
        self._conversions: Conversions | None = None

    async def add(self, file: Path) -> str:
        """Copy a file into the session's folder; returns what names it in a query. A folder is only named.

        Raises:
            AgentError: the permission rules do not allow it.
            WorkspaceError: it cannot be copied.
        """
        await self._is_readable(file, str(file))
        if not await asyncio.to_thread(isdir, file):
            return await asyncio.to_thread(attach, self._workspace, file)
        if (mention := self.places.mention(file, is_folder=True)) is None:
            raise WorkspaceError(f"{clean_line(str(file), 300)} cannot be added: its name cannot be typed")
        return mention

    async def copy_outside(self, text: str, typed: str) -> str:
        """Copy the files outside of the session's folder that a query names; returns the text that names the copies.

        A folder is named by its path, for the agent's tools. Only what the person has `typed` counts: a name in the
        prompt of a command or a server is left as it is.

        Raises:
            UniversalAgentError: one of them may not be read, or cannot be copied.
        """
        wanted = {each.path for each in mentions_in(typed)}
        for mention in reversed(list(mentions_in(text))):
            name = mention.path
            path = await asyncio.to_thread(self.places.locate, name) if name in wanted else None
            inside = self._relative(path) if path is not None else None
            if path is None or (inside is not None and inside == self._inside(name)):
                continue
            # Judged before it is looked at: whoever may not read it does not learn whether it is there.
            if await self._is_readable(path, name):
                named = await asyncio.to_thread(self._name_sent, path, name, inside)
                text = (
                    text[: mention.start] + (named or text[mention.start : mention.end]) + text[mention.end :]
                )
        return text

    def _name_sent(self, path: Path, name: str, inside: str | None) -> str:
        """The name of a file or a folder in the text that is sent; empty to leave it as it is."""
        if isfile(path):
            copy = attach(self._workspace, path)
            return copy if inside is not None else f"{copy} (a copy of {clean_line(name, 300)})"
        if not Path(name).is_absolute() and isdir(path):
            return f"{clean_line(normpath(path), 1_000)}/ (a folder)"
        return ""

    async def of(self, text: str) -> tuple[Attachment, ...]:
        """The files of the session's folder that a query names, each once; other kinds are for the agent's tools.

        Raises:
            AgentError: one of them is missing, damaged, not allowed, or beyond the limits of the model.
        """
        paths = dict.fromkeys(self._inside(each.path) for each in mentions_in(text))
        wanted: list[str] = []
        for path in filter(None, paths):
            full = self._workspace.path / path
            if await asyncio.to_thread(self._is_there, path) and await self._is_readable(full, path):
                wanted.append(path)
        return await asyncio.to_thread(self._read_all, wanted) if wanted else ()

    def close(self) -> None:
        """End the process that decodes files."""
        if self._conversions is not None:
            self._conversions.close()

    async def _is_readable(self, path: Path, name: str) -> bool:
        try:
            # A link must be allowed by its own name and by that of its target.
            for each in dict.fromkeys((path, await asyncio.to_thread(_resolved, path))):
                if not await self._may_read(each):
                    return False
        except AgentError as error:
            shown = clean_line(name, 300)
            raise AgentError(
                f"{shown} is not read: {error}. Remove its name from the query to send the rest"
            ) from error
        return True

    def _relative(self, path: Path) -> str | None:
        """The path below the session's folder; None if the file is elsewhere."""
        root = self._workspace.path
        for folder, file in ((root, normpath(path)), (root.resolve(), _resolved(path))):
            if (below := Path(file)).is_relative_to(folder):
                return below.relative_to(folder).as_posix()
        return None

    def _inside(self, name: str) -> str | None:
        """The path that a name has below the session's folder, whatever else it may lead to."""
        return next(
            (self._relative(each) for each in AttachmentPlaces(self._workspace.path).candidates(name)), None
        )

    def _is_there(self, path: str) -> bool:
        try:
            found = self._workspace.exists(path)
        except WorkspaceError:
            # A name that no file of the session can have.
            return False
        if not found and path.startswith(f"{FOLDER}/"):
            raise AgentError(f"{clean_line(path, 200)} is not in this session's folder: add the file again")
        return found

    def _read_all(self, paths: Sequence[str]) -> tuple[Attachment, ...]:
        found: list[Attachment] = []
        left, text_left = _MOST_BYTES, LONGEST_PROMPT
        for path in paths:
            data = self._read(path)
            if data is None:
                continue
            if is_media(data):
                attachment, size = self._prepare(path, data)
                left -= size
            elif (text := _text_of(data)) is not None:
                attachment, size = self._as_text(
                    path, data, text, max(text_left, LONGEST_PROMPT // _MOST_FILES)
                )
                text_left -= size
            else:
                continue
            if left < 0 or len(found) == _MOST_FILES:
                raise AgentError(
                    f"the query has too many files: at most {_MOST_FILES} files with {_MOST_BYTES >> 20} MB in total "
                    "are sent. Remove some, or send them in several queries"
                )
            found.append(attachment)
        return tuple(found)

    def _read(self, path: str) -> bytes | None:
        """The content of a file; None if it is a folder, a link or a file that is protected."""
        try:
            data = self._workspace.read(path, LARGEST + 1)
        except WorkspaceError as error:
            log.info("%s is not read: %s", clean_line(path, 200), error)
            return None
        if len(data) > LARGEST:
            raise _refused(path, f"it is larger than {LARGEST >> 20} MB")
        return data

    def _as_text(self, path: str, data: bytes, text: str, most: int) -> tuple[Attachment, int]:
        """A text, or the whole lines at its beginning that are at most so many characters."""
        text = self._workspace.redactor.redact(text)
        head = f"The file {path}, which the query names:"
        if len(text) > most:
            sent = text[:most].rpartition("\n")[0] or text[:most]
            lines, all_lines = sent.count("\n") + 1, text.count("\n") + 1
            head = f"The file {path}, which the query names, to line {lines:,} of {all_lines:,} (Read has the rest):"
            text = sent
        import mimetypes

        file = AttachedFile(
            path=path,
            media_type=mimetypes.guess_type(path)[0] or "text/plain",
            size=len(data),
            sha256=sha256(data).hexdigest(),
        )
        return Attachment({"type": "text", "text": f"{head}\n\n{text}"}, file), len(text)

    def _prepare(self, path: str, data: bytes) -> tuple[Attachment, int]:
        from ua_tui.core.concurrency.conversions import ConversionFailed, Conversions, TooComplex

        if self._conversions is None:
            self._conversions = Conversions(processes=1)
        try:
            prepared = self._conversions.run(_TASK, data, seconds=20.0)
        except TooComplex as error:
            raise _refused(path, str(error)) from error
        except ConversionFailed as error:
            log.info("%s cannot be decoded: %s", clean_line(path, 200), error)
            raise _refused(path, "it is damaged, or its format is not supported") from error
        if problem := prepared.get("problem"):
            raise _refused(path, str(problem))
        sent: bytes = prepared["data"]
        media_type = str(prepared["media_type"])
        block = {
            "type": "image" if media_type.startswith("image/") else "document",
            "source": {"type": "base64", "media_type": media_type, "data": b64encode(sent).decode()},
        }
        if block["type"] == "document":
            block["title"] = path.rpartition("/")[2]
        file = AttachedFile(
            path=path,
            media_type=media_type,
            size=len(data),
            sha256=sha256(data).hexdigest(),
            width=int(prepared.get("width", 0)),
            height=int(prepared.get("height", 0)),
            pages=int(prepared.get("pages", 0)),
        )
        return Attachment(block, file), len(sent)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _text_of(data: bytes) -> str | None:
    """The text of a file; None if it is not one."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _refused(path: str, why: str) -> AgentError:
    return AgentError(f"{clean_line(path, 200)} cannot be sent to the model: {why}")
