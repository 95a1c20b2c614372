"""A session that goes back to before a query, with the real agent and a model that shows what it was sent."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scripted_model import Block, Text, Use, last_query, scripted_model
from tests.waiting import until
from ua_tui.api import Session, open_session
from ua_tui.core.errors import AgentError
from ua_tui.core.events.types import ConversationCleared, QueryFinished, SessionRewound
from ua_tui.core.history.kept_versions import files_at
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.session.resume import read_previous_state
from ua_tui.core.storage.workspace import Workspace

ONE, TWO, THREE, FOUR = "Write the first draft", "Write the second draft", "Which draft?", "And now?"
WRITE = "mcp__local_toolkit__write_local_file"
KEY = "sk-ant-test-0123456789"


class Model:
    """Plans and writes a file for each of the first queries, and keeps all it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any], _results: int) -> Sequence[Block]:
        self.sent.append(json.dumps(body["messages"]))
        self.bodies.append(body)
        query, results = last_query(body, ONE, TWO, THREE, FOUR)
        if query not in (ONE, TWO) or results:
            return [Text(f"Answer to: {query}")]
        plan = {"todos": [{"content": f"Plan of: {query}", "status": "in_progress", "activeForm": "Working"}]}
        draft = {"path": "work_products/draft.md", "content": query}
        work = [Use("TodoWrite", plan), Use(WRITE, draft)]
        return work if query == ONE else [*work, Use("Bash", {"command": "echo 2 > log.txt"})]


async def ask(session: Session, text: str) -> QueryFinished:
    *_, last = [event async for event in session.ask(text)]
    assert isinstance(last, QueryFinished)
    assert last.status == "success", last.error
    return last


def plain(messages: list[Any]) -> str:
    """The messages without the marks where the cache ends."""
    return re.sub(r', "cache_control": \{[^}]*\}', "", json.dumps(messages))


def texts_of(folder: Path) -> dict[str, str]:
    names = ("work_products/draft.md", "log.txt", "by_hand.txt")
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


@pytest.mark.slow
async def test_a_session_goes_back_and_continues_also_after_it_was_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Model()
    with scripted_model(model) as url:
        options: dict[str, Any] = {
            "base_url": url,
            "api_key": KEY,
            "classifier": "off",
            "workspace_base": tmp_path,
            "extra_tools": ("Bash",),
            "allow": ("Bash", WRITE),
        }
        async with open_session(**options) as session:
            folder = session.workspace.path
            await ask(session, ONE)
            await ask(session, TWO)
            await until(lambda: files_at(folder, "q2", "end"))
            (folder / "by_hand.txt").write_text("mine")
            before = texts_of(folder)
            spent = [event.cost_usd for event in read_events(folder) if isinstance(event, QueryFinished)]

            # First the conversation alone: by default no file changes.
            prospect = await session.look_back("q2")
            assert texts_of(folder) == before
            await session.rewind("q2")
            assert texts_of(folder) == before
            await ask(session, THREE)
            assert ONE in model.sent[-1]
            assert TWO not in model.sent[-1]
            assert THREE in model.sent[-1]
            # The model's cache of what came before is used again.
            earlier, later = model.bodies[1], model.bodies[-1]
            assert (later["system"], later["tools"]) == (earlier["system"], earlier["tools"])
            assert plain(later["messages"][: len(earlier["messages"])]) == plain(earlier["messages"])

            # Then also the files.
            assert prospect.plan is not None
            assert prospect.plan.of("changed") == ["work_products/draft.md"]
            assert prospect.plan.of("deleted") == ["log.txt"]
            assert prospect.plan.staying("by_hand") == ["by_hand.txt"]
            assert prospect.outside == ("Bash",)
            await session.rewind("q2", prospect.plan.changes)
            assert texts_of(folder) == {"work_products/draft.md": ONE, "by_hand.txt": "mine"}

            # A query that runs is not pulled away.
            asking = asyncio.create_task(ask(session, TWO))
            await until(lambda: session.state == "running")
            with pytest.raises(AgentError, match="a query is running"):
                await session.rewind("q1")
            await asking
            # What was read stays read: since the first command ran, another one asks.
            assert texts_of(folder) == {"work_products/draft.md": TWO, "by_hand.txt": "mine"}
            await session.rewind("q4")

        events = list(read_events(folder))
        rewound = [event for event in events if isinstance(event, SessionRewound)]
        assert [event.query_id for event in rewound] == ["q2", "q2", "q4"]
        assert not any(isinstance(event, ConversationCleared) for event in events)
        # The way forward is kept, with its conversation and its files.
        first = folder.with_name(rewound[0].kept_as)
        assert texts_of(first) == before
        kept = read_previous_state(Workspace(first, first)).view
        assert [query.text for query in kept.queries] == [ONE, TWO]
        assert not any(query.undone for query in kept.queries)

        async with open_session(resume=folder, **options) as session:
            await ask(session, FOUR)
            assert ONE in model.sent[-1]
            assert not any(text in model.sent[-1] for text in (TWO, THREE, "Plan of: Write the second"))
            view = read_previous_state(Workspace(folder, folder)).view
            assert [(query.id, query.undone) for query in view.queries] == [
                ("q1", False), ("q2", True), ("q3", True), ("q4", True), ("q5", False)
            ]  # fmt: skip
            # What was spent stays spent.
            assert (view.costs.spent or 0) > sum(filter(None, spent))
        async with open_session(resume=first, **options) as session:
            await ask(session, FOUR)
            assert TWO in model.sent[-1]
