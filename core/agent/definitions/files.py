"""Finds and reads the Markdown files of a session: sub-agents, skills and custom commands.

They lie in folders of the project, of the user and of the program. A file is of limited size and a regular one, begins
with YAML front matter, and of a project is used only if the user has trusted it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import JsonObject
from ua_tui.core.storage.regular_file import NotRegular, read_regular
from ua_tui.core.text import clean_line
from ua_tui.core.trust import FolderTrust, files_below

Source = Literal["project", "user", "shipped"]
"""The origin of a definition: the current folder, the user's own folder, or the program."""

MAX_FILES = 100
"""The maximum number of files that are read from a folder."""

LARGEST = 128 << 10
"""The maximum size of such a file, in bytes."""


def read_markdown(
    path: Path, *, inside: Path | None = None, check: Callable[[Path, bytes], None] | None = None
) -> str:
    """Read a file.

    With `inside`, a link that leads out of that folder is refused. `check` is called with what was read, and may refuse
    it by raising SettingsError.

    Raises:
        SettingsError: it is not a regular file, is too large, is not text, or cannot be read; the message names it.
    """
    origin = clean_line(str(path), 500)
    try:
        if inside is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(inside)):
            raise SettingsError(f"{origin} is a link that leads out of its folder: put the file itself there")
        data = read_regular(path, LARGEST, follow=True)
    except NotRegular as error:
        raise SettingsError(f"{origin} is not a regular file: replace it with one") from error
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise SettingsError(f"{origin} is larger than {LARGEST >> 10} KiB: shorten it") from error
        raise SettingsError(f"{origin} cannot be read: {error.strerror}. Check its permissions") from error
    if check is not None:
        check(path, data)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{origin} is not UTF-8 text: save it as UTF-8") from error


def split_front_matter(text: str, *, origin: str, what: str) -> tuple[JsonObject, str]:
    """Split a file into the fields of its front matter and its body; `what` is what the file should hold.

    Raises:
        SettingsError: there is no front matter, or it is not a mapping in YAML; the message names `origin`.
    """
    head, separator, body = (text + "\n").removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not separator:
        raise SettingsError(
            f"{origin} is not {what}: it must start with front matter between two lines of ---"
        )
    # YAML includes JSON, which needs no slow import: the shipped files, read at each start, have it.
    try:
        fields = msgspec.json.decode(head)
    except (msgspec.DecodeError, RecursionError):
        fields = _yaml(head, origin)
    if not isinstance(fields, dict):
        raise SettingsError(f"the front matter of {origin} has no fields: add name and description")
    return fields, body


def _yaml(head: str, origin: str) -> Any:
    import yaml

    # The loader in C takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # A few lines of nested aliases expand to more than the memory holds.
        if "*" in head and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(head, loader)):
            raise SettingsError(
                f"the front matter of {origin} has a * before a name, which is an alias in YAML: "
                "put quotes around it"
            )
        return loader(head).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        # The first line of the file is the one before the front matter.
        where = f" in line {mark.line + 2}" if mark is not None else ""
        why = clean_line(getattr(error, "problem", None) or str(error), 200)
        raise SettingsError(
            f"the front matter of {origin} is not valid YAML{where} ({why}): put quotes around text with a colon"
        ) from error


def converted(value: Any, shape: Any, where: str) -> Any:
    """Return what was read from a file in the shape that it should have.

    Raises:
        SettingsError: it has another one; the message begins with `where`.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where}: {clean_line(str(error), 300)}") from error


class NotTrusted(SettingsError):
    """The user has not trusted the content of a project's file."""


class DefinitionFolder(msgspec.Struct, frozen=True):
    """A folder with definitions, and its source; of a project's only files that `trust` allows are used."""

    folder: Path
    source: Source
    trust: FolderTrust = msgspec.field(default_factory=FolderTrust)

    @property
    def bound(self) -> Path | None:
        """The folder that no link may lead out of; None for the user's own folders, where any link is allowed."""
        return self.folder.parent.parent if self.source == "project" else None

    def check(self, path: Path, data: bytes) -> None:
        """Refuse the content of a project's file that the user has not trusted.

        Raises:
            NotTrusted: it may not be used.
        """
        if self.bound is None or self.trust.allows(path.relative_to(self.bound).as_posix(), data):
            return
        changed = "it has changed since this folder was trusted"
        raise NotTrusted(
            f"{self.trust.why_not if not self.trust.is_trusted else changed}: run `ua-tui trust`"
        )


