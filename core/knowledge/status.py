"""The state of the knowledge base: its size, what is in it, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgotten import ForgottenFile, session_tombstone
from ua_tui.core.knowledge.place import KnowledgePlace, exists, folder_key, folder_path, journal_size
from ua_tui.core.knowledge.records import KINDS
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import sidecars


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What `ua-tui knowledge` shows; without a file everything is empty.

    Attributes:
        size: bytes, with those of the files beside it that belong to it.
        sessions: how many have documents.
        documents: how many of each kind, in the order of `KINDS`.
        embeddable: how many passages can have a vector; counted only if the search by meaning is on.
        vectors: how many of them have one.
        updated: when the newest document was made, in seconds since the epoch.
        forgotten: how many times something was forgotten.
        lagging: the sessions that are not complete, with the bytes of their journals that are missing, most first.
        problems: sentences for a person about what is wrong.
    """

    exists: bool = False
    size: int = 0
    version: int = 0
    sessions: int = 0
    documents: Mapping[str, int] = {}
    passages: int = 0
    sources: int = 0
    embeddable: int = 0
    vectors: int = 0
    updated: float | None = None
    forgotten: int = 0
    lagging: Mapping[str, int] = {}
    problems: tuple[str, ...] = ()


def read_status(place: KnowledgePlace, base: Path | None = None, model: str = "") -> Status:
    """Read the state of the knowledge base, and compare it with the journals of the sessions below `base`; blocks.

    With the `model` of the search by meaning its vectors are counted. What cannot be read is among the problems.
    """
    problems: list[str] = []
    places: dict[str, int] = {}
    found = Status(exists=exists(place))
    try:
        if found.exists:
            found, places = _counted(place, model)
    except KnowledgeError as error:
        problems.append(str(error))
    if isinstance(place, Address):
        lagging = {} if problems else _lagging(place, base, places)
        return msgspec.structs.replace(found, version=LATEST, lagging=lagging, problems=tuple(problems))
    known = ForgottenFile(place)
    try:
        known.refresh()
    except KnowledgeError as error:
        problems.append(str(error))
    if known.damaged_lines:
        problems.append(
            f"{known.path} has lines that cannot be read: the entries they list may reappear; restore it from a copy"
        )
    lagging = _lagging(place, base, places)
    size = 0
    for each in (place, *sidecars(place)):
        with suppress(OSError):
            size += each.lstat().st_size
    return msgspec.structs.replace(
        found,
        size=size,
        forgotten=len(known),
        lagging={key: missing for key, missing in lagging.items() if session_tombstone(key) not in known},
        problems=tuple(problems),
    )


def _counted(place: KnowledgePlace, model: str) -> tuple[Status, dict[str, int]]:
    """What is in the knowledge base, and how far the journal of each session was read."""
    with open_store(place, read_only=True) as database, database.reading():
        (counts,) = database.records("counts_of_all")
        (vectors,) = database.records("vectors", model=model) if model else ({},)
        found = dict(database.rows("kinds"))
        (state,) = database.records("state")
        places = {folder: place for folder, _, place in database.rows("cursors")}
    documents = {kind: found[kind] for kind in dict.fromkeys((*KINDS, *sorted(found))) if kind in found}
    return Status(exists=True, documents=documents, **counts, **vectors, **state), places


def _lagging(place: KnowledgePlace, base: Path | None, places: Mapping[str, int]) -> dict[str, int]:
    """The sessions below `base`, and those that are known, whose journals are longer than what was read of them."""
    keys = dict.fromkeys(places)
    if base is not None:
        with suppress(OSError):
            keys |= dict.fromkeys(folder_key(place, folder) for folder in (base / WORKSPACES).iterdir())
    folders = {key: folder for key in keys if (folder := folder_path(place, key)) is not None}
    missing = {key: (journal_size(folder) or 0) - places.get(key, 0) for key, folder in folders.items()}
    return dict(sorted(((key, size) for key, size in missing.items() if size > 0), key=lambda each: -each[1]))
