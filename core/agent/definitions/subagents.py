"""Finds the sub-agents of a session: the current folder's, the user's own, and those that ship with the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from core.agent.definitions.front_matter import read_markdown
from core.agent.definitions.prompts import Source, SubagentDefinition, read_subagent, shipped_subagents
from core.errors import SettingsError
from core.text import clean_line

__all__ = ["MOST_FILES", "Found", "Home", "Unusable", "files_of", "find_subagents", "homes"]

MOST_FILES = 100
"""How many files of a folder are read."""


@dataclass(frozen=True)
class Home:
    """A folder that holds definitions, and whose it is."""

    folder: Path
    source: Source

    @property
    def bound(self) -> Path | None:
        """The folder that no link in it may lead out of; None for the user's own, who may link as they like."""
        return self.folder.parent.parent if self.source == "project" else None


@dataclass(frozen=True)
class Unusable:
    """A file that cannot be used: `problem` names it and says what is wrong and what to do."""

    origin: str
    source: Source
    problem: str


@dataclass(frozen=True)
class Found:
    """The sub-agents by whom a name counts for, those that win first; `replaced` are the files that lost a name."""

    subagents: tuple[SubagentDefinition, ...] = ()
    unusable: tuple[Unusable, ...] = ()
    replaced: dict[str, tuple[SubagentDefinition, ...]] = field(default_factory=dict)


def homes(kind: str, *, cwd: Path, home: Path, config_dir: Path) -> tuple[Home, ...]:
    """Where definitions of a kind (`agents`, `skills`) are looked for, those that win first, each folder once."""
    places = (
        Home(cwd / ".claude" / kind, "project"),
        Home(config_dir / kind, "user"),
        Home(home / ".claude" / kind, "user"),
    )
    kept: dict[Path, Home] = {}
    for place in places[1:]:
        kept.setdefault(_resolved(place.folder), place)
    # Whoever starts in their home has no project there, and no project can make its own of what is the user's.
    there = () if _resolved(places[0].folder) in kept else places[:1]
    return (*there, *kept.values())


def find_subagents(places: Sequence[Home], *, any_model: bool = True) -> Found:
    """Read every definition; one that is wrong is left out and told, and the others count."""
    given: list[SubagentDefinition] = []
    unusable: list[Unusable] = []
    for place in places:
        paths, problem = files_of(place, "*.md")
        for path in paths:
            origin = clean_line(str(path), 500)
            try:
                text = read_markdown(path, inside=place.bound)
                given.append(read_subagent(text, {}, origin=origin, source=place.source, any_model=any_model))
            except SettingsError as error:
                unusable.append(Unusable(origin, place.source, f"{error}. It is left out."))
        if problem:
            unusable.append(Unusable(clean_line(str(place.folder), 500), place.source, problem))
    winners: dict[str, SubagentDefinition] = {}
    replaced: dict[str, tuple[SubagentDefinition, ...]] = {}
    for each in (*given, *shipped_subagents({})):
        winner = winners.setdefault(each.name, each)
        if winner is each:
            continue
        if Path(winner.origin).parent == Path(each.origin).parent and each.source != "shipped":
            beside = Path(winner.origin).name
            told = f"{each.origin}: the name {each.name} is taken by {beside} beside it: give it another one"
            unusable.append(Unusable(each.origin, each.source, f"{told}. It is left out."))
        else:
            replaced[each.name] = (*replaced.get(each.name, ()), each)
    return Found(tuple(winners.values()), tuple(unusable), replaced)


def files_of(place: Home, pattern: str) -> tuple[list[Path], str]:
    """What a folder holds by a pattern, in the order of the names, and what is wrong with it, if anything."""
    shown = clean_line(str(place.folder), 500)
    try:
        found = sorted(
            path
            for path in place.folder.iterdir()
            if fnmatchcase(path.name, pattern) and not path.name.startswith(".")
        )
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        return [], f"{shown} cannot be read: {error.strerror}. Check its permissions."
    if (more := len(found) - MOST_FILES) > 0:
        return found[:MOST_FILES], (
            f"{shown} holds more than {MOST_FILES} of them: {more} are not read. Move away those you do not need."
        )
    return found, ""


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path
