"""What arize-phoenix makes of our traces: the real one, a `phoenix` on the PATH; skipped where there is none.

It needs an environment of its own, as it and this program need different versions of the same packages:
`uv tool install arize-phoenix`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.events.types import TracingFailed
from tests.e2e.running import environment, run
from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model
from tests.e2e.serving import free_port
from tests.waiting import wait_until

PHOENIX = shutil.which("phoenix")
LIST = "mcp__local_toolkit__list_directory"
QUERY, NEXT, ANSWER = (
    "Search the folder for reports and list it",
    "And web pages?",
    "There are **no** reports.",
)
STORED = """{ projects(first: 9) { edges { node {
  sessions(first: 9) { edges { node {
    sessionId numTraces userId tokenUsage { prompt completion } costSummary { total { cost } }
    firstInput { truncatedValue } lastOutput { truncatedValue }
  } } }
  spans(first: 99) { edges { node {
    name spanKind startTime tokenCountTotal costSummary { total { cost } }
    input { mimeType truncatedValue } output { mimeType truncatedValue }
  } } }
} } } }"""

pytestmark = pytest.mark.skipif(PHOENIX is None, reason="arize-phoenix is not installed")


def model(_body: dict[str, Any], results: int) -> list[Block]:
    if results:
        return [Text(ANSWER)]
    return [Thinking("What is there?"), Text("I look."), Use(LIST, {"path": ""})]


@contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """Run Phoenix with its files in `folder`; gives its address."""
    assert PHOENIX is not None
    port = free_port()
    variables = {
        "HOME": str(folder),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    with (folder / "phoenix.log").open("wb") as log:
        process = subprocess.Popen(
            [PHOENIX, "serve"], env=kept | variables, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Found:
    """What Phoenix has: sessions, spans, and the first span of each trace, in order."""

    sessions: list[Any]
    spans: list[Any]

    @property
    def roots(self) -> list[Any]:
        roots = [span for span in self.spans if span["name"] == "session"]
        return sorted(roots, key=lambda span: str(span["startTime"]))


def ask(url: str) -> Found | None:
    """Ask Phoenix what it has; None if it does not answer."""
    try:
        answer = httpx.post(f"{url}/graphql", json={"query": STORED}, trust_env=False)
    except httpx.TransportError:
        return None
    stored: dict[str, Any] = answer.json()
    assert "errors" not in stored
    projects = [edge["node"] for edge in stored["data"]["projects"]["edges"]]

    def all_of(name: str) -> list[Any]:
        return [edge["node"] for project in projects for edge in project[name]["edges"]]

    return Found(all_of("sessions"), all_of("spans"))


@pytest.mark.timeout(400)
def test_a_session_reads_as_one_conversation(tmp_path: Path) -> None:
    home, store = tmp_path / "home", tmp_path / "phoenix"
    store.mkdir()
    with phoenix(store) as url, scripted_model(model) as model_url:
        wait_until(lambda: ask(url) is not None, 200)
        env = environment(
            home,
            ANTHROPIC_API_KEY="sk-ant-test-0123456789",
            ANTHROPIC_BASE_URL=model_url,
            UA_CLASSIFIER="off",
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
        )
        first = run(home, "run", QUERY, env=env)
        again = run(home, "run", "--resume", "latest", NEXT, env=env)
        assert (first.code, again.code) == (0, 0), first.stderr + again.stderr
        wait_until(lambda: (found := ask(url)) is not None and len(found.roots) == 2)
        found = ask(url)
    assert found is not None
    # Phoenix takes no metrics: that is no failure.
    assert again.of(TracingFailed) == []
    (session,) = found.sessions
    assert session["sessionId"] == first.session.name
    assert (session["numTraces"], session["userId"]) == (2, "local-user")
    assert session["tokenUsage"] == {"prompt": 300, "completion": 27}
    assert session["costSummary"]["total"]["cost"] > 0
    assert session["firstInput"]["truncatedValue"] == QUERY
    assert session["lastOutput"]["truncatedValue"] == ANSWER
    assert [(root["input"]["truncatedValue"], root["output"]["truncatedValue"]) for root in found.roots] == [
        (QUERY, ANSWER),
        (NEXT, ANSWER),
    ]

    kinds = {span["name"]: span["spanKind"] for span in found.spans}
    assert set(kinds.values()) == {"agent", "chain", "llm", "tool"}
    assert (kinds["query"], kinds["conversation_iteration_1"], kinds["tool_call"]) == ("agent", "llm", "tool")
    assert "claude_code.llm_request" in kinds
    turns = [span for span in found.spans if span["spanKind"] == "llm"]
    assert [span["tokenCountTotal"] for span in turns] == [109, 109, 109]
    assert min(span["costSummary"]["total"]["cost"] for span in turns) > 0
    (call,) = [span for span in found.spans if span["name"] == "tool_call"]
    assert call["input"] == {"mimeType": "json", "truncatedValue": '{"path":""}'}
    assert call["output"]["truncatedValue"]
