from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.core.doctor.test_doctor import ended_when_given_up
from tests.e2e.serving import free_port, serving
from tests.model_server import Answer, model_server
from tests.paths import PROJECT
from tests.waiting import PATIENCE
from ua_tui.core.agent.mcp import client as mcp_client
from ua_tui.core.connections.oauth.store import LoginStore, StoredLogin
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UnusableServer, UserServer, connection_to, find_user_servers
from ua_tui.core.doctor import checks
from ua_tui.core.doctor.findings import Finding
from ua_tui.core.doctor.services import check_user_server, check_web_reader
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.folders import state_folder

PROGRAM = str(PROJECT / "tests" / "e2e" / "own_server.py")
KEY = "canary-0123456789abcdef"


def named(folder: Path, **how: Any) -> UserServer | UnusableServer:
    """A server that the folder names."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": how}}))
    (found,) = find_user_servers(Settings(), folder)
    return found


def stdio(*more: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [PROGRAM, "stdio", *more]}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server starts slowly on a busy machine."""
    monkeypatch.setattr(mcp_client, "_WITHIN", PATIENCE)
    monkeypatch.setattr(mcp_client, "_WITHIN_AFTER_OUTPUT", PATIENCE)


async def asked(
    folder: Path, *, trusted: bool = True, environ: Mapping[str, str] | None = None, **how: Any
) -> Finding:
    """What the doctor finds of a server that the folder names."""
    server, trust = named(folder, **how), ServerTrust(folder / "state")
    if trusted and isinstance(server, UserServer):
        trust.decide(server, folder, "trusted")
    return await check_user_server(server, folder, environ={**os.environ, **(environ or {})}, trust=trust)


async def test_one_that_is_not_trusted_or_was_refused_is_not_started(tmp_path: Path) -> None:
    began = tmp_path / "began"
    found = await asked(tmp_path, trusted=False, **stdio("--began", str(began)))
    assert found.status == "skipped"
    assert PROGRAM in found.found
    assert "ua-tui servers trust notes" in found.advice
    server, trust = named(tmp_path, **stdio("--began", str(began))), ServerTrust(tmp_path / "state")
    assert isinstance(server, UserServer)
    trust.decide(server, tmp_path, "refused")
    found = await check_user_server(server, tmp_path, environ=os.environ, trust=trust)
    assert (found.status, found.found.partition(" (")[0]) == ("skipped", "you refused it")
    assert not began.exists()


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_remote_one_lists_its_tools_for_a_key_or_a_login(
    tmp_path: Path, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    port = free_port()
    how: dict[str, Any] = {
        "type": transport,
        "url": f"http://127.0.0.1:{port}/{'mcp' if transport == 'http' else 'sse'}",
        "headers": {"Authorization": "Bearer ${NOTES_KEY}"},
    }
    away = await asked(tmp_path, environ={"NOTES_KEY": KEY}, **how)
    assert away.status == "failed"
    assert str(tmp_path / ".mcp.json") in away.advice
    with serving("own_server", port, transport, str(port), "--key", KEY):
        found = await asked(tmp_path, environ={"NOTES_KEY": KEY}, **how)
        assert (found.status, found.found) == ("ok", "4 tools: take_note, folder, crash, flood")
        refused = await asked(tmp_path, environ={"NOTES_KEY": "mistaken-0123"}, **how)
        assert refused.status == "failed"
        assert "401" in refused.found
        assert "mistaken" not in refused.found + refused.advice

        # With a login instead.
        del how["headers"]
        found = await asked(tmp_path, **how)
        assert (found.status, found.found) == ("failed", "it needs a login")
        assert (
            found.advice == "to log in, run `ua-tui connect notes`; the session continues without its tools"
        )
        server, trust, logins = named(tmp_path, **how), ServerTrust(tmp_path / "state"), LoginStore()
        assert isinstance(server, UserServer)
        target = connection_to(server, os.environ, tmp_path).login
        assert target is not None
        await logins.save(target, StoredLogin(access_token=KEY))
        found = await check_user_server(server, tmp_path, environ=os.environ, trust=trust)
        assert found.status == "ok"
        await logins.save(target, StoredLogin(access_token="old", expires_at=1.0))
        found = await check_user_server(server, tmp_path, environ=os.environ, trust=trust)
        assert found.found == "the login to notes has expired"
        (state_folder() / "logins.json").write_text("{")
        found = await check_user_server(server, tmp_path, environ=os.environ, trust=trust)
        assert "logins.json cannot be read" in found.found


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"args": []}, "missing required field `command`"),
        ({"command": "no-such-program"}, "no-such-program is not installed"),
        ({"url": "https://${NO_SUCH_VARIABLE}/mcp"}, "needs the variable NO_SUCH_VARIABLE"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit('no \x1b[2J disk')"]}, "disk"),
        ({"command": sys.executable, "args": ["-c", "pass"]}, "does not answer"),
    ],
    ids=["malformed", "no program", "no variable", "dies", "says nothing"],
)
async def test_what_does_not_work_is_reported_with_why(tmp_path: Path, how: dict[str, Any], why: str) -> None:
    found = await asked(tmp_path, **how)
    assert found.status == "failed"
    assert why in found.found
    assert "\x1b" not in found.found
    assert "the session continues without its tools" in found.advice


