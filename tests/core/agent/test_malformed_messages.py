"""Damaged, unordered, missing and repeated messages of the command line: each query ends once, as does each call."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import claude_agent_sdk as sdk
import pytest
from claude_agent_sdk._internal.message_parser import parse_message
from hypothesis import given
from hypothesis import strategies as st

from tests.core.agent.hooks import a_translator, hooks_of
from tests.waiting import PATIENCE
from ua_tui.core.agent.client import AgentClient
from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.agent.mcp.elicitation import ElicitationGate
from ua_tui.core.agent.mcp.servers import Servers
from ua_tui.core.agent.mcp.states import ServerStates
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.result_files import ResultStore
from ua_tui.core.agent.messages.results import ResultAdapter
from ua_tui.core.agent.messages.translate import TurnOutcome
from ua_tui.core.agent.messages.transport import Lines, message_in
from ua_tui.core.agent.permissions.gate import PermissionGate
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.errors import AgentUnavailable
from ua_tui.core.events.codec import decode_event, encode_event
from ua_tui.core.events.types import ErrorRaised, Event, ToolCallFinished, ToolCallStarted
from ua_tui.core.provider.models import Models
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.workspace import Workspace

RECORDED = Path(__file__).with_name("recorded_messages.jsonl")
"""A real query: two calls, a sub-agent with a call of its own, and an answer."""
SEQUENCE: list[dict[str, Any]] = [json.loads(line) for line in RECORDED.read_text().splitlines()]
PYTHON = ("Error", "'NoneType'", "object has no", "unhashable", "KeyError", "Traceback", "<class")


class Recording:
    """The client of an agent that sends these lines and ends."""

    was_killed = False
    last_line = ""

    def __init__(self, lines: list[str], malformed: MalformedMessages) -> None:
        self._lines = lines
        self._malformed = malformed
        self._asked = asyncio.Event()

    async def messages(self) -> AsyncIterator[sdk.Message]:
        await self._asked.wait()
        for line in self._lines:
            raw = message_in(line, self._malformed)
            if raw is None or raw["type"].startswith("control_"):
                continue
            if (message := parse_message(raw)) is not None:
                yield message

    async def query(self, _text: str, files: object = ()) -> None:
        self._asked.set()

    async def servers(self) -> list[dict[str, Any]]:
        return []

    async def end_orphans(self) -> None:
        """It has started nothing."""


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    with tempfile.TemporaryDirectory() as folder:
        made = Workspace.create(Path(folder), datetime.now(UTC))
        yield made
        made.close()


async def replayed(
    lines: list[str], workspace: Workspace, prepare: Callable[[AgentLoop], None] = lambda _loop: None
) -> tuple[TurnOutcome | AgentUnavailable, list[Event]]:
    """Run one query whose agent sends these lines; gives how it ended, and its events."""
    events: list[Event] = []

    def publish(event: Event) -> Event:
        events.append(event)
        return event

    translator, adapter, redactor = a_translator(), ResultAdapter(workspace.path), Redactor()
    policy = PermissionPolicy(workspace.path)
    gate = PermissionGate(policy, publish, interactive=False, redactor=redactor)
    files = ResultStore(adapter, workspace)
    hooks = hooks_of(workspace, gate, publish, results=files, translator=translator)

    async def reopen(_name: str) -> dict[str, dict[str, Any]]:
        return {}

    loop = AgentLoop(
        sdk.ClaudeAgentOptions(),
        hooks=hooks,
        elicitation=ElicitationGate(publish, interactive=False, redactor=redactor),
        servers=Servers(
            ServerStates(),
            reopen,
            renew=reopen,
            report=lambda _where, _error: None,
            login_made_at=lambda _name: "",
            note_scope=lambda _name, _scope: None,
        ),
        on_result=lambda _result: None,
        models=Models(Settings(), publish, lambda _choice: None),
        while_starting=lambda: None,
    )
    loop.client = cast("AgentClient", Recording(lines, translator.malformed))
    prepare(loop)
    reading = asyncio.create_task(loop.read())
    try:
        async with asyncio.timeout(PATIENCE):
            return await loop.run("q1", "a query", simple=False, model=None), events
    except AgentUnavailable as error:
        return error, events
    finally:
        await reading


def assert_consistent(ended: TurnOutcome | AgentUnavailable, events: list[Event]) -> None:
    started = Counter(event.tool_use_id for event in events if isinstance(event, ToolCallStarted))
    finished = Counter(event.tool_use_id for event in events if isinstance(event, ToolCallFinished))
    assert set(started.values()) <= {1}
    assert started == finished
    reason = str(ended) if isinstance(ended, AgentUnavailable) else ended.error or ""
    assert not any(word in reason for word in PYTHON), reason
    assert sum(isinstance(event, ErrorRaised) for event in events) <= 1
    for event in events:
        # What is written can be read.
        assert type(decode_event(encode_event(event))) is type(event)


def lines_of(sequence: list[Any]) -> list[str]:
    return [each if isinstance(each, str) else json.dumps(each) for each in sequence]


def run(sequence: list[Any], workspace: Workspace) -> tuple[TurnOutcome | AgentUnavailable, list[Event]]:
    ended, events = asyncio.run(replayed(lines_of(sequence), workspace))
    assert_consistent(ended, events)
    return ended, events


def reports(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, ErrorRaised)]


def test_the_recorded_query_is_not_malformed(workspace: Workspace) -> None:
    ended, events = run(SEQUENCE, workspace)
    assert isinstance(ended, TurnOutcome)
    assert (ended.status, ended.text) == ("success", "It is done.")
    assert [event.name for event in events if isinstance(event, ToolCallStarted)] == [
        "Glob", "mcp__local_toolkit__list_directory", "Agent", "Glob",
    ]  # fmt: skip
    assert reports(events) == []


JUNK = st.sampled_from(
    [None, "", "x", 0, -1, 2**70, 1e400, True, [], ["x"], [None], {}, {"x": None}, "\ud800"]
)


GARBAGE = st.sampled_from(["garbage", "{", "null", "[1]", "{}", '{"type": 1}', "[" * 99_999])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a message has a value that can be replaced."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from places(inner, (*path, key))


PLACES = [(index, path) for index, message in enumerate(SEQUENCE) for path in places(message)]


@st.composite
def damaged(draw: st.DrawFn) -> list[Any]:
    """The recorded messages with some fields replaced or removed, and some messages moved, repeated, lost or torn."""
    sequence: list[Any] = copy.deepcopy(SEQUENCE)
    for index, path in draw(st.lists(st.sampled_from(PLACES), max_size=8)):
        holder = sequence[index]
        try:
            for key in path[:-1]:
                holder = holder[key]
            if draw(st.booleans()):
                holder[path[-1]] = draw(JUNK)
            else:
                del holder[path[-1]]
        except (KeyError, IndexError, TypeError):
            # An earlier change has removed it.
            continue
    for kind in draw(st.lists(st.sampled_from(["move", "repeat", "lose", "tear", "junk"]), max_size=6)):
        at = draw(st.integers(0, len(sequence) - 1))
        to = draw(st.integers(0, len(sequence) - 1))
        match kind:
            case "move":
                sequence.insert(to, sequence.pop(at))
            case "repeat":
                sequence.insert(to, sequence[at])
            case "lose" if len(sequence) > 1:
                sequence.pop(at)
            case "tear":
                line = lines_of([sequence[at]])[0]
                sequence[at] = line[: draw(st.integers(0, len(line)))]
            case _:
                sequence.insert(to, draw(GARBAGE))
    return sequence


@given(sequence=damaged())
def test_whatever_comes_queries_and_calls_end_once(sequence: list[Any], workspace: Workspace) -> None:
    run(sequence, workspace)


def test_damaged_figures_of_tokens_and_costs_are_left_out(workspace: Workspace) -> None:
    for figure in (True, -1, 2**70, 1.5, "1", None):
        sequence: list[Any] = copy.deepcopy(SEQUENCE)
        for index, path in PLACES:
            holder = sequence[index]
            for key in path[:-1]:
                holder = holder[key]
            if re.search("(?i)tokens|cost", str(path[-1])) and isinstance(holder[path[-1]], int | float):
                holder[path[-1]] = figure
        run(sequence, workspace)


def changed(change: Any) -> list[Any]:
    sequence: list[Any] = copy.deepcopy(SEQUENCE)
    change(sequence)
    return sequence


def uses(sequence: list[Any]) -> list[dict[str, Any]]:
    return [
        block
        for message in sequence
        if message["type"] == "assistant"
        for block in message["message"]["content"]
        if block["type"] == "tool_use"
    ]


def position(sequence: list[Any], kind: str) -> int:
    """Where the first message with such a block is."""
    return next(
        index
        for index, message in enumerate(sequence)
        if message["type"] in ("assistant", "user")
        and any(block["type"] == kind for block in message["message"]["content"] if isinstance(block, dict))
    )


def test_what_lacks_an_essential_field_is_left_out_and_counted(workspace: Workspace) -> None:
    ended, events = run(changed(lambda all_: uses(all_)[0].update(name=None)), workspace)
    assert isinstance(ended, TurnOutcome)
    assert ended.status == "success"
    assert sum(isinstance(event, ToolCallStarted) for event in events) == 3
    (report,) = reports(events)
    # The call, and its result.
    assert report.startswith("2 messages from the agent were malformed; what could be read is kept.")
    assert "run.log" in report


def test_a_lone_result_is_counted_and_a_second_one_is_ignored(workspace: Workspace) -> None:
    def more(sequence: list[Any]) -> None:
        at = position(sequence, "tool_result")
        other = copy.deepcopy(sequence[at])
        other["message"]["content"][0]["tool_use_id"] = "toolu_other"
        sequence[at + 1 : at + 1] = [sequence[at], other]

    _, events = run(changed(more), workspace)
    assert reports(events)[0].startswith("1 message from the agent was malformed")


def test_a_call_that_begins_after_the_end_of_the_query_ends_with_the_agent(workspace: Workspace) -> None:
    def early(sequence: list[Any]) -> None:
        called = f'"tool_use_id": "{uses(sequence)[2]["id"]}"'
        first = [
            each
            for each in sequence
            if each["type"] == "result" or (each["type"] == "user" and called in json.dumps(each))
        ]
        sequence[:] = first + [each for each in sequence if each not in first]

    _, events = run(changed(early), workspace)
    assert [event.status for event in events if isinstance(event, ToolCallFinished)][-1] == "cancelled"


def test_calls_that_are_numbered_from_the_beginning_again_are_kept_apart(workspace: Workspace) -> None:
    def same(sequence: list[Any]) -> None:
        first, _, third, _ = (use["id"] for use in uses(sequence))
        text = json.dumps(sequence).replace(third, first)
        sequence[:] = json.loads(text)

    ended, events = run(changed(same), workspace)
    assert isinstance(ended, TurnOutcome)
    assert ended.status == "success"
    assert len([event for event in events if isinstance(event, ToolCallStarted)]) == 4
    assert all(event.status != "cancelled" for event in events if isinstance(event, ToolCallFinished))


def test_an_agent_that_dies_while_a_query_that_waits_for_servers_is_interrupted(workspace: Workspace) -> None:
    def prepare(loop: AgentLoop) -> None:
        async def starting() -> list[str]:
            assert loop._turn is not None
            loop._turn.interrupted = True
            loop._end(None)
            loop.client._asked.set()  # type: ignore[attr-defined]  # it is a Recording
            return []

        loop.servers.starting = starting  # type: ignore[method-assign]

    ended, _ = asyncio.run(replayed([], workspace, prepare))
    assert isinstance(ended, AgentUnavailable)


def test_an_end_with_an_error_has_a_reason(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    overloaded = {"error": "overloaded", "error_status": 529}
    for retry, last_line, is_torn, reason in (
        (overloaded, "", False, "the model's service is overloaded"),
        (None, "out of memory", False, "out of memory"),
        (None, "", False, "it gave no reason"),
        (None, "", True, "it gave no reason"),
    ):
        monkeypatch.setattr(Recording, "last_line", last_line)
        sequence: list[Any] = copy.deepcopy(SEQUENCE)
        at = next(index for index, each in enumerate(sequence) if each["type"] == "result")
        if is_torn:
            sequence[at] = json.dumps(sequence[at])[:200]
        else:
            sequence[at] |= {"subtype": "error_during_execution", "is_error": True, "result": None}
        if retry is not None:
            again = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 1, **retry}
            sequence.insert(at, again)
        ended, _ = run(sequence, workspace)
        assert isinstance(ended, TurnOutcome)
        assert (ended.status, ended.error) == ("error", f"the agent ended the query with an error: {reason}")
        assert ended.text == "It is done."


def test_garbage_and_large_lines_are_counted(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    garbage = ["[SandboxDebug] x", '{"a', "[" * 100_000, json.dumps({"type": "text"})] + ["x"] * 100
    large = {
        "type": "assistant",
        "message": {"model": "m", "content": [{"type": "text", "text": "y" * (20 << 20)}]},
    }
    ended, events = run([*SEQUENCE[:5], *garbage, large, *SEQUENCE[5:]], workspace)
    assert isinstance(ended, TurnOutcome)
    assert ended.status == "success"
    assert reports(events)[0].startswith("103 messages from the agent were malformed")
    assert len(caplog.records) == 51
    assert "53 more" in caplog.records[-1].getMessage()


def test_lines_are_made_of_pieces_and_a_line_that_is_too_long_is_cut() -> None:
    lines = Lines(10)
    pieces = ("one\ntw", "o\n\n", "x" * 8, "y" * 8, "z" * 8, "\nlast")
    made = [line for piece in pieces for line in lines.push(piece)]
    assert made == ["one", "two", "", "x" * 8 + "y" * 8]
    assert lines.rest() == "last"
