"""The examples of `docs/api.md`, run as they stand there, and what the API says when it cannot do what is asked."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.api import open_session
from core.errors import AgentError, CredentialsError
from core.events.types import QueryFinished
from tests.e2e.running import DEADLINE, environment
from tests.e2e.scripted_model import Text, scripted_model
from tests.paths import PROJECT

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
