"""Reads sessions in a process of its own and prepares their documents, while another one stores them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import JournalError
from ua_tui.core.knowledge.index.preparing import Prepared, prepared_groups
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean_line
from ua_tui.observers.knowledge.journal import Batch, read_batch

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, array_like=True):
    """Some of the documents between two cursors of a session's journal.

    `session` is its index in the list of folders. `is_first` and `is_last` tell the parts of a batch: what is not
    about documents is in the first one. `restarted` says that what was read before of the session is void, and
    `problem` that it cannot be read.
    """

    session: int
    before: Cursor = Cursor()
    after: Cursor = Cursor()
    group: list[Prepared] = []
    is_first: bool = False
    is_last: bool = False
    facts: Facts | None = None
    calls: tuple[IndexedCall, ...] = ()
    replaced: tuple[str, ...] = ()
    restarted: bool = False
    problem: str = ""


def read_sessions(context: TaskContext, argument: dict[str, Any]) -> None:
    """Read the sessions in `folders`, in order, and send their parts; `secrets` are masked."""
    redactor = Redactor(secret.decode("utf-8", "surrogatepass") for secret in argument["secrets"])
    for number, folder in enumerate(argument["folders"]):
        for part in _parts(number, Path(folder), redactor):
            context.say("part", msgspec.msgpack.encode(part))


def _parts(number: int, folder: Path, redactor: Redactor) -> Iterator[Part]:
    cursor, more = Cursor(), True
    try:
        while more:
            batch = read_batch(folder, cursor, redactor)
            if batch.restarted:
                yield Part(session=number, restarted=True)
            else:
                yield from _parts_of(number, cursor, batch)
            cursor, more = batch.after, batch.more or batch.restarted
    except JournalError as error:
        yield Part(session=number, problem=str(error))
    except Exception as error:
        # What is in one session must not keep the others from being read.
        problem = f"The session {folder.name} cannot be read: {clean_line(str(error), 300)}"
        yield Part(session=number, problem=problem)


def _parts_of(number: int, before: Cursor, batch: Batch) -> Iterator[Part]:
    if batch.after == before:
        return
    yield Part(
        session=number,
        before=before,
        after=batch.after,
        is_first=True,
        facts=batch.facts,
        calls=batch.calls,
        replaced=batch.replaced,
    )
    for group in prepared_groups(batch.documents):
        yield Part(session=number, group=group)
    yield Part(session=number, is_last=True)
