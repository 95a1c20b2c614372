"""What a session left behind, compared with what the model, the tools and the reader of its events saw."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scripted_model import Block, Text, Use
from tests.observers.knowledge.recorded import passages
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import Event, TextDelta, ThinkingDelta, ToolCallStarted
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.observers.knowledge.catch_up import catch_up

LIST = "mcp__local_toolkit__list_directory"
WRITE = "mcp__local_toolkit__write_local_file"
ALLOWED = ("--allow", LIST, "--allow", WRITE)
CALLS, AT_ONCE = 24, 8
_REPORT = re.compile(r"r\d+\.md")


@dataclass
class Busy:
    """A model that has 24 reports written, which makes about 300 events, and answers; keeps what it was sent.

    `before_answer` is called before it answers a query without tools. Once `is_killed` is set, it receives requests and
    answers none: the agent of a program that was killed would only work for nobody until it ends, too.
    """

    before_answer: Callable[[], object] = lambda: None
    is_killed: bool = False
    results: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        """Answer one request."""
        if not body.get("tools"):
            return (Text("COMPLEX"),)
        blocks = [
            block
            for each in body["messages"]
            if isinstance(each["content"], list)
            for block in each["content"]
        ]
        with self._lock:
            # An agent whose program was killed gets an error for each further call, as none runs.
            done = [
                block for block in blocks if block.get("type") == "tool_result" and not block.get("is_error")
            ]
            self.results.update(block["tool_use_id"] for block in done)
        if self.is_killed:
            threading.Event().wait()
        asked = json.dumps(body["messages"][-3:])
        if "Go on" in asked or results >= CALLS:
            self.before_answer()
            return (Text("All is written."),)
        numbers = range(results, results + AT_ONCE)
        writes = [
            Use(WRITE, {"path": f"work_products/r{each}.md", "content": f"Report {each}."})
            for each in numbers
        ]
        return (Text(f"Reports {results} to {results + AT_ONCE - 1}. " + "word " * 20), *writes)


@dataclass
class Left:
    """The journal of a session that was killed: its complete lines, and whether the last one is torn."""

    folder: Path

    def __post_init__(self) -> None:
        data = (self.folder / "journal.jsonl").read_bytes()
        self.lines = data.splitlines(keepends=True)
        self.torn = bool(self.lines) and not self.lines[-1].endswith(b"\n")
        if self.torn:
            self.lines.pop()
        self.events: list[Event] = [decode_event(line) for line in self.lines]

    def problems(self) -> list[str]:
        """What must not be in a journal, whenever its program was killed."""
        found = []
        numbers = [event.seq for event in self.events]
        if numbers != sorted(set(numbers)):
            found.append(f"the events are out of order: {numbers}")
        # Pieces of a text are joined, and have the number of the first of them.
        missing = [
            before.seq + 1
            for before, after in zip(self.events, self.events[1:], strict=False)
            if after.seq != before.seq + 1 and not isinstance(before, TextDelta | ThinkingDelta)
        ]
        if missing:
            found.append(f"events are missing: {missing}")
        if lost := sorted(self.written() - {str(call.input.get("path")) for call in self.calls()}):
            found.append(f"tools ran without a record: {lost}")
        return found

    def calls(self) -> list[ToolCallStarted]:
        """The calls whose start was recorded."""
        return [event for event in self.events if isinstance(event, ToolCallStarted)]

    def written(self) -> set[str]:
        """The paths of the reports that the toolkit has written."""
        with suppress(FileNotFoundError):
            names = os.listdir(self.folder / "work_products")
            return {f"work_products/{name}" for name in names if _REPORT.fullmatch(name)}
        return set()

    def lost(self, acknowledged: Iterable[bytes]) -> list[bytes]:
        """The acknowledged lines that the journal does not have."""
        kept = set(self.lines)
        return [line for line in acknowledged if line not in kept]


def session_of(base: Path) -> Path:
    """The only session of a folder."""
    (found,) = (base / WORKSPACES).glob("session_*")
    return found


def is_indexed(session: Path) -> bool:
    """Whether the knowledge base has read all of a session's journal."""
    written = (session / "journal.jsonl").read_bytes().rfind(b"\n") + 1
    try:
        with closing(open_reader(session.parent / FILE)) as db:
            row = db.execute("SELECT place FROM session WHERE folder = ?", (session.name,)).fetchone()
    except KnowledgeError:
        return False
    return row is not None and row[0] == written


def index_rest(base: Path) -> None:
    """Index what the sessions have left, as the next start does.

    A session ends without it if indexing takes long, or if it failed and was to be tried again later.
    """
    with pytest.MonkeyPatch.context() as patch:
        # The key of the programs, whose file it is.
        patch.setenv("HOME", str(base))
        with open_store(base / WORKSPACES / FILE) as store:
            for _ in catch_up(store, base, Redactor()):
                pass


def indexed_differently(base: Path) -> set[tuple[str, str, str]]:
    """The passages that the knowledge base lacks or has too many, compared with one that is made from all sessions."""
    sessions = base / WORKSPACES
    again = sessions / "again.db"
    with open_store(again) as store:
        for _ in catch_up(store, base, Redactor()):
            pass
    expected, found = passages(again), passages(sessions / FILE)
    assert expected
    assert len(found) == len(set(found))
    return set(expected) ^ set(found)


def processes_in(folder: Path) -> dict[int, str]:
    """The processes that work in a folder or below it, or name it on their command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(folder) in command or Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                found[int(entry.name)] = command
    return found
