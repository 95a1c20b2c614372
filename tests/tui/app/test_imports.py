"""What the command line, `ua-tui run` and the first frame may import, proved in a fresh interpreter."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import environment, model_environment
from tests.e2e.scripted_model import Text, scripted_model
from tests.waiting import PATIENCE

HEAVY = (
    "claude_agent_sdk", "composio", "logfire", "mcp", "httpx", "watchfiles", "trafilatura", "lxml", "html_to_markdown",
    "nh3", "starlette", "uvicorn", "pydantic", "markdown_it", "pygments", "ua_tui.core.session.session",
    "ua_tui.core.net.client", "ua_tui.core.telemetry.tracer", "ua_tui.core.storage.files", "ua_tui.core.agent",
    "hashlib", "zstandard", "tomllib", "ua_tui.tui.panes.conversation.pane", "ua_tui.tui.panes.trace.pane",
    "ua_tui.tui.panes.workspace.pane", "ua_tui.tui.panes.prompt.pane", "textual.widgets._text_area",
    "ua_tui.tui.graphics.store", "ua_tui.tui.terminal.clipboard", "ua_tui.tui.terminal.desktop",
    "ua_tui.core.session.resume", "ua_tui.core.redaction", "ua_tui.core.events.codec", "ua_tui.core.trust_question",
    "sqlite3", "ua_tui.core.knowledge.index.store", "ua_tui.core.knowledge.search.search", "ua_tui.observers.knowledge",
    "ua_tui.core.team.records", "ua_tui.core.postgres.schema",
)  # fmt: skip
SLOW = (
    "mcp", "jsonschema", "pydantic", "httpx", "httpx2", "trafilatura", "lxml", "logfire", "composio", "starlette",
    "uvicorn", "textual", "rich", "pygments", "markdown_it", "ua_tui.observers.check.session",
    "ua_tui.core.net.client", "ua_tui.core.toolkit.sources.reading", "ua_tui.core.toolkit.knowledge.earlier_articles",
    "multiprocessing", "http.client", "urllib.request", "ua_tui.core.connections.oauth.flow",
    "ua_tui.core.knowledge.search.query", "ua_tui.observers.search_results", "ua_tui.observers.search.tool_names",
    "ua_tui.observers.decoding.decode", "ua_tui.observers.output.ledger", "ua_tui.observers.check.reading",
    "opentelemetry.propagate", "ua_tui.core.claims.checked_report", "ua_tui.core.connections.composio.session",
    "yaml", "re2", "mimetypes", "ua_tui.core.session.rewinding", "ua_tui.core.connections.composio.native",
)  # fmt: skip
"""What a session that only answers may not import, nor the local toolkit that it starts."""
WHILE_STARTING = (
    "opentelemetry.sdk", "psutil", "sqlite3", "ua_tui.core.history.rebuild",
    "ua_tui.core.knowledge.index.database", "ua_tui.core.telemetry.exporters",
)  # fmt: skip
"""What a session needs, but not before the agent's command line is started, which then needs a while itself."""
MOST_DATACLASSES = 30
"""Of the program itself; each takes 0.4 ms to create, a `msgspec.Struct` 0.01 ms."""
TEAM = (
    "psycopg", "psycopg_pool", "ua_tui.core.team", "ua_tui.core.postgres.connection",
    "ua_tui.tui.team",
)  # fmt: skip
"""What only a command of a team, or the setting that names its database, may import."""

FIRST_FRAME = """
import sys
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.cli.full_screen import NextSession, run_screen

seen = []
run = UaTuiApp.run

async def watch(app):
    seen.extend(sys.modules)
    app.exit()

UaTuiApp._after_first_frame = watch
UaTuiApp.run = lambda app: run(app, headless=True)
run_screen(NextSession(load_settings({"demo": True})))
assert "textual.app" in seen
print("\\n".join(seen))
"""

FIRST_FRAME_OF_THE_PAST = """
import pathlib, sys, tempfile
from ua_tui.core.history.session import PastSession
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.replay.past_source import PastSource

seen = []

class Watched(UaTuiApp):
    async def _after_first_frame(self):
        seen.extend(sys.modules)
        self.exit()

with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "journal.jsonl").touch()
    Watched(Settings(), PastSource(PastSession(pathlib.Path(folder)))).run(headless=True)
assert "textual.app" in seen
print("\\n".join(seen))
"""
COMMAND_LINE = """
import sys
from ua_tui.tui.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("\\n".join(sys.modules), file=sys.stderr)
"""
SESSION = (
    """
import sys
seen = []
def note(event, given):
    if event == "subprocess.Popen" and not seen:
        seen.extend(sys.modules)
sys.addaudithook(note)
"""
    + COMMAND_LINE
    + """
print("the command line is started:", *seen, sep="\\n", file=sys.stderr)
from dataclasses import is_dataclass
modules = [module for name, module in [*sys.modules.items()] if name.startswith("ua_tui.")]
classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
own = {each for each in classes if each.__module__.startswith("ua_tui.") and is_dataclass(each)}
print(*sorted(f"{each.__module__}.{each.__name__}" for each in own), sep="\\n")
"""
)
READING = {
    "hashlib",
    "ua_tui.core.storage.files",
    "zstandard",
    "ua_tui.core.redaction",
    "ua_tui.core.events.codec",
}
"""What is needed to find the folder of a past session and to read its journal."""


