"""The state of the knowledge base: its size, what is in it, and what is missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_database
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key, folder_path, version_of
from ua_tui.core.knowledge.records import KINDS
from ua_tui.core.knowledge.removal.forgotten import ForgottenFile, Tombstones
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import files_set_aside, sidecars
from ua_tui.core.storage.workspace import JOURNAL

_NO_SHARED_MEMORY = (
    "the file system has no shared memory, so programs wait for each other longer: a path on a local disk (setting "
    "knowledge) avoids that"
)


class Lag(msgspec.Struct, frozen=True):
    """A session whose journal has `missing` bytes that are not in the knowledge base."""

    session: str
    missing: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What `ua-tui knowledge` shows; without a file everything is empty.

    Attributes:
        size: bytes, with those of the files beside it that belong to it.
        sessions: how many have documents.
        documents: how many of each kind, in the order of `KINDS`.
        embeddable: how many passages can have a vector; counted only if the search by meaning is on.
        vectors: how many of them have one.
        updated: the time of the last change, in seconds since the epoch.
        journal_mode: `wal`, or `delete` on a file system without shared memory.
        forgotten: how many times something was forgotten.
        places: how far the journal of each session was read.
        lagging: the sessions that are not complete, those that miss most first.
        set_aside: damaged files beside it.
        notes: sentences for a person about what is normal here.
        problems: sentences for a person about what is wrong.
    """

    path: KnowledgePlace
    exists: bool = False
    size: int = 0
    version: int = 0
    sessions: int = 0
    documents: Mapping[str, int] = msgspec.field(default_factory=dict)
    passages: int = 0
    sources: int = 0
    embeddable: int = 0
    vectors: int = 0
    updated: float | None = None
    journal_mode: str = ""
    forgotten: int = 0
    places: Mapping[str, int] = msgspec.field(default_factory=dict)
    lagging: tuple[Lag, ...] = ()
    set_aside: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_status(place: KnowledgePlace, base: Path | None = None, model: str = "") -> Status:
    """Read the state of the knowledge base, and compare it with the journals of the sessions below `base`; blocks.

    With the `model` of the search by meaning its vectors are counted.

    It raises nothing: what cannot be read is among the problems.
    """
    problems: list[str] = []
    found = Status(path=place, exists=version_of(place) is not None)
    if found.exists:
        try:
            found = _counted(place, model)
        except KnowledgeError as error:
            problems.append(str(error))
    if isinstance(place, Address):
        lagging = () if problems else _lagging(found, base, lambda _key: False)
        return msgspec.structs.replace(found, version=LATEST, lagging=lagging, problems=tuple(problems))
    tombstones = _tombstones(place, problems)
    files = [_stat(each) for each in (place, *sidecars(place))]
    return msgspec.structs.replace(
        found,
        size=sum(each.st_size for each in files if each is not None),
        # A program that reads changes the memory that it shares with others.
        updated=max((each.st_mtime for each in files[:2] if each is not None), default=None),
        forgotten=len(tombstones),
        lagging=_lagging(found, base, tombstones.has_session),
        set_aside=tuple(
            each for each in files_set_aside(place) if not each.name.endswith(("-wal", "-journal"))
        ),
        notes=(_NO_SHARED_MEMORY,) if found.journal_mode == "delete" else (),
        problems=tuple(problems),
    )


def _counted(place: KnowledgePlace, model: str) -> Status:
    """What is in the knowledge base."""
    with closing(open_database(place)) as database, database.reading():
        sessions, passages, sources = database.rows("counts_of_all")[0]
        embeddable, vectors = database.rows("vectors", model=model)[0] if model else (0, 0)
        documents = dict(database.rows("kinds"))
        names, (state,) = database.execute(*database.statement("state", (), {}))
        places = {folder: place for folder, _, place in database.rows("cursors")}
    return Status(
        path=place,
        exists=True,
        sessions=sessions,
        documents={
            kind: documents[kind] for kind in dict.fromkeys((*KINDS, *sorted(documents))) if kind in documents
        },
        passages=passages,
        sources=sources,
        embeddable=embeddable,
        vectors=vectors,
        places=places,
        **dict(zip(names, state, strict=True)),
    )


def _tombstones(database: Path, problems: list[str]) -> Tombstones:
    forgotten = ForgottenFile(database)
    try:
        forgotten.refresh()
    except KnowledgeError as error:
        problems.append(str(error))
    if forgotten.tombstones.damaged_lines:
        problems.append(
            f"{forgotten.path} has lines that cannot be read: what they list may come back; restore it from a copy"
        )
    return forgotten.tombstones


def _lagging(found: Status, base: Path | None, is_forgotten: Callable[[str], bool]) -> tuple[Lag, ...]:
    """The sessions below `base`, and those that are known, whose journals are longer than what was read of them."""
    keys = dict.fromkeys(found.places)
    if base is not None:
        with suppress(OSError), os.scandir(base / WORKSPACES) as entries:
            keys |= dict.fromkeys(
                folder_key(found.path, Path(each.path))
                for each in entries
                if each.is_dir(follow_symlinks=False)
            )
    lagging = []
    for key in keys:
        journal = _stat(folder_path(found.path, key) / JOURNAL)
        missing = 0 if journal is None else journal.st_size - found.places.get(key, 0)
        if missing > 0 and not is_forgotten(key):
            lagging.append(Lag(key, missing))
    return tuple(sorted(lagging, key=lambda lag: -lag.missing))


def _stat(path: Path) -> os.stat_result | None:
    """The state of a regular file; None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None