async def test_one_that_repeats_how_it_was_started_gives_no_secret_away(tmp_path: Path) -> None:
    repeats = "import sys; raise SystemExit('bad words ' + ' '.join(sys.argv[1:]))"
    how: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-c", repeats, "x" * 150, "--password", KEY, "--token=" + KEY],
    }
    for trusted in (True, False):
        found = await asked(tmp_path, trusted=trusted, **how)
        assert "[redacted]" in found.found
        assert KEY[:8] not in found.found + found.advice


@pytest.mark.parametrize("ends", [True, False], ids=["ends", "continues"])
async def test_a_program_that_does_not_speak_the_protocol_is_reported_by_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    monkeypatch.setattr(mcp_client, "_WITHIN_AFTER_OUTPUT", 0.5)
    prints = f"import time; print('hello \\x1b[2J there', flush=True); {'' if ends else 'time.sleep(600)'}"
    found = await asked(tmp_path, command=sys.executable, args=["-c", prints])
    assert found.status == "failed"
    assert found.found.startswith("it does not speak MCP: it printed 'hello ")
    assert "\x1b" not in found.found
    assert ".mcp.json" in found.advice


async def test_a_server_that_prints_before_it_works(tmp_path: Path) -> None:
    began = tmp_path / "began"
    command = [sys.executable, PROGRAM, "stdio", "--began", str(began)]
    starts = f"import os; print('welcome', flush=True); os.execv({sys.executable!r}, {command!r})"
    found = await asked(tmp_path, command=sys.executable, args=["-c", starts])
    assert (found.status, found.found) == ("ok", "4 tools: take_note, folder, crash, flood")
    with pytest.raises(ProcessLookupError):
        os.kill(int(began.read_text()), 0)


@pytest.mark.parametrize(("answer", "why"), [
    ({"error": {"code": -32000, "message": "no licence"}}, "it does not answer: no licence"),
    (
        {"result": {"protocolVersion": "1900-01-01", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}},
        "it speaks MCP 1900-01-01, which the agent does not support",
    ),
    ({"result": {"hello": 1}}, "it does not answer: 3 validation errors"),
])  # fmt: skip
async def test_a_server_that_prints_and_then_refuses_is_reported_by_its_refusal(
    tmp_path: Path, answer: dict[str, Any], why: str
) -> None:
    refuses = (
        "import json, sys\nprint('welcome', flush=True)\nfor line in sys.stdin:\n"
        "  if (asked := json.loads(line).get('id')) is not None:\n"
        f"    print(json.dumps({{'jsonrpc': '2.0', 'id': asked, **{answer!r}}}), flush=True)"
    )
    found = await asked(tmp_path, command=sys.executable, args=["-c", refuses])
    assert found.found.startswith(why)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_web_page_is_no_server(tmp_path: Path, transport: str) -> None:
    page = Answer(200, "<!doctype html><p>Sign in</p>", "text/html; charset=utf-8")
    with model_server(page) as web:
        found = await asked(tmp_path, type=transport, url=f"{web.url}/v1/messages")
        assert found.found == "it answers with a web page, so it is not an MCP server"
        missing = await asked(tmp_path, type=transport, url=f"{web.url}/nothing")
        assert missing.found == "it answers with HTTP 404"
    for status, kind, problem, remedy in (
        (429, "text/plain", "it accepts no more requests for now (HTTP 429)", "try again later;"),
        (200, "application/json", "it answers, but does not speak MCP", "correct it in"),
    ):
        if transport == "http":
            with model_server(Answer(status, '{"hello": 1}', kind)) as web:
                odd = await asked(tmp_path, type=transport, url=f"{web.url}/v1/messages")
            assert odd.found.startswith(problem)
            assert odd.advice.startswith(remedy)
    away = await asked(tmp_path, type=transport, url="http://127.0.0.1:9/mcp")
    assert away.found == "it does not answer: nothing is listening at its address"


def test_the_demo_checks_no_server_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text("{broken")
    for settings, listed in ((Settings(demo=True), False), (Settings(), True)):
        planned = checks._checks(settings, {})
        for check in planned:
            check.work.close()
        assert any("mcp.json" in check.title for check in planned) is listed


async def test_one_that_hangs_is_given_up_and_ended(tmp_path: Path) -> None:
    hangs = f"echo $$ > {tmp_path}/began; mv {tmp_path}/began {tmp_path}/pid; exec sleep 600"
    assert await ended_when_given_up(asked(tmp_path, command="sh", args=["-c", hangs]), tmp_path / "pid")


async def test_the_web_reader_with_a_key_without_one_and_with_a_wrong_one() -> None:
    assert (await check_web_reader(Settings())).status == "skipped"
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with serving("web_reader_server", port, str(port), KEY):
        found = await check_web_reader(Settings(web_reader_key=KEY, web_reader_url=url))
        assert (found.status, found.found) == ("ok", "1 tool: webReader")
        wrong = await check_web_reader(Settings(web_reader_key="wrong-key-0123", web_reader_url=url))
    assert wrong.status == "failed"
    assert "401" in wrong.found
    assert "Z_AI_API_KEY" in wrong.advice
    assert "wrong-key" not in wrong.found + wrong.advice


def has_ended(pid: str) -> bool:
    """Whether a process is gone, or waits only for its parent to notice."""
    try:
        return not Path("/proc", pid, "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True
