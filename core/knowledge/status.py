"""The state of the knowledge base: its size, what is in it, and what is missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import check_packages
from ua_tui.core.knowledge.folders import folder_key, folder_path
from ua_tui.core.knowledge.index import sqlite_tables
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.knowledge.records import KINDS
from ua_tui.core.knowledge.removal.forgotten import ForgottenFile, Tombstones
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import files_set_aside, identity, sidecars
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
    if isinstance(place, Address):
        return _of_team(place, base, model)
    problems: list[str] = []
    found = Status(path=place, exists=identity(place) is not None)
    if found.exists:
        try:
            found = _of_file(place, model)
        except KnowledgeError as error:
            problems.append(str(error))
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


def _of_team(address: Address, base: Path | None, model: str) -> Status:
    try:
        check_packages()
        from ua_tui.core.knowledge.postgres import tables
        from ua_tui.core.knowledge.postgres.connection import Link

        with closing(Link(address)) as link:
            found = _counted(
                address, model, lambda name, **values: link.read(partial(tables.run, name=name, **values))
            )
            size, updated, forgotten = link.read(partial(tables.run, name="size"))[0]
    except KnowledgeError as error:
        return Status(path=address, exists=True, problems=(str(error),))
    return msgspec.structs.replace(
        found,
        version=LATEST,
        size=size,
        updated=updated,
        forgotten=forgotten,
        lagging=_lagging(found, base, lambda _key: False),
    )


def _of_file(database: Path, model: str) -> Status:
    with closing(open_reader(database)) as db, reporting(database, "read"):
        return msgspec.structs.replace(
            _counted(database, model, partial(sqlite_tables.run, db)),
            version=db.execute("PRAGMA user_version").fetchone()[0],
            journal_mode=db.execute("PRAGMA journal_mode").fetchone()[0],
        )


def _counted(place: KnowledgePlace, model: str, run: Callable[..., list[tuple[Any, ...]]]) -> Status:
    """What both databases count."""
    sessions, passages, sources = run("counts")[0]
    embeddable, vectors = run("vectors", model=model)[0] if model else (0, 0)
    documents = dict(run("kinds"))
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
        places={folder: place for folder, _, place in run("cursors")},
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