def printed(
    code: str, *given: str, folder: Path | None = None, env: dict[str, str] | None = None
) -> tuple[str, str]:
    """Run Python in a fresh interpreter; returns its standard output and its standard error."""
    done = subprocess.run(
        [sys.executable, "-c", code, *given], capture_output=True, text=True, timeout=5 * PATIENCE, check=True,
        cwd=folder, env=env or (environment(folder) if folder else None), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_nothing_heavy_is_imported_before_the_first_frame(tmp_path: Path) -> None:
    imported = {*printed(FIRST_FRAME, folder=tmp_path)[0].split()}
    assert [name for name in (*HEAVY, *TEAM) if name in imported] == []


def test_nothing_heavy_is_imported_before_the_first_frame_of_a_past_session() -> None:
    imported = {*printed(FIRST_FRAME_OF_THE_PAST)[0].split()}
    assert [name for name in HEAVY if name in imported - READING] == []


@pytest.mark.parametrize("given", [["--wrong"], ["run", "--help"], ["resume"], ["team", "--help"]])
def test_nothing_heavy_is_imported_to_read_the_options(given: list[str]) -> None:
    imported = {*printed(COMMAND_LINE, *given)[1].split()}
    assert "ua_tui.tui.cli.arguments" in imported
    others = ("textual", "ua_tui.core.settings.model", "asyncio")
    assert [name for name in (*HEAVY, *TEAM, *others) if name in imported] == []


def test_run_imports_nothing_of_the_screen() -> None:
    """Without credentials it ends where a session would begin."""
    imported = {*printed(COMMAND_LINE, "run", "hello")[1].split()}
    assert "ua_tui.tui.plain.one_query" in imported
    screen = re.compile(r"textual|rich|tui\.(app|layout|panes|screens|viewers)\b")
    assert [name for name in sorted(imported) if screen.match(name)] == []


TOOLKIT = """
import json, sys
from ua_tui.core.toolkit.__main__ import main
main([json.dumps({"workspace": sys.argv[1], "knowledge": sys.argv[1] + "/knowledge.db"})])
print("\\n".join(sys.modules), file=sys.stderr)
"""


def test_the_toolkit_imports_nothing_slow_before_a_tool_needs_it(tmp_path: Path) -> None:
    imported = {*printed(TOOLKIT, str(tmp_path / "ws"))[1].split()}
    assert "ua_tui.core.toolkit.mcp_server" in imported
    also = (
        "claude_agent_sdk", "opentelemetry", "sqlite3", "tomllib", "ua_tui.core.settings.model", "asyncio", "logging",
        "ua_tui.core.toolkit.calls", "ua_tui.core.toolkit.server", "ua_tui.core.redaction", "msgspec", "pathlib",
        "inspect", "datetime", "ua_tui.core.errors",
    )  # fmt: skip
    assert [name for name in (*SLOW, *also, *TEAM) if name in imported] == []


def test_a_session_that_only_answers_imports_nothing_slow(tmp_path: Path) -> None:
    with scripted_model(lambda _body, _results: [Text("Hello from the model.")]) as url:
        given = model_environment(tmp_path, url)
        output, modules = printed(SESSION, "run", "say hello", folder=tmp_path, env=given)
    imported, before = ({*each.split()} for each in modules.split("the command line is started:"))
    answer, *dataclasses = output.splitlines()
    assert "Hello" in answer
    assert "claude_agent_sdk" in imported
    assert [name for name in (*SLOW, *TEAM) if name in imported] == []
    assert "claude_agent_sdk" in before
    assert [name for name in WHILE_STARTING if name in before] == []
    assert "ua_tui.core.pipelines.AfterTool" in dataclasses
    assert len(dataclasses) <= MOST_DATACLASSES, dataclasses


@pytest.mark.slow
def test_a_session_imports_nothing_of_a_team(tmp_path: Path) -> None:
    query = ("run", "--demo", "--demo-pace", "0", "What is the capital of France?")
    answer, modules = printed(COMMAND_LINE, *query, folder=tmp_path)
    imported = {*modules.split()}
    assert "Paris" in answer
    assert "ua_tui.core.session.session" in imported
    assert [name for name in TEAM if name in imported] == []


def test_what_may_not_be_imported_exists() -> None:
    """A name that is renamed must be renamed here, too: the tests above would guard nothing."""
    assert [
        name for name in (*HEAVY, *SLOW, *WHILE_STARTING, *TEAM) if importlib.util.find_spec(name) is None
    ] == []