class UnusableFile(msgspec.Struct, frozen=True):
    """A file that cannot be used: `problem` names it and says what is wrong and what to do.

    With `untrusted` nothing is wrong with it: its folder is not trusted.
    """

    origin: str
    source: Source
    problem: str
    untrusted: bool = False


class Definition(msgspec.Struct, frozen=True):
    """What a file defines: its name, when it is useful, where it comes from, and the file as it is shown."""

    name: str
    description: str
    source: Source
    origin: str


D = TypeVar("D", bound=Definition)


@dataclass(frozen=True)
class FoundDefinitions(Generic[D]):
    """The definitions of a kind, one for each name; `replaced` are those whose name another one has."""

    definitions: tuple[D, ...] = ()
    unusable: tuple[UnusableFile, ...] = ()
    replaced: tuple[D, ...] = ()


def definition_folders(
    kind: str, *, cwd: Path, home: Path, config_dir: Path, trust: FolderTrust
) -> tuple[DefinitionFolder, ...]:
    """The folders for definitions of a kind (`agents`, `skills`), in the order of precedence, each once.

    `trust` is what of `cwd` may be used.
    """
    places = (
        DefinitionFolder(cwd / ".claude" / kind, "project", trust),
        DefinitionFolder(config_dir / kind, "user"),
        DefinitionFolder(home / ".claude" / kind, "user"),
    )
    kept: dict[str, DefinitionFolder] = {}
    for place in places[1:]:
        kept.setdefault(os.path.realpath(place.folder), place)
    # The home folder is no project: a project cannot have the user's own definitions.
    there = () if os.path.realpath(places[0].folder) in kept else places[:1]
    return (*there, *kept.values())


def find_definitions(
    places: Iterable[DefinitionFolder],
    pattern: str,
    read: Callable[[str, Path, DefinitionFolder, str], D],
    *,
    file: str = "",
    deep: bool = False,
    shipped: Iterable[D] = (),
) -> FoundDefinitions[D]:
    """Read each file whose name matches `pattern`, or the `file` in each such folder; the first of a name counts.

    With `deep`, files in folders below count, too. `read` gets the text, the path, its folder, and the path as it is
    shown; it raises SettingsError. What is invalid is skipped and reported. The `shipped` ones come last.
    """
    winners: dict[str, D] = {}
    replaced: list[D] = []
    unusable: list[UnusableFile] = []
    for place in places:
        paths, problem = _files_of(place, pattern, deep=deep)
        for path in (path / file for path in paths if not file or path.is_dir()):
            origin = clean_line(str(path), 500)
            try:
                each = read(read_markdown(path, inside=place.bound, check=place.check), path, place, origin)
            except NotTrusted as error:
                unusable.append(UnusableFile(origin, place.source, str(error), untrusted=True))
            except SettingsError as error:
                unusable.append(UnusableFile(origin, place.source, f"{error}. It is left out."))
            else:
                if winners.setdefault(each.name, each) is not each:
                    replaced.append(each)
        if problem:
            unusable.append(UnusableFile(clean_line(str(place.folder), 500), place.source, problem))
    replaced += [each for each in shipped if winners.setdefault(each.name, each) is not each]
    return FoundDefinitions(tuple(winners.values()), tuple(unusable), tuple(replaced))


def _files_of(place: DefinitionFolder, pattern: str, *, deep: bool) -> tuple[list[Path], str]:
    """The paths in a folder that match a pattern, sorted by name, and the problem with the folder, if any."""
    shown = clean_line(str(place.folder), 500)
    try:
        found = sorted(
            path
            for path in (files_below(place.folder) if deep else place.folder.iterdir())
            if fnmatchcase(path.name, pattern) and not path.name.startswith(".")
        )
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        return [], f"{shown} cannot be read: {error.strerror}. Check its permissions."
    if (more := len(found) - MAX_FILES) > 0:
        return found[:MAX_FILES], (
            f"{shown} holds more than {MAX_FILES} files: {more} are not read. Remove those that you do not need."
        )
    return found, ""
