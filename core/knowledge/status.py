"""The state of the knowledge base: its size, what is in it, and what is missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import check_packages
from ua_tui.core.knowledge.folders import folder_key, folder_path
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.index.database_file import damaged_files
from ua_tui.core.knowledge.index.vectors import HAS_WORDS
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.knowledge.records import KINDS, KnowledgeContent
from ua_tui.core.knowledge.removal.forgotten import ForgottenList
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import identity, sidecars
from ua_tui.core.storage.workspace import JOURNAL

_PASSAGES = "FROM chunk JOIN document ON document.id = chunk.document"


@dataclass(frozen=True, slots=True)
class Lag:
    """A session whose journal has `missing` bytes that are not in the knowledge base."""

    session: str
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
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
    documents: Mapping[str, int] = field(default_factory=dict)
    passages: int = 0
    sources: int = 0
    embeddable: int = 0
    vectors: int = 0
    updated: float | None = None
    journal_mode: str = ""
    forgotten: int = 0
    lagging: tuple[Lag, ...] = ()
    set_aside: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_status(place: KnowledgePlace, base: Path | None = None, model: str = "") -> Status:
    """Read the state of the knowledge base, and compare it with the journals of the sessions below `base`; blocks.

    With the `model` of the search by meaning its vectors are counted.

    It raises nothing: what cannot be read is among the problems.
    """
    return _of_team(place, base, model) if isinstance(place, Address) else _of_file(place, base, model)


def _of_team(address: Address, base: Path | None, model: str) -> Status:
    try:
        check_packages()
        from ua_tui.core.knowledge.postgres.status import read_content

        content = read_content(address, model)
    except KnowledgeError as error:
        return Status(path=address, exists=True, problems=(str(error),))
    lagging = _lagging(address, base, content.places, lambda _key: False)
    return Status(
        path=address,
        exists=True,
        size=content.size,
        version=content.version,
        sessions=content.sessions,
        documents=_in_order(content.documents),
        passages=content.passages,
        sources=content.sources,
        embeddable=content.embeddable,
        vectors=content.vectors,
        updated=content.updated,
        forgotten=content.forgotten,
        lagging=tuple(sorted(lagging, key=lambda lag: -lag.missing)),
    )


def _of_file(database: Path, base: Path | None, model: str) -> Status:
    problems: list[str] = []
    content = KnowledgeContent()
    exists = identity(database) is not None
    if exists:
        try:
            content = _read(database, model)
        except KnowledgeError as error:
            problems.append(str(error))
    forgotten = ForgottenList(database)
    try:
        forgotten.refresh()
    except KnowledgeError as error:
        problems.append(str(error))
    if forgotten.damaged_lines:
        problems.append(
            f"{forgotten.path} has lines that cannot be read: what they list may come back; restore it from a copy"
        )
    notes = []
    if content.journal_mode == "delete":
        notes.append(
            "the file system has no shared memory, so programs wait for each other longer: a path on a local disk "
            "(setting knowledge) avoids that"
        )
    files = [_stat(each) for each in (database, *sidecars(database))]
    return Status(
        path=database,
        exists=exists,
        size=sum(found.st_size for found in files if found is not None),
        version=content.version,
        sessions=content.sessions,
        documents=content.documents,
        passages=content.passages,
        sources=content.sources,
        embeddable=content.embeddable,
        vectors=content.vectors,
        updated=max((found.st_mtime for found in files[:2] if found is not None), default=None),
        journal_mode=content.journal_mode,
        forgotten=len(forgotten),
        lagging=tuple(
            sorted(
                _lagging(database, base, content.places, forgotten.has_session), key=lambda lag: -lag.missing
            )
        ),
        set_aside=tuple(
            path for path in damaged_files(database) if not path.name.endswith(("-wal", "-journal"))
        ),
        notes=tuple(notes),
        problems=tuple(problems),
    )


def _read(database: Path, model: str) -> KnowledgeContent:
    def number(query: str, *values: str) -> int:
        return int(db.execute(query, values).fetchone()[0])

    with closing(open_reader(database)) as db, reporting(database, "read"):
        counts = dict(db.execute("SELECT kind, count(*) FROM document GROUP BY kind").fetchall())
        return KnowledgeContent(
            version=number("PRAGMA user_version"),
            journal_mode=db.execute("PRAGMA journal_mode").fetchone()[0],
            documents=_in_order(counts),
            sessions=number("SELECT count(*) FROM session WHERE id IN (SELECT session FROM document)"),
            passages=number("SELECT count(*) FROM chunk WHERE text != ''"),
            sources=number("SELECT count(*) FROM source"),
            embeddable=number(f"SELECT count(*) {_PASSAGES} WHERE {HAS_WORDS}") if model else 0,
            vectors=number("SELECT count(*) FROM vector WHERE model = ? AND data != x''", model)
            if model
            else 0,
            places=dict(db.execute("SELECT folder, place FROM session").fetchall()),
        )


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: counts[kind] for kind in (*KINDS, *sorted({*counts} - {*KINDS})) if kind in counts}


def _lagging(
    place: KnowledgePlace,
    base: Path | None,
    places: Mapping[str, int],
    is_forgotten: Callable[[str], bool],
) -> Iterator[Lag]:
    """The sessions below `base`, and those in the file, whose journals are longer than what was read of them."""
    keys = dict.fromkeys(places)
    if base is not None:
        with suppress(OSError), os.scandir(base / WORKSPACES) as found:
            keys |= dict.fromkeys(
                folder_key(place, Path(each.path)) for each in found if each.is_dir(follow_symlinks=False)
            )
    for key in keys:
        journal = _stat(folder_path(place, key) / JOURNAL)
        missing = 0 if journal is None else journal.st_size - places.get(key, 0)
        if missing > 0 and not is_forgotten(key):
            yield Lag(key, missing)


def _stat(path: Path) -> os.stat_result | None:
    """The state of a regular file; None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None
