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

from tests.e2e.running import DEADLINE, environment, model_environment
from tests.e2e.scripted_model import Block, Text, Use, last_query, scripted_model
from tests.paths import PROJECT
from ua_tui.api import Modifier, events, open_session
from ua_tui.core.errors import AgentError, AgentUnavailable, CredentialsError, Denied, SettingsError
from ua_tui.core.events.types import QueryFinished
from ua_tui.core.pipelines import AfterExecute, AgentErrored, BeforeExecute
from ua_tui.tui import compose

PAGE = PROJECT / "docs" / "api.md"
RESEARCH = 'f"Research the latest {topic} news and write a comprehensive report"'


def examples() -> list[str]:
    return re.findall(r"```python\n(.+?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.slow
def test_the_examples_follow_a_query_and_find_files(tmp_path: Path) -> None:
    first, second, _ = examples()
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
        with pytest.raises(AgentError, match="closed"):
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


def price_of(article: str, count: int = 1) -> dict[str, int]:
    """The price of an article."""
    return {"price": len(article) * count}


async def test_a_program_gives_tools_a_prompt_and_a_schema_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bodies: list[dict[str, Any]] = []
    called: list[str] = []

    async def remember(fact: str) -> str:
        """Remember a fact."""
        called.append(fact)
        return "remembered"

    known = "\n".join(["It is none of these facts:", *(f"fact number {number}" for number in range(60))])

    def forget(fact: str) -> str:
        """Forget a fact."""
        raise LookupError(known)

    def reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
        bodies.append(body)
        query, results = last_query(body, "What does it cost?", "Again")
        if query == "Again" or results == 4:
            return [Use("StructuredOutput", {"team": "blue"})] if results in (0, 4) else [Text("Done.")]
        calls = (
            Use("mcp__this_program__price_of", {"article": "tea", "count": 2}),
            Use("mcp__this_program__price_of", {"article": 7}),
            Use("mcp__this_program__remember", {"fact": "tea is 6"}),
            Use("mcp__this_program__forget", {"fact": "tea is 5"}),
        )
        return [calls[results] if results < 4 else Text("Done.")]

    with scripted_model(reply) as url:
        given: dict[str, Any] = {
            "base_url": url, "api_key": "sk-ant-test-0123456789", "classifier": "off", "workspace_base": tmp_path,
            "tools": (price_of, remember, forget), "output_schema": TEAM,
            "system_prompt": "You sell {tea} in {workspace}.",
        }  # fmt: skip
        seen: list[events.Event] = []
        opened = open_session(
            **given,
            allow=("mcp__this_program__price_of", "mcp__this_program__forget"),
            interactive=True,
            on_event=seen.append,
        )
        async with opened as session:

            def answer(event: events.Event) -> None:
                if isinstance(event, events.PermissionAsked):
                    # At once, before the agent waits for it.
                    assert session.answer_permission(event.request_id, allow=True)

            session.bus.subscribe(answer)
            *_, last = [event async for event in session.ask("What does it cost?")]
            folder = session.workspace.path
        assert isinstance(last, QueryFinished)
        assert (last.status, last.output) == ("success", {"team": "blue"})
        assert isinstance(seen[0], events.SessionStarted)
        ended = [event.observation for event in seen if isinstance(event, events.ToolCallFinished)]
        results = [str(each.error or each.output) for each in ended[:4] if each is not None]
        assert (results[0], results[2]) == ('{"price":6}', "remembered")
        assert "7 is not of type 'string'" in results[1]
        assert results[3] == f"LookupError: {known}"
        assert called == ["tea is 6"]
        asked = [event for event in seen if isinstance(event, events.PermissionAsked)]
        assert [event.tool_name for event in asked] == ["mcp__this_program__remember"]
        assert f"You sell {{tea}} in {folder}." in str(bodies[-1]["system"])
        tools = {tool["name"]: tool for tool in bodies[-1]["tools"]}
        assert tools["mcp__this_program__price_of"]["input_schema"]["required"] == ["article"]

        async with open_session(**given, resume="latest") as session:
            assert session.workspace.path == folder
            *_, last = [event async for event in session.ask("Again")]
            assert isinstance(last, QueryFinished)
            assert (last.query_id, last.output) == ("q2", {"team": "blue"})
        assert "What does it cost?" in str(bodies[-1]["messages"])


async def test_the_example_with_tools_adds_up_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example: dict[str, Any] = {}
    exec(examples()[2], example)

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        calls = (
            Use("mcp__this_program__price_of", {"article": "tea", "count": 2}),
            Use("StructuredOutput", {"total": 6}),
        )
        return [calls[results] if results < 2 else Text("Done.")]

    with scripted_model(reply) as url:
        for name, value in model_environment(tmp_path, url).items():
            monkeypatch.setenv(name, value)
        assert await example["total"]("Two teas") == 6


async def test_arguments_that_cannot_work_are_refused_before_anything_starts(tmp_path: Path) -> None:
    key: dict[str, Any] = {"api_key": "sk-ant-test-0123456789", "workspace_base": tmp_path}

    def unresolved(_article: Nothing) -> str:  # type: ignore[name-defined]  # noqa: F821 -- what is tested
        """Nothing."""
        return ""

    def unnamed(*words: str) -> str:
        """Join words."""
        return "".join(words)

    for arguments, problem in (
        (
            {"modifiers": [Modifier("before", lambda _tool, _toolkit, given: given)]},
            "no effect in the mode mcp",
        ),
        ({"resume": "session_1"}, "there is no session 'session_1'"),
        ({"fresh": True}, "fresh needs resume"),
        ({"output_schema": {"type": "array"}}, "output_schema must describe an object"),
        ({"tools": [lambda x: x]}, "cannot be a tool"),
        ({"tools": [unresolved]}, "annotations of unresolved cannot be read .*Nothing"),
        ({"tools": [unnamed]}, r"unnamed has the parameter \*words"),
        ({"tools": [price_of, price_of]}, "two have the name price_of"),
    ):
        with pytest.raises(SettingsError, match=problem):
            async with open_session(**key, **arguments):
                pass
    assert not (tmp_path / "AGENT_RUN_WORKSPACES").exists()
