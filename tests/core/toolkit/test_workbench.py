"""Files between the remote sandbox and the workspace, against the stand-in on loopback."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.composio_server import HTML, KEY, Fault, StandIn, stand_in
from tests.core.cases import cases_of
from ua_tui.core.connections.base import RemoteSession
from ua_tui.core.errors import (
    ConnectionFailed,
    FetchRefused,
    PathRefused,
    UniversalAgentError,
    WorkspaceError,
)
from ua_tui.core.net.client import Fetcher
from ua_tui.core.observation import McpObservation, TextContent, ToolCall, ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit import remote, workbench
from ua_tui.core.toolkit.calls import ToolContext
from ua_tui.core.toolkit.remote import RemoteFiles
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.downloads import Downloads

CASES = cases_of(__file__)

CHART = os.urandom(70_000)
FILES = {
    "chart.png": CHART,
    "out/table.csv": b"a,b\n1,2\n",
    "big.bin": bytes(workbench.SMALL + 1),
    "CLAUDE.md": b"Obey.",
}


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    with stand_in(FILES) as here:
        yield here


class Here:
    """A toolkit with a session at the stand-in."""

    def __init__(self, service: StandIn, folder: Path) -> None:
        headers = {"x-api-key": KEY}
        made = httpx.post(
            f"{service.url}/api/v3.1/tool_router/session",
            headers=headers,
            json={"user_id": "u"},
            trust_env=False,
        ).json()
        self.service = service
        self.session = {"base_url": service.url, "session_id": made["session_id"], "headers": headers}
        self.file = folder / "composio.json"
        self.hand_over()
        self.workspace = Workspace.open(folder / "ws", Redactor())
        self.resolved: list[str] = []
        files = RemoteFiles(self.file, self.workspace.redactor, self._resolve)
        self.context = ToolContext(self.workspace, Fetcher, open_remote=lambda: files)

    async def _resolve(self, host: str, port: int) -> list[str]:
        self.resolved.append(host)
        return {"storage.example": ["10.0.0.7"], "127.0.0.1": ["127.0.0.1"]}.get(host, ["8.8.8.8"])

    def hand_over(self, **changed: object) -> None:
        self.file.write_text(json.dumps(self.session | changed))

    async def download(self, path: str, **more: object) -> dict[str, object]:
        found: dict[str, object] = json.loads(await workbench.workbench_download(self.context, path, **more))  # type: ignore[arg-type]
        return found

    async def upload(self, path: str, **more: object) -> dict[str, object]:
        found: dict[str, object] = json.loads(await workbench.workbench_upload(self.context, path, **more))  # type: ignore[arg-type]
        return found


@pytest.fixture
async def here(server: StandIn, tmp_path: Path) -> AsyncIterator[Here]:
    made = Here(server, tmp_path)
    yield made
    made.workspace.close()
    server.faults.clear()


async def test_a_file_goes_down_whole_and_up_again(here: Here) -> None:
    reported = await here.download("/mnt/files/chart.png")
    assert (reported["status"], reported["path"], reported["size"]) == (
        "saved", "downloads/chart.png", len(CHART),
    )  # fmt: skip
    assert here.workspace.read("downloads/chart.png") == CHART
    assert (await here.download("chart.png"))["path"] == "downloads/chart-2.png"
    assert (await here.download("out/table.csv", name="My table.csv"))["path"] == "downloads/my_table.csv"
    reported = await here.upload("downloads/chart.png", remote_path="/mnt/files/in/chart copy.png")
    assert reported["remote_path"] == "/mnt/files/in/chart copy.png"
    session = str(here.session["session_id"])
    assert here.service.mounts.files(session)["in/chart copy.png"] == CHART
    await here.upload(f"{here.workspace.path}/downloads/my_table.csv")
    assert here.service.mounts.files(session)["my_table.csv"] == b"a,b\n1,2\n"


async def test_secrets_in_a_downloaded_text_and_its_name_are_masked(here: Here) -> None:
    here.workspace.redactor.add("secret-of-the-user")
    session = str(here.session["session_id"])
    here.service.mounts.files(session)["secret-of-the-user.txt"] = b"it is secret-of-the-user."
    reported = await here.download("secret-of-the-user.txt")
    assert "secret_of" not in str(reported["path"])
    data = here.workspace.read(str(reported["path"]))
    assert data == b"it is [redacted]."
    assert reported["sha256"] == hashlib.sha256(data).hexdigest()


async def test_what_was_downloaded_is_among_what_was_saved(here: Here) -> None:
    reported = await here.download("chart.png")
    seen = McpObservation(
        tool_name="mcp__local_toolkit__workbench_download",
        tool_use_id="toolu_1",
        server="local_toolkit",
        content=(TextContent(json.dumps(reported)),),
    )
    call = ToolCall(name=seen.tool_name, tool_use_id="toolu_1", input={"path": "chart.png"})
    assert Downloads().wants(call)
    context = ObserverContext(here.workspace)
    (saved,) = Downloads().observe(ToolResult(call=call, observation=seen), context).artifacts
    assert (saved.path, saved.kind, saved.sha256) == ("downloads/chart.png", "download", reported["sha256"])
    here.workspace.write("downloads/chart.png", b"another")
    with pytest.raises(UniversalAgentError, match="has been changed since"):
        Downloads().observe(ToolResult(call=call, observation=seen), context)


async def test_a_large_file_stays_remote_until_asked_for(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    reported = await here.download("big.bin")
    assert (reported["status"], reported["size"]) == ("left_remote", workbench.SMALL + 1)
    assert "path" not in reported
    assert not here.workspace.exists("downloads/big.bin")
    assert (await here.download("big.bin", allow_large=True))["size"] == workbench.SMALL + 1
    with pytest.raises(WorkspaceError, match="allow_large"):
        await here.upload("downloads/big.bin")
    with monkeypatch.context() as patch:
        patch.setattr(workbench, "LARGEST", workbench.SMALL)
        with pytest.raises(ConnectionFailed, match="cannot be downloaded"):
            await here.download("big.bin", allow_large=True)
    # A size that was not given, or lies, is noticed.
    bomb = gzip.compress(bytes(30 << 20))
    here.service.faults.append(Fault("GET /storage/", 200, bomb, headers={"content-encoding": "gzip"}))
    assert (await here.download("chart.png"))["status"] == "left_remote"


async def test_paths_that_lead_elsewhere_are_refused(here: Here) -> None:
    here.service.requests.clear()
    here.workspace.write("a.txt", "x")
    for path in (*CASES["paths_that_lead_elsewhere_are_refused"], "x" * 1_100):
        with pytest.raises(PathRefused):
            await here.download(path)
        with pytest.raises(PathRefused):
            await here.upload("a.txt", remote_path=path or "..")
    assert here.service.requests == []


async def test_names_are_made_safe_and_nothing_outside_is_read_or_written(here: Here, tmp_path: Path) -> None:
    with pytest.raises(PathRefused):
        await here.download("CLAUDE.md")
    for name in ("conftest.py", "table.sh", "package.json", "table"):
        with pytest.raises(PathRefused, match="is refused"):
            await here.download("out/table.csv", name=name)
    reported = await here.download("out/table.csv", name="../../CLAUDE.md")
    assert str(reported["path"]).startswith("downloads/")
    assert "/" not in str(reported["path"]).removeprefix("downloads/")
    (tmp_path / "secret").write_text("secret")
    (here.workspace.path / "link").symlink_to(tmp_path / "secret")
    for path in ("link", str(tmp_path / "secret"), "../secret"):
        with pytest.raises(WorkspaceError):
            await here.upload(path)


async def test_addresses_that_lead_into_private_places_are_not_used(here: Here) -> None:
    for address, words in CASES["addresses_that_lead_into_private_places_are_not_used"]:
        here.service.faults.clear()
        for name in ("download_url", "upload_url"):
            here.service.faults.append(
                Fault(f"mounts/files/{name}", 200, json.dumps({name: address}).encode())
            )
        here.workspace.write("a.txt", "x")
        for work in (here.download("chart.png"), here.upload("a.txt")):
            with pytest.raises(FetchRefused, match=words):
                await work


async def test_loopback_is_for_a_service_on_loopback_alone() -> None:
    session = RemoteSession("https://backend.composio.dev", "trs_1", {})
    with pytest.raises(FetchRefused):
        remote._check_address("http://127.0.0.1:8000/x", session)
    remote._check_address("https://bucket.r2.test/x?sig=1", session)


async def test_failures_are_reported_with_the_remedy(here: Here) -> None:
    for fault, words in (
        (Fault("mounts", 401), "set COMPOSIO_API_KEY to a valid key"),
        (Fault("mounts", 200, HTML, "text/html"), "a web page instead of JSON"),
        (Fault("mounts", 200, b"{}"), "without an address"),
        (Fault("mounts", 429, headers={"retry-after": "60"}), "HTTP 429"),
        (Fault("GET /storage", 403, b"AccessDenied"), "its address may have expired"),
        (Fault("GET /storage", 302, headers={"location": "http://169.254.169.254/"}), "not followed"),
    ):  # fmt: skip
        here.service.faults[:] = [fault]
        with pytest.raises(ConnectionFailed, match=words) as reported:
            await here.download("chart.png")
        assert KEY not in str(reported.value)
        assert "/storage/" not in str(reported.value)


async def test_missing_files_and_sessions_are_distinguished_and_a_short_wait_is_kept(here: Here) -> None:
    with pytest.raises(ConnectionFailed, match=r"no file /mnt/files/nope\.txt"):
        await here.download("nope.txt")
    here.service.faults.append(Fault("download_url", 503, headers={"retry-after": "0"}, times=2))
    assert (await here.download("chart.png"))["status"] == "saved"
    # Another session is signed in to from the next call on.
    here.hand_over(session_id="trs_gone")
    with pytest.raises(ConnectionFailed, match="has ended"):
        await here.download("chart.png")
    here.file.unlink()
    with pytest.raises(ConnectionFailed, match="not connected"):
        await here.download("chart.png")
