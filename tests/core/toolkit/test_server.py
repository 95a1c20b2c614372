from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from tests.core.toolkit_site import running_site
from tests.waiting import PATIENCE, until
from ua_tui.core.agent.environment import PrivateFolder
from ua_tui.core.connections.progress import ProgressReceiver, send_progress
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import Event, ToolCallProgress
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.redaction.sharing import SharedSecrets, short_path
from ua_tui.core.telemetry.http import ServiceRequest
from ua_tui.core.toolkit.__main__ import main

HOSTILE = "import pathlib; pathlib.Path(__file__).with_name('imported').touch()\n"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A working directory in which someone left a package named core."""
    folder = tmp_path / "cwd"
    (folder / "core" / "toolkit").mkdir(parents=True)
    for path in ("core/__init__.py", "core/toolkit/__init__.py", "core/toolkit/__main__.py", "mcp.py"):
        (folder / path).write_text(HOSTILE)
    return folder


@asynccontextmanager
async def toolkit(workspace: Path, cwd: Path, **start: Any) -> AsyncIterator[Client]:
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        "SERVICE_API_KEY": "canary-0123456789",
    }
    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-m", "ua_tui.core.toolkit", json.dumps({"workspace": str(workspace), **start})],
        env=environment,
        cwd=cwd,
    )
    async with Client(server, read_timeout_seconds=PATIENCE) as client:
        yield client


def _imported(planted: Path) -> list[Path]:
    return list(planted.rglob("imported"))


def _text(result: CallToolResult) -> str:
    assert result.structured_content is None
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_one_server_describes_its_tools_crawls_pages_and_writes_only_in_the_workspace(
    tmp_path: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    private = PrivateFolder()
    reported: asyncio.Queue[Event] = asyncio.Queue()
    requests: list[ServiceRequest] = []
    receiver = ProgressReceiver(private.path / "p", reported.put_nowait, requests.append)
    assert receiver.path.stat().st_mode & 0o777 == 0o600
    with closing(receiver):
        async with (
            running_site() as site,
            toolkit(
                workspace, planted, routes={".example": site.address}, progress_socket=str(receiver.path)
            ) as client,
        ):
            await _check_descriptions(client)
            await _check_files(client, workspace)
            await _check_crawl(client, workspace, site.address)
        progress = [await asyncio.wait_for(reported.get(), PATIENCE) for _ in range(6)]
        # Each request of a call is reported, robots.txt included, and no site learns of a trace.
        await until(lambda: len(requests) == 6)
        assert {each.tool_use_id for each in requests} == {"toolu_1"}
        made = Counter((each.host, each.route, each.status) for each in requests)
        assert made == {
            ("chips.example", "/*", 200): 1, ("chips.example", "/story/*", 200): 4, ("chips.example", "/gone", 404): 1,
        }  # fmt: skip
        assert not any("traceparent" in head for head in site.heads)
    assert progress == [
        ToolCallProgress(at=each.at, tool_use_id="toolu_1", done=done, total=6, unit="pages")
        for done, each in enumerate(progress, 1)
    ]
    assert not _imported(planted)
    # Without isolation it would have been.
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", "import core"], cwd=planted, check=True)
    assert _imported(planted)


async def test_what_is_no_progress_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reported: asyncio.Queue[Event] = asyncio.Queue()
    deep = tmp_path / ("long" * 25)
    deep.mkdir()
    with closing(ProgressReceiver(deep / "p", reported.put_nowait)) as receiver:
        send_progress(receiver.path, "x" * 5_000, 1, 2, "pages")
        for done, total in ((3, 2), (-1, 2)):
            send_progress(receiver.path, "t", done, total, "pages")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending, short_path(receiver.path) as name:
            sending.sendto(b"\x94\xa1\xff\x01\x02\xa1x", name)
        send_progress(receiver.path, "t", 1, 2, "pages\x1b[2J")
        event = await asyncio.wait_for(reported.get(), PATIENCE)
    assert describe(event).sentence == "t: 1 of 2 pages\ufffd[2J"
    assert len(caplog.records) == 4
    send_progress(receiver.path, "t", 1, 2, "nobody receives it any more")


async def test_the_secrets_of_the_session_are_masked_in_what_tools_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "ws"
    redactor = Redactor(["first-secret-of-the-user", "bytes-\udcff-of-9-characters"])
    deep = tmp_path / ("long" * 25)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    private = PrivateFolder()
    shared = SharedSecrets(private.path / "s", redactor)
    assert shared.path.stat().st_mode & 0o777 == 0o600
    try:
        async with toolkit(workspace, tmp_path, secrets_socket=str(shared.path)) as client:
            # What the session learns while the toolkit runs is masked, too.
            redactor.add("second-secret-learned-later")
            text = "first-secret-of-the-user and second-secret-learned-later"
            result = await client.call_tool("write_local_file", {"path": "a.txt", "content": text})
            assert "masked" in _text(result)
            assert (workspace / "a.txt").read_text() == "[redacted] and [redacted]"
            result = await client.call_tool(
                "write_local_file", {"path": "work_products/first-secret-of-the-user.md", "content": "x"}
            )
            assert "choose another name" in _text(result)
            shared.close()
            await client.call_tool("write_local_file", {"path": "b.txt", "content": text})
            assert (workspace / "b.txt").read_text() == "[redacted] and [redacted]"
    finally:
        shared.close()
        private.remove()
    assert not [path for path in workspace.rglob("*") if "first-secret" in path.name]


async def _check_descriptions(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    server = client.server_info
    assert server is not None
    assert server.name == "local_toolkit"
    assert set(tools) == {
        "crawl_parallel", "save_corpus", "write_local_file", "read_local_file", "list_directory",
    }  # fmt: skip
    hints = {name: tool.annotations or ToolAnnotations() for name, tool in tools.items()}
    read_only = {name for name, hint in hints.items() if hint.read_only_hint}
    assert read_only == {"read_local_file", "list_directory"}
    assert hints["write_local_file"].destructive_hint
    assert hints["crawl_parallel"].open_world_hint
    assert all(tool.output_schema is None and tool.description for tool in tools.values())
    meta = tools["read_local_file"].meta
    assert meta is not None
    assert meta["anthropic/maxResultSizeChars"] >= 200_000


async def test_the_knowledge_base_has_tools_that_only_read_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    base = str(tmp_path / "knowledge.db")
    async with toolkit(tmp_path / "ws", tmp_path, knowledge=base, demo=True) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name in ("knowledge_search", "knowledge_read", "knowledge_sources"):
            hints = tools[name].annotations
            assert hints is not None
            assert hints.read_only_hint
            assert not hints.open_world_hint
        assert tools["knowledge_search"].input_schema["required"] == ["query"]
        found = json.loads(_text(await client.call_tool("knowledge_search", {"query": "chips"})))
        assert (found["hits"], len(found["notes"])) == ([], 2)
        result = await client.call_tool("knowledge_read", {"id": 7})
        assert result.is_error
        assert "no document 7" in _text(result)
        (tmp_path / "knowledge.db").mkdir()
        result = await client.call_tool("knowledge_sources", {"url": "https://a.example/"})
        assert result.is_error
        assert "knowledge.db" in _text(result)
    assert sorted(os.listdir(tmp_path)) == ["knowledge.db", "ws"]


async def _check_files(client: Client, workspace: Path) -> None:
    outside = workspace.with_name("outside")
    outside.mkdir()
    (outside / "secret").write_text("untouched")
    (workspace / "ln").symlink_to(outside)
    (workspace / "f").symlink_to(outside / "secret")
    # All of those that are refused: test_files.
    for path in ["../x", "/etc/x", f"{workspace}_evil/x", "ln/x", "f", ".env"]:
        result = await client.call_tool("write_local_file", {"path": path, "content": "pwned"})
        assert result.is_error, path
        assert "write_local_file: " in _text(result), path
    assert "protected" in _text(result)
    result = await client.call_tool(
        "write_local_file", {"path": "work_products/report.html", "content": "<p>fine</p> canary-0123456789"}
    )
    written = json.loads(_text(result))
    assert written["path"] == "work_products/report.html"
    read = _text(await client.call_tool("read_local_file", {"path": "work_products/report.html"}))
    assert read == "<p>fine</p> [redacted]"
    for bounds in ({"offset": -1}, {"limit": 0}, {"limit": 200_001}):
        result = await client.call_tool("read_local_file", {"path": "work_products/report.html"} | bounds)
        assert result.is_error, bounds
    listed = _text(await client.call_tool("list_directory", {}))
    assert "work_products/" in listed
    result = await client.call_tool("save_corpus", {})
    assert result.is_error
    assert "nothing to save" in _text(result)
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
    assert (outside / "secret").read_text() == "untouched"
    assert not workspace.with_name("ws_evil").exists()
    files = await asyncio.to_thread(lambda: [path for path in workspace.rglob("*") if path.is_file()])
    assert not any(b"pwned" in path.read_bytes() for path in files)


async def _check_crawl(client: Client, workspace: Path, address: str) -> None:
    urls = [
        *(f"https://chips.example/story/{number}" for number in range(4)),
        "https://chips.example/gone",
        f"http://{address}/story/7",
    ]
    meta: Any = {"claudecode/toolUseId": "toolu_1"}
    result = await client.call_tool("crawl_parallel", {"urls": urls}, meta=meta)
    assert not result.is_error
    crawl = json.loads(_text(result))
    corpus = json.loads(_text(await client.call_tool("save_corpus", {})))
    assert crawl["saved"] == 4
    assert [article["title"] for article in crawl["articles"]] == [f"Chip story {n}" for n in range(4)]
    assert {failure["url"]: failure["code"] for failure in crawl["failed"]} == {
        urls[4]: "http_404",
        urls[5]: "refused",
    }
    assert all((workspace / article["path"]).is_file() for article in crawl["articles"])
    assert corpus["count"] == 4
    assert len(json.loads((workspace / "expanded_corpus.json").read_text())["articles"]) == 4


def test_wrong_usage_is_one_line_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (
        [],
        ["--workspace", "ws"],
        ["ws"],
        ['{"routes": {}}'],
        ['{"workspace": 3}'],
        ["{}", "{}"],
    ):
        assert main(arguments) == 2
        output, errors = capsys.readouterr()
        assert (output, len(errors.splitlines())) == ("", 1)
        assert errors.startswith("ua_tui.core.toolkit is started by ua-tui: ")
        assert not list(tmp_path.iterdir())


def test_it_ends_with_its_input_and_a_call_says_that_the_workspace_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_directory"}}
    for folder, answer in (
        ("file/ws", "Error executing tool list_directory: "),
        ("ws", "workspace: 0 entries"),
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-m", "ua_tui.core.toolkit", json.dumps({"workspace": str(tmp_path / folder)})],
            input=json.dumps(call), capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        (content,) = json.loads(done.stdout)["result"]["content"]
        assert answer in content["text"]
