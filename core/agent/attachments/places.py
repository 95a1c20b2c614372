"""Where a name after an `@` leads, which names look like files but lead nowhere, and copies of files from elsewhere.

The agent reads by this what a query names, and the prompt offers, shows and marks by it what will be read. A file that
a person adds is copied into the session's folder, where the agent may read it.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from errno import EFBIG
from io import BytesIO
from itertools import islice
from pathlib import Path

import msgspec

from ua_tui.core.agent.attachments.mentions import mention_of, mentions_in
from ua_tui.core.agent.bounds import MOST_ENTRIES
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.masking import masked_file
from ua_tui.core.storage.files import Written
from ua_tui.core.storage.kinds import has_known_ending
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.storage.regular_file import NotRegular, read_regular
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line

FOLDER = "attachments"
LARGEST = 32 << 20
"""The maximum size of an added file, in bytes."""


def attach(workspace: Workspace, file: Path) -> str:
    """Copy a file into the session's folder; returns what names it in a query. Call it in a thread.

    Secrets in a text are masked. A file that is in the folder already is named where it is, and one with the same
    content is not copied twice.

    Raises:
        WorkspaceError: it is not a regular file, is too large, or cannot be read or written.
    """
    inside = _path_inside(workspace, file)
    if inside is None:
        inside = attach_data(workspace, file.name, _content_of(file)).path
    mention = mention_of(inside)
    if mention is None:
        raise WorkspaceError(f"{_shown(file)} cannot be added: its name cannot be typed. Rename it first")
    return mention


def _path_inside(workspace: Workspace, file: Path) -> str | None:
    try:
        inside = file.resolve().relative_to(workspace.path.resolve()).as_posix()
        return inside if workspace.exists(inside) else None
    except (ValueError, OSError, RuntimeError, WorkspaceError):
        return None


def check_file(file: Path) -> None:
    """Check that a file can be added, or that it is a folder, which is only named.

    Raises:
        WorkspaceError: it is not a regular file, is too large, or cannot be read.
    """
    if not os.path.isdir(file):
        _content_of(file)


def _content_of(file: Path) -> bytes:
    try:
        return read_regular(file, LARGEST, follow=True)
    except NotRegular as error:
        why = error.strerror
    except OSError as error:
        why = f"{error.strerror}. Check its path and permissions"
        if error.errno == EFBIG:
            why = (
                f"it is larger than {LARGEST >> 20} MB. "
                "Write its path without an @, and the agent reads it with its tools"
            )
    raise WorkspaceError(f"{_shown(file)} cannot be added: {why}")


def attach_data(workspace: Workspace, name: str, data: bytes) -> Written:
    """Write a file of this content; one that is there already with the same content is used.

    Secrets in a text are masked.

    Raises:
        WorkspaceError: it cannot be written.
    """
    content = masked_file(BytesIO(data), workspace.redactor)
    return workspace.root.write_new(f"{FOLDER}/{safe_name(name)}", content, once=True)


def _shown(file: Path) -> str:
    return clean_line(str(file), 300)


# A number in brackets is that of a copy: `report(1).csv`.
_CODE = re.compile(r"\((?!\d+\))|['\[\]{}<>=]")


class AttachmentPlaces(msgspec.Struct, frozen=True):
    """The folders in which names are looked for.

    Attributes:
        session: the session's folder.
        start: the folder that the program was started in, which comes first; None if the queries are of other people,
            whose names lead to no other files of this machine.
    """

    session: Path
    start: Path | None = None

    def candidates(self, name: str) -> tuple[Path, ...]:
        """Where a name may lead, the first choice first."""
        try:
            path = Path(name).expanduser()
        except RuntimeError:
            return ()
        if path.is_absolute() or self.start is None:
            return (self.session / path,)
        both = (self.start / path, self.session / path)
        # What was added to the session is there, whatever else has its name; `./` names the other one.
        return both[::-1] if name.startswith(f"{FOLDER}/") else both

    def locate(self, name: str) -> Path | None:
        """The path that a name leads to, whether or not anything is there; None if it is no path.

        Nothing is looked at if there is only one candidate.
        """
        found = self.candidates(name)
        if len(found) < 2:
            return next(iter(found), None)
        return next((each for each in found if os.path.exists(each)), self.session / name)

    def mention(self, path: Path, *, is_folder: bool = False) -> str | None:
        """What names a path in a query, as short as it can be; None if it cannot be in a text."""
        path = Path(os.path.abspath(path))
        names = [str(path)]
        for root in (self.session, self.start):
            if root is not None and path.is_relative_to(root):
                below = str(path.relative_to(root))
                names = [below, f"./{below}", *names]
        name = min((each for each in names if self.locate(each) == path), key=len)
        return mention_of(f"{name}/" if is_folder else name)


def missing_names(text: str, places: AttachmentPlaces) -> dict[str, str]:
    """The names in a text that look like files and lead nowhere, each with the name that may be meant, or none.

    Other words after an `@` (people, decorators, packages, names of servers) are not among them. Call it in a thread.
    """
    found: dict[str, str] = {}
    for mention in mentions_in(text):
        name, is_quoted = mention.path, text[mention.start + 1] == '"'
        paths = places.candidates(name)
        is_code = text.count("```", 0, mention.start) % 2 == 1
        if name in found or is_code or any(os.path.lexists(each) for each in paths):
            continue
        meant = "" if _names_server(name) else _nearest(name, paths)
        if meant or is_quoted or _looks_like_file(name, paths):
            found[name] = meant
    return found


def _names_server(name: str) -> bool:
    scheme, colon, _ = name.partition(":")
    return bool(colon) and "." not in scheme and "/" not in scheme


def _looks_like_file(name: str, paths: tuple[Path, ...]) -> bool:
    if _names_server(name) or _CODE.search(name):
        return False
    if name.startswith(("./", "../", "~/")) or name.endswith("/") or has_known_ending(name.partition(":")[0]):
        return True
    return "/" in name and any(os.path.isdir(path.parent) and path.parent != Path("/") for path in paths)


def _nearest(name: str, paths: tuple[Path, ...]) -> str:
    """The name of a file beside it that begins with the name, or is much like it; empty if there is none."""
    folder, slash, typed = name.rpartition("/")
    for path in paths:
        try:
            with os.scandir(path.parent) as entries:
                names = [entry.name for entry in islice(entries, MOST_ENTRIES)]
        except (OSError, ValueError):
            continue
        begun = sorted(each for each in names if _begins(each.casefold(), typed.casefold()))
        # A plain word is rather a person.
        alike = get_close_matches(typed, names, 1, 0.8) if "." in typed or slash else []
        for each in (*begun, *alike):
            return f"{folder}{slash}{each}"
    return ""


def _begins(name: str, typed: str) -> bool:
    return bool(typed) and name.startswith(typed) and name[len(typed) :][:1] in {".", " ", "_", "-", "("}
