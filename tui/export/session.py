"""Reads a session for an export: its facts, conversation, calls, files and costs, from its journal alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.errors import JournalError
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import SessionStarted
from ua_tui.core.events.units import quantity
from ua_tui.core.history.headline import read_heading
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.text import middle_truncate
from ua_tui.core.version import VERSION
from ua_tui.core.view import records
from ua_tui.core.view.session import SessionView
from ua_tui.tui.export.records import (
    Artifact,
    Call,
    Costs,
    Export,
    Message,
    ModelCosts,
    Query,
    SessionFacts,
    SessionState,
)

_Item = TypeVar("_Item")

LONGEST_MESSAGE = 100_000
_SHORT = 160


def read_session(folder: Path, redactor: Redactor, now: datetime) -> tuple[Export, Collection[str]]:
    """Read a session from its journal, also one that runs, was cut off, or is damaged; writes nothing and blocks.

    The second result are the paths that the session had for its folders. Nothing is redacted yet, except for cut texts.

    Raises:
        JournalError: there is no journal that can be read, or it has no events.
        Stopped: the result is no longer needed.
    """
    view = SessionView(redactor, Root(folder))
    recorded: set[str] = set()
    with PastJournal(folder) as journal:
        for _, events in journal.batches(journal.start):
            check_stopped()
            for event in events:
                if isinstance(event, SessionStarted):
                    recorded |= {path for path in (event.workspace, event.cwd) if path.startswith("/")}
                view.add(event)
        is_running = runs_elsewhere(folder)
        # The last line may be about to be written.
        journal.unread.torn &= not is_running
        damage = tuple(journal.unread.sentences("export"))
    if not view.events:
        raise JournalError(f"the session in {folder} cannot be read: its journal has no events.")
    view.keep_unfinished()
    return _export(view, now, "running" if is_running else "crashed", folder, damage), recorded


def _export(
    record: SessionView, now: datetime, unended: SessionState, folder: Path, damage: Sequence[str]
) -> Export:
    notices = list(damage)
    started, queries, end, spent = record.started, record.queries, record.finished, record.costs
    queries_shown = _limited(queries, 500, "queries", notices)
    calls_shown = _limited(record.calls, 2_000, "calls", notices)
    artifacts = _limited(list(record.artifacts.values()), 2_000, "saved files", notices)
    offsets = {query.number: query.offset for query in queries}
    heading = read_heading(folder)
    begun = started.at if started else None
    if heading.forked_from and heading.started is not None:
        # A fork began when it was forked.
        begun = datetime.fromtimestamp(heading.started, UTC)
    stated = end.cost_usd if end else None
    worked_ms = sum(query.end.duration_ms for query in queries if query.end)
    facts = SessionFacts(
        id=folder.name,
        title=heading.title or (queries[0].text if queries else ""),
        state=end.state if end else unended,
        started=begun,
        ended=end.at if end else record.last_at,
        seconds=((end.duration_ms if end else 0) or worked_ms) / 1000,
        version=started.version if started else "",
        model=record.setup.model or "",
        permission_mode=record.setup.mode,
        demo=record.setup.demo,
        queries=len(queries),
        calls=len(record.calls),
    )
    costs = Costs(
        cost_usd=None if spent.all_unpriced else spent.total if stated is None else stated,
        cost_is_estimated=spent.estimated and stated is None,
        inherited_usd=spent.inherited,
        unpriced=spent.all_unpriced,
        tokens=spent.tokens.total,
        seconds=sum(_seconds(query, record) for query in queries),
        models=tuple(
            ModelCosts(model=model, usage=use.usage, cost_usd=use.cost_usd)
            for model, use in spent.models.items()
        ),
    )
    calls = _shortened([_call(call, offsets) for call in calls_shown], notices)
    said = _said(record, notices)
    return Export(
        program=f"ua-tui {VERSION}",
        exported_at=now.replace(microsecond=0),
        session=facts,
        queries=tuple(_query(query, said.get(query.number, ()), record) for query in queries_shown),
        calls=calls,
        artifacts=tuple(msgspec.convert(each, Artifact, from_attributes=True) for each in artifacts),
        costs=costs,
        notices=tuple(notices),
    )


def _limited(items: Sequence[_Item], most: int, noun: str, notices: list[str]) -> Sequence[_Item]:
    """The newest items, with a notice about the others."""
    if len(items) > most:
        notices.append(f"Only the last {most:,} of {len(items):,} {noun} are included.")
    return items[-most:]


def _said(record: SessionView, notices: list[str]) -> Mapping[int, Sequence[Message]]:
    """The messages that followed each query, by its number."""
    said: dict[int, list[Message]] = defaultdict(list)
    number = length = cut = 0
    for entry in record.entries.values():
        match entry:
            case records.Query():
                number = entry.number
            case records.Message(depth=0) | records.Note(kind="said"):
                text = middle_truncate(entry.text, LONGEST_MESSAGE)
                if length + len(text) > 1_500_000:
                    cut += 1
                    continue
                cut += text is not entry.text
                length += len(text)
                by_agent = isinstance(entry, records.Message)
                said[number].append(
                    Message(
                        at=entry.at,
                        text=text,
                        by="agent" if by_agent else "person",
                        unfinished=isinstance(entry, records.Message) and entry.unfinished,
                    )
                )
            case _:
                pass
    if cut:
        notices.append(f"The conversation is too long: {quantity(cut, 'message')} cut or left out.")
    return said


def _seconds(query: records.Query, record: SessionView) -> float:
    """How long a query took; for one that is running or was cut off, how long until the last event."""
    if query.end is not None:
        return query.end.duration_ms / 1000
    until: datetime | None = record.last_at
    if query.number != record.query_count or until is None:
        return 0.0
    return max((until - query.at).total_seconds(), 0.0)


def _query(query: records.Query, messages: Sequence[Message], record: SessionView) -> Query:
    end = query.end
    plain = Query(
        number=query.number,
        at=query.at,
        text=middle_truncate(query.text, LONGEST_MESSAGE),
        undone=query.undone,
        seconds=_seconds(query, record),
        calls=query.calls,
        messages=tuple(messages),
    )
    if end is None:
        return plain
    return msgspec.structs.replace(
        plain,
        status=end.status,
        error=end.error or "",
        turns=end.turns,
        cost_usd=end.cost_usd,
        tokens=end.usage.total if end.usage is not None else 0,
    )


def _shortened(calls: Sequence[Call], notices: list[str]) -> tuple[Call, ...]:
    """The calls; when their inputs and results are too long together, those of the later ones are cut."""
    length = 0
    for number, call in enumerate(calls):
        length += len(call.input) + len(call.result)
        if length > 1_500_000:
            notices.append(f"Inputs and results are shortened after the first {quantity(number, 'call')}.")
            later = (
                msgspec.structs.replace(each, input=_beginning(each.input), result=_beginning(each.result))
                for each in calls[number:]
            )
            return (*calls[:number], *later)
    return tuple(calls)


def _beginning(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _call(call: records.Call, offsets: dict[int, float]) -> Call:
    name = tool_name(call.name)
    seconds = call.duration_ms / 1000 or max((call.ended_offset or call.offset) - call.offset, 0.0)
    return Call(
        id=call.id,
        name=call.name,
        server=name.server,
        label=call.label,
        about=call.argument,
        query=call.number,
        depth=call.depth,
        at=call.at,
        offset=round(max(call.offset - offsets.get(call.number, call.offset), 0.0), 3),
        seconds=round(seconds, 3),
        status=call.status or "",
        input=call.input_preview,
        result=call.result_preview,
        result_size=call.result_size,
    )
