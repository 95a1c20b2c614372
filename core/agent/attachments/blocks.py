"""The files that a query names, as content blocks for the model: pictures and PDF files of the session's folder."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from core.agent.attachments.copying import FOLDER, LARGEST
from core.agent.attachments.mentions import mentions_in
from core.errors import AgentError, WorkspaceError
from core.events.types import AttachedFile
from core.storage.workspace import Workspace
from core.text import clean_line

if TYPE_CHECKING:
    from core.concurrency.conversions import Conversions

__all__ = ["Attachment", "Attachments", "is_media", "text_beside"]

log = logging.getLogger(__name__)

_TASK = "core.agent.attachments.media:prepare_media"
_SECONDS = 20.0
_MOST_FILES = 20
# A request of 32 MB is the maximum, and Base64 needs a third more than the data.
_MOST_BYTES = 20 << 20
_HEAD = 16
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


@dataclass(frozen=True)
class Attachment:
    """A file that goes to the model: its content block, and what the journal says about it."""

    block: Mapping[str, Any]
    file: AttachedFile


def is_media(head: bytes) -> bool:
    """Whether a file with these first bytes goes to the model as it is: a picture or a PDF file."""
    return head.startswith(_BEGINNINGS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def text_beside(text: str, files: Sequence[Attachment]) -> str:
    """The text of a message with these files, which it names without an `@`.

    The command line would read a file that is named with an `@` and send it a second time.
    """
    sent = {each.file.path for each in files}
    for mention in reversed(list(mentions_in(text))):
        if mention.path in sent:
            text = text[: mention.start] + text[mention.start + 1 :]
    return text


class Attachments:
    """Reads the files that queries name; they are decoded in a process with a time and a memory limit."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._conversions: Conversions | None = None

    async def of(self, text: str) -> tuple[Attachment, ...]:
        """The pictures and PDF files that a query names, each once; the agent reads other files itself.

        Raises:
            AgentError: one of them is missing, damaged or beyond the limits of the model.
        """
        paths = list(dict.fromkeys(each.path for each in mentions_in(text)))
        return await asyncio.to_thread(self._read_all, paths) if paths else ()

    def close(self) -> None:
        """End the process that decodes files."""
        if self._conversions is not None:
            self._conversions.close()

    def _read_all(self, paths: Sequence[str]) -> tuple[Attachment, ...]:
        found: list[Attachment] = []
        left = _MOST_BYTES
        for path in paths:
            data = self._read(path)
            if data is None:
                continue
            attachment, size = self._prepare(path, data)
            left -= size
            if left < 0 or len(found) == _MOST_FILES:
                raise AgentError(
                    f"the query has too many files: at most {_MOST_FILES} with {_MOST_BYTES >> 20} MB are sent. "
                    "Remove some, or send them one after the other"
                )
            found.append(attachment)
        return tuple(found)

    def _read(self, path: str) -> bytes | None:
        """The content of a picture or a PDF file; None if it is something else, or there is no such file."""
        try:
            if not is_media(self._workspace.read(path, _HEAD)):
                return None
            data = self._workspace.read(path, LARGEST + 1)
        except WorkspaceError as error:
            if path.startswith(f"{FOLDER}/"):
                raise AgentError(
                    f"{clean_line(path, 200)} is not in this session's folder: add the file again"
                ) from error
            return None
        if len(data) > LARGEST:
            raise _refused(path, f"it is larger than {LARGEST >> 20} MB")
        return data

    def _prepare(self, path: str, data: bytes) -> tuple[Attachment, int]:
        from core.concurrency.conversions import ConversionFailed, Conversions, TooComplex

        if self._conversions is None:
            self._conversions = Conversions(processes=1)
        try:
            prepared = self._conversions.run(_TASK, data, seconds=_SECONDS)
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


def _refused(path: str, why: str) -> AgentError:
    return AgentError(f"{clean_line(path, 200)} cannot be sent to the model: {why}")
