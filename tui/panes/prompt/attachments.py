"""Shows the files that the prompt names above it: name, format, size, a thumbnail of a picture; and dropped paths."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from ua_tui.core.agent.attachments.mentions import mentions_in
from ua_tui.core.agent.attachments.places import FOLDER, LARGEST, AttachmentPlaces, missing_names
from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.events.units import size
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.picture import PictureBody, PictureHeader, read_header
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.agent.mcp.references import ServerReferences

ROWS = 4
"""The most files that are listed, and the height of a thumbnail."""
_MOST_COLUMNS = 14
_TEXT_WIDTH = 34
_LOWEST_SCREEN = 30
_HEAD = 64 << 10
_BEGINNING = 400
_PATIENCE = 2.0


@dataclass(frozen=True)
class NamedFile:
    """A file or a resource that a text names: its path as it is written, and what is known of it.

    `header` is that of a picture; `problem` says why it cannot be added, or that it is missing. `copy` is the path of
    the file, or of the copy of a resource. `is_open` says that the name may go on: it is missing or that of a folder.
    """

    path: str
    facts: str = ""
    header: PictureHeader | None = None
    problem: str = ""
    copy: str = ""
    is_resource: bool = False
    is_open: bool = False


async def read_resource(folder: Path, path: str, references: ServerReferences) -> NamedFile:
    """Read a resource for its preview: what it is, how large it is, and how it begins."""
    from ua_tui.core.errors import UniversalAgentError
    from ua_tui.core.storage.files import Root

    reference = references.reference(path)
    assert reference is not None
    try:
        copies = await references.read(*reference)
        head = await asyncio.to_thread(Root(folder).read, copies[0].path, _HEAD)
    except UniversalAgentError as error:
        return NamedFile(path, problem=str(error), is_resource=True)
    first, header = copies[0], read_header(head)
    begins = (
        "" if header is not None else clean_line(head[:_BEGINNING].decode("utf-8", "replace"), _BEGINNING)
    )
    extent = f"{header.width:,} × {header.height:,}" if header is not None else ""
    more = f"{len(copies)} parts" if len(copies) > 1 else ""
    bytes_ = size(sum(each.size for each in copies))
    facts = " · ".join(filter(None, (first.media_type, extent, bytes_, more, begins)))
    return NamedFile(path, facts, header, copy=first.path, is_resource=True)


def find_files(places: AttachmentPlaces, text: str, names: Sequence[str]) -> list[NamedFile]:
    """Those of the names in a text that lead to a file or a folder, or look like files and lead nowhere.

    Call it in a thread.
    """
    missing = missing_names(text, places)
    found = (_missing(name, missing[name]) if name in missing else _find(places, name) for name in names)
    return [each for each in found if each is not None]


def _missing(name: str, meant: str) -> NamedFile:
    if name.startswith(f"{FOLDER}/"):
        return NamedFile(name, problem="not in this session: add it again")
    problem = f"no such file · did you mean {clean_line(meant, 200)}?" if meant else "no such file"
    return NamedFile(name, problem=problem, is_open=True)


def _find(places: AttachmentPlaces, name: str) -> NamedFile | None:
    from ua_tui.core.storage.regular_file import open_regular

    path = places.locate(name)
    if path is None or not os.path.exists(path):
        return None
    if os.path.isdir(path):
        return NamedFile(name, "folder", is_open=True)
    try:
        with os.fdopen(open_regular(path, follow=not path.is_relative_to(places.session)), "rb") as file:
            head, length = file.read(_HEAD), os.fstat(file.fileno()).st_size
    except OSError as error:
        return NamedFile(name, problem=f"not readable: {error.strerror}")
    if length > LARGEST:
        return NamedFile(name, problem=f"larger than {LARGEST >> 20} MB: write its path without the @")
    header = read_header(head)
    kind = path.suffix.removeprefix(".").upper() or "file"
    if header is not None:
        kind = f"{header.kind.partition(' ')[0]} · {header.width:,} × {header.height:,}"
    return NamedFile(name, f"{kind} · {size(length)}", header, copy=str(path))


class AttachmentBar(Widget):
    """A row for each file that the prompt names, beside the thumbnails of pictures if the screen is high enough.

    A click on a row calls `remove` with the path of its file, and `on_known` is called when all files of the text are
    known.

    Attributes:
        found: what is known of the files, also of one whose name is being written.
        is_reading: whether the files of the text are still being looked for.
        files: the files that are shown.
    """

    def __init__(self, remove: Callable[[str], None], on_known: Callable[[], None]) -> None:
        super().__init__()
        self.display = False
        self._remove = remove
        self._on_known = on_known
        self._places: AttachmentPlaces | None = None
        self._paths: tuple[str, ...] = ()
        self._written = ""
        self.is_reading = False
        self.found: Sequence[NamedFile] = ()
        self.files: Sequence[NamedFile] = ()
        self._thumbnails: dict[NamedFile, Sequence[Content]] = {}

    def show_files_of(
        self,
        text: str,
        places: AttachmentPlaces | None,
        references: ServerReferences | None = None,
        written: str = "",
    ) -> None:
        """Show the files and the resources that a text names, as soon as they are read.

        The name that is being `written` is not shown while it may go on.
        """
        named = list(mentions_in(text)) if "@" in text else []
        # A name that is still being typed may already be that of another resource.
        of_servers = [
            each for each in named if references is not None and references.reference(each.path) is not None
        ]
        unfinished = {each for each in of_servers if not text[each.end : each.end + 1].isspace()}
        paths = tuple(dict.fromkeys(each.path for each in named if each not in unfinished))
        before, self._written = self._written, written
        if (paths, places) == (self._paths, self._places):
            if written != before:
                self._show(self.found)
            return
        self._paths, self._places = paths, places
        self.is_reading = bool(paths) and places is not None
        if places is not None and paths:
            resources = [path for path in paths if any(each.path == path for each in of_servers)]
            start_job(self, partial(self._read, text, places, resources, references), "attachments")
        else:
            self.workers.cancel_group(self, "attachments")
            self._show([])

    async def _read(
        self,
        text: str,
        places: AttachmentPlaces,
        resources: Sequence[str],
        references: ServerReferences | None,
    ) -> None:
        paths = self._paths
        files: Sequence[NamedFile] = ()
        # A file system that does not answer must not keep the text from being sent.
        with suppress(OSError, ValueError):
            async with asyncio.timeout(_PATIENCE):
                names = [path for path in paths if path not in resources]
                files = await asyncio.to_thread(find_files, places, text, names)
        found = {each.path: each for each in files}
        found |= {path: self._known(path) for path in resources}
        self._show([found[each] for each in paths if each in found])
        self.is_reading = False
        self._on_known()
        for path in resources:
            assert references is not None
            found[path] = await read_resource(places.session, path, references)
            self._show([found[each] for each in paths if each in found])
        for file in () if self.app.current_theme.ansi else self.files:
            if file.header is not None and file not in self._thumbnails:
                body = PictureBody(file.header, None, places.session / file.copy)
                self._thumbnails[file] = await in_thread(_thumbnail, body)
                self.refresh(layout=True)

    def _known(self, path: str) -> NamedFile:
        """A resource as it is shown while it is read."""
        shown = next((each for each in self.found if each.path == path), None)
        return shown or NamedFile(path, "reading…", is_resource=True)

    def _show(self, found: Sequence[NamedFile]) -> None:
        self.found = found
        files = [each for each in found if not (each.is_open and each.path == self._written)]
        # Only the first ones are listed, and those with a problem must be.
        if len(files) > ROWS:
            files.sort(key=lambda each: not each.problem)
        if files == self.files:
            return
        self.files = files
        self.display = bool(files)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A row for each file, or the height of the thumbnails if the screen has room for them."""
        if viewport.height >= _LOWEST_SCREEN and any(map(self._thumbnails.get, self.files)):
            return ROWS
        return min(ROWS, len(self.files))

    def render(self) -> Content:
        """Draw the rows, each with its part of the thumbnails that have room."""
        size, rows = self.content_size, [Content("")] * ROWS
        for file in self.files if size.height >= ROWS else ():
            wider = list(map(Content.__add__, rows, self._thumbnails.get(file, ())))
            if wider and wider[0].cell_length + _TEXT_WIDTH <= size.width:
                rows = wider
        room = size.width - rows[0].cell_length
        return Content("\n").join(row + self._row(y, room) for y, row in enumerate(rows[: size.height]))

    def _row(self, y: int, width: int) -> Content:
        if y >= len(self.files):
            return Content("")
        file = self.files[y]
        more = len(self.files) - ROWS
        remove = f"  +{more}" if more > 0 and y == ROWS - 1 else "  ✕"
        room = width - 2 - len(remove)
        name = middle_cut(clean_line(file.path.removeprefix("attachments/"), 200), max(8, min(40, room // 2)))
        facts = tail_cut(clean_line(file.problem or file.facts), max(0, room - len(name) - 2))
        style = "$text-warning" if file.problem else "$foreground-muted"
        return Content.assemble(("@ ", "$accent"), f"{name}  ", (facts, style), (remove, "$foreground-muted"))

    def on_click(self, event: events.Click) -> None:
        """Remove the file of the clicked row."""
        event.stop()
        if 0 <= event.y < min(ROWS, len(self.files)):
            self._remove(self.files[event.y].path)


def _thumbnail(body: PictureBody) -> Sequence[Content]:
    """The rows of a picture in half blocks, with a blank cell after each; none if it cannot be drawn."""
    body.fit_to(ROWS + 2, None)
    rows = body.lay_out(_MOST_COLUMNS, MarkdownTheme())
    drawn = [row for row in map(rows.row, range(len(rows))) if isinstance(row, Strip)]
    blank = Content(" ")
    shown = [
        Content.assemble(*((each.text, Style.from_rich_style(each.style)) for each in strip if each.style))
        + blank
        for strip in drawn
    ]
    return [*shown, *[Content(" " * shown[0].cell_length)] * (ROWS - len(shown))] if shown else []


_BEGINNINGS = ("/", "~/", "'/", '"/', "'~/", '"~/', "file://", "'file://", '"file://')


def may_be_dropped(text: str) -> bool:
    """Whether a paste begins as the path of a file; quick."""
    return len(text) <= 8_000 and text.lstrip().startswith(_BEGINNINGS)


def dropped_files(text: str) -> list[Path]:
    """The files and folders whose paths are all of a paste, one per line or separated by spaces; else none.

    A path is absolute, plain, quoted or escaped as in a shell, or a `file:` address. Call it in a thread.
    """
    files: list[Path] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        # Some terminals do not quote a path with spaces.
        whole = _file(line)
        found = [whole] if whole is not None else [_file(each) for each in _words(line)]
        files += [each for each in found if each is not None]
        if not found or None in found or len(files) > 20:
            return []
    return list(dict.fromkeys(files))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _file(text: str) -> Path | None:
    try:
        if text.startswith("file://"):
            address = urlsplit(text)
            if address.netloc not in ("", "localhost"):
                return None
            text = unquote(address.path)
        path = os.path.expanduser(text) if text.startswith("~/") else text
        # The root directory is the beginning of a command.
        is_there = os.path.isfile(path) or (os.path.isdir(path) and path.strip("/"))
        return Path(path) if os.path.isabs(path) and is_there else None
    except (OSError, ValueError):
        return None
