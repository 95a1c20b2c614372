from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.connections.own_servers import OwnServer, Unusable
from core.doctor.check import Finding, run
from core.doctor.own_servers import ask_own_server, ask_web_reader, own_servers_of
from core.server_trust import ServerTrust
from core.settings import Settings
from core.text import Redactor
from tests.e2e.serving import free_port, serving

PROGRAM = str(Path(__file__).parents[1] / "e2e" / "own_server.py")
KEY = "canary-0123456789abcdef"


def named(folder: Path, **how: Any) -> OwnServer | Unusable:
    """A server that the folder names."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": how}}))
    (found,) = own_servers_of(Settings(), folder)
    return found


def stdio(*more: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [PROGRAM, "stdio", *more]}


async def asked(
    folder: Path, *, trusted: bool = True, environ: Mapping[str, str] | None = None, **how: Any
) -> Finding:
    """What the doctor finds of a server that the folder names."""
    server, trust = named(folder, **how), ServerTrust(folder / "state")
    if trusted and isinstance(server, OwnServer):
        trust.decide(server, folder, "trusted")
    return await ask_own_server(server, folder, environ={**os.environ, **(environ or {})}, trust=trust)


async def test_one_that_is_not_trusted_is_not_started(tmp_path: Path) -> None:
    began = tmp_path / "began"
    found = await asked(tmp_path, trusted=False, **stdio("--began", str(began)))
    assert found.status == "skipped"
    assert PROGRAM in found.found
    assert "ua-tui servers trust notes" in found.advice
    assert not began.exists()


async def test_a_program_tells_its_tools_and_is_ended(tmp_path: Path) -> None:
    began = tmp_path / "began"
    found = await asked(tmp_path, **stdio("--began", str(began)))
    assert (found.status, found.found) == ("ok", "2 tools: take_note, crash")
    with pytest.raises(ProcessLookupError):
        os.kill(int(began.read_text()), 0)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_remote_one_tells_its_tools_to_who_has_the_key(tmp_path: Path, transport: str) -> None:
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
        assert (found.status, found.found) == ("ok", "2 tools: take_note, crash")
        refused = await asked(tmp_path, environ={"NOTES_KEY": "mistaken-0123"}, **how)
        assert refused.status == "failed"
        assert "401" in refused.found
        assert "mistaken" not in refused.found + refused.advice


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"args": []}, "it has no command"),
        ({"command": "no-such-program"}, "there is no program no-such-program"),
        ({"url": "https://${NO_SUCH_VARIABLE}/mcp"}, "needs the variable NO_SUCH_VARIABLE"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit('no \x1b[2J disk')"]}, "disk"),
        ({"command": sys.executable, "args": ["-c", "pass"]}, "does not answer"),
    ],
    ids=["malformed", "no program", "no variable", "dies", "says nothing"],
)
async def test_what_does_not_work_says_why_and_that_a_session_goes_on(
    tmp_path: Path, how: dict[str, Any], why: str
) -> None:
    found = await asked(tmp_path, **how)
    assert found.status == "failed"
    assert why in found.found
    assert "\x1b" not in found.found
    assert "a session goes on without its tools" in found.advice


async def test_one_that_repeats_how_it_was_started_gives_no_secret_away(tmp_path: Path) -> None:
    repeats = "import sys; raise SystemExit('bad words ' + ' '.join(sys.argv[1:]))"
    how = {"command": sys.executable, "args": ["-c", repeats, "x" * 150, "--password", KEY, "--token=" + KEY]}
    for trusted in (True, False):
        found = await asked(tmp_path, trusted=trusted, **how)
        assert "[redacted]" in found.found
        assert KEY[:8] not in found.found + found.advice


async def test_one_that_hangs_is_given_up_and_ended(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    hangs = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    work = asked(tmp_path, command=sys.executable, args=["-c", hangs])
    check = await run("server notes", "Server notes", work, within=3, redactor=Redactor(), required=False)
    assert check.status == "failed"
    assert "no answer within 3 s" in check.found
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)


async def test_the_web_reader_with_a_key_without_one_and_with_a_wrong_one() -> None:
    assert (await ask_web_reader(Settings())).status == "skipped"
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with serving("web_reader_server", port, str(port), KEY):
        found = await ask_web_reader(Settings(web_reader_key=KEY, web_reader_url=url))
        assert (found.status, found.found) == ("ok", "1 tools: webReader")
        wrong = await ask_web_reader(Settings(web_reader_key="wrong-key-0123", web_reader_url=url))
    assert wrong.status == "failed"
    assert "401" in wrong.found
    assert "Z_AI_API_KEY" in wrong.advice
    assert "wrong-key" not in wrong.found + wrong.advice
