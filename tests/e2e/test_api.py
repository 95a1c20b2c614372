"""The examples of `docs/api.md`, run as they stand there, and what the API says when it cannot do what is asked."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import DEADLINE, environment
from tests.e2e.scripted_model import Block, Text, Use, last_query, scripted_model
from tests.paths import PROJECT
from ua_tui.api import open_session
from ua_tui.core.errors import AgentError, AgentUnavailable, CredentialsError, Denied, SettingsError
from ua_tui.core.events.types import QueryFinished
from ua_tui.core.pipelines import AfterExecute, AgentErrored, BeforeExecute
from ua_tui.tui import compose

PAGE = PROJECT / "docs" / "api.md"
RESEARCH = 'f"Research the latest {topic} news and write a comprehensive report"'


@pytest.mark.slow
def test_the_examples_follow_a_query_and_find_files(tmp_path: Path) -> None:
    first, second = re.findall(r"```python\n(.+?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    # With a query that makes a file in less time.
    assert RESEARCH in second
    source = (
        f"{first}\nprint('SECOND')\n{second.replace(RESEARCH, 'topic')}\nimport asyncio\n"
        "print(*asyncio.run(research('Plot the monthly revenue in the workbench')), sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    followed, _, found = done.stdout.partition("SECOND\n")
    names = followed.split()
    assert names[0] == "query_received"
    assert names[-1] == "query_finished"
    assert "text_delta" in names
    paths = [Path(line) for line in found.splitlines()]
    assert paths
    assert all(path.is_file() for path in paths)
    folders = list((tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*"))
    assert len(folders) == 2
    for folder in folders:
        assert '"event":"session_finished"' in (folder / "journal.jsonl").read_text(encoding="utf-8")


async def test_queries_asked_at_once_come_to_their_ends_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CredentialsError, match="ANTHROPIC_API_KEY"):
        async with open_session(workspace_base=tmp_path):
            pass
    assert not (tmp_path / "AGENT_RUN_WORKSPACES").exists()
    with scripted_model(lambda _body, _results: [Text("Yes.")]) as url:
        key = "sk-ant-test-0123456789"
        opened = open_session(base_url=url, api_key=key, classifier="off", workspace_base=tmp_path)
        async with opened as session:

            async def ask(text: str) -> QueryFinished:
                *_, last = [event async for event in session.ask(text)]
                assert isinstance(last, QueryFinished)
                return last

            first, second = await asyncio.gather(ask("One?"), ask("Two?"))
            assert {first.query_id, second.query_id} == {"q1", "q2"}
            assert (first.text, second.text) == ("Yes.", "Yes.")
            with pytest.raises(AgentError, match="empty"):
                await anext(session.ask(" "))
        with pytest.raises(AgentError, match="over"):
            await anext(session.ask("Three?"))


TEAM = {"type": "object", "properties": {"team": {"type": "string"}}, "required": ["team"]}
LIST = "mcp__local_toolkit__list_directory"


async def test_handlers_see_the_schema_the_results_and_the_cause_of_each_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[BeforeExecute | AfterExecute | AgentErrored] = []

    def before(query: BeforeExecute) -> BeforeExecute:
        seen.append(query)
        match query.input:
            case "As JSON":
                return replace(query, schema=TEAM)
            case "No schema":
                return replace(query, schema={"type": "array"})
            case "Nothing":
                return replace(query, input="Not this", denied="not today")
        return query

    handlers = {
        "agent.before_execute": before,
        "agent.after_execute": seen.append,
        "agent.on_error": seen.append,
    }
    monkeypatch.setattr(compose, "HANDLERS", [(name, each, 0) for name, each in handlers.items()])
    monkeypatch.chdir(tmp_path)
    texts = ("List it", "As JSON", "No schema", "Nothing", "Again")

    def reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
        query, results = last_query(body, *texts)
        if query == "List it" and not results:
            return [Use(LIST, {"path": "."})]
        if query == "As JSON" and not results:
            return [Use("StructuredOutput", {"team": "blue"})]
        return [Text("Done.")]

    with scripted_model(reply) as url:
        key = "sk-ant-test-0123456789"
        opened = open_session(base_url=url, api_key=key, classifier="off", workspace_base=tmp_path)
        async with opened as session:
            ended: dict[str, QueryFinished] = {}
            errors: dict[str, Exception | None] = {}
            for text in texts:
                *_, last = [event async for event in session.ask(text)]
                assert isinstance(last, QueryFinished)
                ended[text], errors[text] = last, session.last_error
    assert [each.status for each in ended.values()] == ["success", "success", "error", "error", "success"]
    assert (ended["As JSON"].output, ended["Again"].output, ended["Again"].text) == (
        {"team": "blue"}, None, "Done.",
    )  # fmt: skip
    assert [type(each) for each in errors.values()] == [
        type(None), type(None), SettingsError, Denied, type(None),
    ]  # fmt: skip
    listed = next(each for each in seen if isinstance(each, AfterExecute) and each.input == "List it")
    (call,) = listed.response.tool_calls
    assert call.tool_use_id.startswith("toolu_")
    assert (call.name, call.input) == (LIST, {"path": "."})
    assert call.result is not None
    assert "entries" in call.result.output
    failed = {each.input: each for each in seen if isinstance(each, AgentErrored)}
    assert failed["Not this"].exception is errors["Nothing"]
    assert failed["No schema"].schema == {"type": "array"}
    assert {each.schema is None for each in seen if isinstance(each, BeforeExecute)} == {True}


async def test_why_the_agent_could_not_be_started_is_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_session(
        api_key="sk-ant-test-0123456789", cli_path=tmp_path / "none", workspace_base=tmp_path
    )
    with pytest.raises(AgentUnavailable, match="not found") as caught:
        async with opened:
            pass
    original = caught.value.__cause__
    assert isinstance(original, AgentUnavailable)
    assert type(original.__cause__).__name__ == "CLINotFoundError"
