from __future__ import annotations

import asyncio
import os
import platform
import socket
import stat
import sys
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.cases import cases_of
from tests.model_server import Answer, ModelServer, model_server, refusal
from tests.observers.plugin_package import install_package
from tests.postgres_server import Database
from tests.waiting import PATIENCE, until
from ua_tui.core.connections import toolkit
from ua_tui.core.connections.base import Connection
from ua_tui.core.connections.toolkit_tools import SERVER
from ua_tui.core.doctor import machine
from ua_tui.core.doctor.checks import run_checks
from ua_tui.core.doctor.findings import (
    DoctorCheck,
    Finding,
    PlannedCheck,
    Status,
    can_start,
    failed,
    run_check,
)
from ua_tui.core.doctor.machine import check_agent, check_folder, check_knowledge, check_plugins, check_python
from ua_tui.core.doctor.services import (
    check_composio,
    check_logfire,
    check_proxies,
    check_session_model,
    check_toolkit,
    models_of,
)
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings

CASES = cases_of(__file__)

KEY = "sk-ant-api03-canary-9f8e7d6c5b4a"
COMPOSIO_KEY = "ak_canary-0123456789"
TOKEN = "pylf_v1_eu_canary0123456789"
SESSION = "/api/v3.1/tool_router/session"
INFO = "/v1/info"
GARBAGE = Answer(200, "\x00\x1b[2J{{{", "application/json")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def nobody() -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def composio_error(status: int, message: str) -> Answer:
    return Answer(status, {"error": {"message": message, "code": 1, "slug": "X", "status": status}})


def check(name: str, status: Status, *, required: bool) -> DoctorCheck:
    return DoctorCheck(name=name, title=name, status=status, found="", required=required)


def test_only_what_is_required_keeps_a_session_from_starting() -> None:
    cases: tuple[tuple[Status, bool, bool], ...] = (
        ("failed", True, False), ("failed", False, True), ("warning", True, True), ("skipped", True, True),
    )  # fmt: skip
    for status, required, could in cases:
        checks = [check("a", "ok", required=True), check("b", status, required=required)]
        assert can_start(checks) is could


async def reported(work: Coroutine[Any, Any, Any], within: float = PATIENCE) -> DoctorCheck:
    return await run_check(PlannedCheck("a", "A", work, within), Redactor([KEY]))


async def ended_when_given_up(work: Coroutine[Any, Any, Any], pid: Path) -> bool:
    """Give a check up once its program has written its process id to a file; returns whether the program is gone."""
    check = asyncio.ensure_future(reported(work))
    await until(pid.exists)
    check.cancel()
    await asyncio.wait({check})
    return is_gone(pid)


def is_gone(pid: Path) -> bool:
    try:
        os.kill(int(pid.read_bytes()), 0)
    except ProcessLookupError:
        return True
    return False


async def test_what_a_check_says_is_clean_and_without_secrets_and_what_breaks_or_hangs_is_a_finding() -> None:
    async def work() -> Finding:
        return failed(f"it said \x1b[2J{KEY}\nand more", f"see {KEY} " + "x" * 1_000)

    async def fails(error: Exception) -> Finding:
        raise error

    found = await reported(work())
    assert (found.status, found.name, found.title) == ("failed", "a", "A")
    for text in (found.found, found.advice):
        assert [each for each in (KEY, "\x1b", "\n") if each in text] == []
        assert len(text) <= 300
    found = await reported(fails(ValueError(f"bad {KEY}")))
    assert found.status == "failed"
    assert found.found.startswith("ValueError: bad ")
    assert KEY not in found.found
    away = "the service is away: try later"
    assert (await reported(fails(ConnectionFailed(away)))).found == away
    found = await reported(asyncio.Event().wait(), within=0.05)
    assert (found.status, "0.05 s" in found.found) == ("failed", True)
    assert found.advice


async def test_python_the_system_and_the_version_of_the_agent_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await check_python()
    assert (found.status, found.found) == ("ok", f"{platform.python_version()} on {platform.system()}")
    monkeypatch.setattr(platform, "system", lambda: "FreeBSD")
    found = await check_python()
    assert (found.status, bool(found.advice)) == ("warning", True)
    for text, status, word in CASES["the_command_line_shows_its_version"]:
        found = await check_agent(script(tmp_path, text), dict(os.environ))
        assert found.status == status
        assert word in found.found
        assert "\x1b" not in found.found
        assert bool(found.advice) == (status != "ok")


def script(folder: Path, text: str, mode: int = stat.S_IRWXU) -> Settings:
    path = folder / "claude"
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return Settings(cli_path=path)


async def test_a_command_line_that_is_missing_or_no_program_is_named_and_gets_no_keys(tmp_path: Path) -> None:
    missing = await check_agent(Settings(cli_path=tmp_path / "nowhere"), {})
    assert missing.status == "failed"
    assert "nowhere" in missing.found
    no_program = await check_agent(script(tmp_path, "", stat.S_IRUSR), {})
    assert no_program.status == "failed"
    assert "cannot be started" in no_program.found
    settings = script(tmp_path, f"env > {tmp_path}/env; echo 2.1.0")
    await check_agent(settings, {**os.environ, "COMPOSIO_API_KEY": COMPOSIO_KEY})
    assert COMPOSIO_KEY not in (tmp_path / "env").read_text()


async def test_a_command_line_that_hangs_is_ended(tmp_path: Path) -> None:
    settings = script(
        tmp_path, f"echo $$ > {tmp_path}/began; mv {tmp_path}/began {tmp_path}/pid; exec sleep 600"
    )
    assert await ended_when_given_up(check_agent(settings, dict(os.environ)), tmp_path / "pid")


async def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One that will be made: the question leaves no trace.
    assert (await check_folder(Settings(workspace_base=tmp_path / "a" / "b"))).status == "ok"
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").touch()
    found = await check_folder(Settings(workspace_base=tmp_path / "file" / "below"))
    assert found.status == "failed"
    assert str(tmp_path / "file") in found.found
    assert "--workspace" in found.advice
    found = await check_folder(Settings(workspace_base=tmp_path / ("x" * 300)))
    assert found.status == "failed"
    assert "File name too long" in found.found
    assert "--workspace" in found.advice
    # No folder of an ordinary system refuses root.
    found = await check_folder(Settings(workspace_base=Path("/proc/self/fdinfo")))
    assert found.status == "failed"
    assert "is not writable" in found.found
    monkeypatch.setattr(machine, "FEW_BYTES", 1 << 80)
    assert (await check_folder(Settings(workspace_base=tmp_path))).status == "warning"


async def test_the_knowledge_base_of_a_team_is_checked(team_database: Database) -> None:
    place = Address.parse(team_database.url)
    found = await check_knowledge(Settings(knowledge=place))
    assert found.status == "ok"
    assert "0 documents" in found.found
    away = await check_knowledge(Settings(knowledge=Address.parse("postgresql://me@127.0.0.1:1/team")))
    assert away.status == "warning"
    assert "no server is listening" in away.found


async def test_a_knowledge_base_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    assert (await check_knowledge(Settings(knowledge="off"))).status == "skipped"
    settings = Settings(knowledge=path)
    assert "will be created by the first session" in (await check_knowledge(settings)).found
    assert not path.exists()
    with open_store(path):
        pass
    found = await check_knowledge(settings)
    assert (found.status, found.found.partition(", ")[2].rpartition(", ")[0]) == (
        "ok",
        "0 documents from 0 sessions",
    )
    path.write_bytes(b"garbage" * 1000)
    found = await check_knowledge(settings)
    assert found.status == "warning"
    assert str(path) in found.found
    assert "ua-tui knowledge" in found.advice


async def asked(server: ModelServer, model: str | None = "m1", **more: str) -> Finding:
    given = {"api_key": KEY} | more
    settings = Settings(base_url=server.url, model=model, **given)  # type: ignore[arg-type]  # keys alone
    return await check_session_model(settings, model, environ={}, within=PATIENCE)


async def test_a_model_is_asked_and_what_to_do_is_shown(server: ModelServer) -> None:
    # All answers: core/provider/test_probe.py.
    for answer, status, word in (
        (Answer(), "ok", "m1"),
        (Answer(401, refusal("authentication_error", "invalid x-api-key")), "failed", "ANTHROPIC_API_KEY"),
        (Answer(429, refusal("rate_limit_error", "30 a minute")), "warning", "Wait"),
        (GARBAGE, "failed", "address"),
    ):
        server.answers["/v1/messages"] = answer
        found = await asked(server)
        assert found.status == status
        assert word in found.found + found.advice
        assert server.url in found.found
    # A model that nobody named may be unknown to a server of one's own.
    server.answers["/v1/messages"] = Answer(404, refusal("not_found_error", "model: claude-haiku-4-5"))
    found = await asked(server, None)
    assert found.status == "warning"
    assert "--model" in found.advice


@pytest.mark.parametrize("service", ["model", "composio", "logfire"])
async def test_what_is_away_or_slow_is_named_and_what_is_not_set_up_is_skipped(
    nobody: str, server: ModelServer, service: str
) -> None:
    async def found_at(url: str, within: float, *, is_set: bool = True) -> Finding:
        match service:
            case "model":
                return await check_session_model(
                    Settings(base_url=url, api_key=KEY), "m", environ={}, within=within
                )
            case "composio":
                key = COMPOSIO_KEY if is_set else None
                settings = Settings(composio_api_key=key, composio_base_url=url)
                return await check_composio(settings, within=within)
            case _:
                settings = Settings(logfire_token=TOKEN if is_set else None)
                return await check_logfire(settings, address=url, within=within)

    away = await found_at(nobody, PATIENCE)
    assert away.status == "failed"
    assert nobody in away.found
    held = threading.Event()
    server.answers |= dict.fromkeys(("/v1/messages", SESSION, INFO), Answer(wait=held))
    slow = await found_at(server.url, 0.3)
    held.set()
    assert slow.status == "failed"
    assert "did not answer" in slow.found
    if service != "model":
        assert (await found_at(server.url, 1, is_set=False)).status == "skipped"


async def test_without_any_way_to_a_model_every_way_is_named(tmp_path: Path) -> None:
    found = await check_session_model(Settings(claude_config_dir=tmp_path), None, environ={}, within=PATIENCE)
    assert found.status == "failed"
    for way in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "claude", "--demo"):
        assert way in found.advice
    # Every model is asked once.
    settings = Settings(model="a", simple_model="b", fallback_model="a")
    assert models_of(settings) == {"model": "a", "simple_model": "b"}


async def test_each_broken_plug_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for number in range(9):
        broken = {"ua_tui.observers": {f"observer-{number}": f"broken_plug_ins_{number}:{'NOTHING' * 20}"}}
        install_package(tmp_path, f"broken_plug_ins_{number}", "", broken)
    found = await check_plugins(Settings())
    assert found.status == "failed"
    assert [number for number in range(9) if f"observer-{number}" not in found.found] == []
    assert "`ua-tui config` says why" in found.found
    assert (await check_plugins(Settings(plugins=False))).status == "skipped"


async def test_a_login_is_found_and_not_tried(tmp_path: Path) -> None:
    (tmp_path / ".credentials.json").write_text('{"claudeAiOauth": {"refreshToken": "canary-0123456789"}}')
    settings = Settings(claude_config_dir=tmp_path, fallback_model="m2")
    found = await check_session_model(settings, None, environ={}, within=PATIENCE)
    assert found.status == "ok"
    assert "canary" not in found.found
    assert (await check_session_model(settings, "m2", environ={}, within=PATIENCE)).status == "skipped"


async def test_of_a_cloud_its_variables_and_credentials_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    environ = {"CLOUD_ML_REGION": "here"}

    async def found_with(**more: str) -> Finding:
        environ.update(more)
        return await check_session_model(
            Settings(vertex=True, api_key=KEY), "m", environ=environ, within=PATIENCE
        )

    found = await found_with()
    assert (found.status, found.found) == ("failed", "Google Vertex AI needs ANTHROPIC_VERTEX_PROJECT_ID")
    # The command line takes no other variable with a project, but that of a file with credentials.
    assert (await found_with(GOOGLE_CLOUD_PROJECT="p1")).status == "failed"
    account = tmp_path / "account.json"
    account.touch()
    found = await found_with(GOOGLE_APPLICATION_CREDENTIALS=str(account))
    assert (found.status, found.found) == (
        "warning",
        "Google Vertex AI needs ANTHROPIC_VERTEX_PROJECT_ID, unless the credentials in "
        "GOOGLE_APPLICATION_CREDENTIALS contain it",
    )
    del environ["CLOUD_ML_REGION"]
    assert (await found_with()).status == "failed"
    del environ["GOOGLE_APPLICATION_CREDENTIALS"]
    environ["CLOUD_ML_REGION"] = "here"
    assert (await found_with(ANTHROPIC_VERTEX_PROJECT_ID="p1")).status == "warning"
    login = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    login.parent.mkdir(parents=True)
    login.touch()
    assert "credentials in ~/.config/gcloud/" in (await found_with()).found
    found = await found_with(GOOGLE_APPLICATION_CREDENTIALS=str(tmp_path / "missing.json"))
    assert (found.status, found.found) == (
        "failed",
        "the file that GOOGLE_APPLICATION_CREDENTIALS names does not exist",
    )
    assert (await found_with(CLAUDE_CODE_SKIP_VERTEX_AUTH="1")).status == "ok"
    del environ["CLAUDE_CODE_SKIP_VERTEX_AUTH"]
    assert "credentials in GOOGLE_APPL" in (await found_with(GOOGLE_APPLICATION_CREDENTIALS=str(login))).found


async def test_only_the_credentials_that_a_cloud_would_use_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    environ = {"AWS_REGION": "here", "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "missing")}

    async def status_with(**more: str) -> str:
        found = await check_session_model(
            Settings(bedrock=True), "m", environ=environ | more, within=PATIENCE
        )
        return found.status

    assert await status_with() == "warning"
    assert await status_with(AWS_ROLE_ARN="role") == "failed"
    assert await status_with(AWS_ROLE_ARN="role", AWS_BEARER_TOKEN_BEDROCK="token") == "ok"
    assert await status_with(AWS_ROLE_ARN="role", CLAUDE_CODE_SKIP_BEDROCK_AUTH="1") == "ok"


@pytest.mark.parametrize(("code", "message", "status", "word"), CASES["composio_itself_is_asked"])
async def test_composio_itself_is_asked(
    server: ModelServer, code: int, message: str | None, status: str, word: str
) -> None:
    # Wherever a message is cut, no half of a key is left.
    server.answers[SESSION] = composio_error(code, message) if message else Answer(code, {"session_id": 3})
    settings = Settings(composio_api_key=COMPOSIO_KEY, composio_base_url=server.url)
    found = await check_composio(settings, within=PATIENCE)
    assert found.status == status
    assert word in found.found
    assert COMPOSIO_KEY[:8] not in found.found
    assert found.advice
    assert len(found.found) < 260
    ((path, headers, body),) = server.asked
    assert (path, headers["x-api-key"]) == (SESSION, COMPOSIO_KEY)
    assert body["user_id"]


async def test_composio_accepts_the_key_and_the_session_is_deleted(server: ModelServer) -> None:
    session = {
        "session_id": "trs_1", "config_version": 1,
        "config": {"user_id": "local-user", "execute": {}, "search": {}, "preload": {"tools": []},
         "instant": False},
        "mcp": {"type": "http", "url": f"{server.url}/tool_router/trs_1/mcp"}, "tool_router_tools": [],
    }  # fmt: skip
    server.answers[SESSION] = Answer(201, session)
    found = await check_composio(
        Settings(composio_api_key=COMPOSIO_KEY, composio_base_url=server.url), within=PATIENCE
    )
    assert found.status == "ok", found
    assert [path for path, _, _ in server.asked] == [SESSION, f"{SESSION}/trs_1"]


@pytest.mark.parametrize(("answer", "status", "word"), CASES["logfire_names_the_project"])
async def test_logfire_names_the_project(server: ModelServer, answer: Any, status: str, word: str) -> None:
    server.answers[INFO] = Answer(*answer)
    found = await check_logfire(Settings(logfire_token=TOKEN), address=server.url, within=PATIENCE)
    assert found.status == status
    assert word in found.found
    ((path, headers, _),) = server.asked
    assert (path, headers["authorization"]) == (INFO, TOKEN)


@pytest.mark.parametrize("odd", ["\n", "\u00e9"], ids=["control", "letter"])
async def test_a_token_that_cannot_be_sent_is_not_repeated(server: ModelServer, odd: str) -> None:
    token = f"pylf_v1_eu_{'canary' * 20}{odd}end"
    found = await check_logfire(Settings(logfire_token=token), address=server.url, within=PATIENCE)
    assert found.status == "failed"
    assert "cannot be sent" in found.found
    assert "LOGFIRE_TOKEN" in found.advice
    assert "canary" not in found.found + found.advice


def toolkit_of(*command: str) -> Connection:
    return Connection(
        servers={SERVER: {"type": "stdio", "command": command[0], "args": list(command[1:]), "env": {}}}
    )


async def test_the_toolkit_lists_its_tools() -> None:
    found = await check_toolkit()
    assert found.status == "ok"
    assert "crawl_parallel" in found.found


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (("/nowhere/python",), "cannot be started"),
        ((sys.executable, "-c", "import sys; sys.exit('no \\x1b[2J disk')"), "disk"),
    ],
    ids=["missing", "dies"],
)
async def test_a_toolkit_that_does_not_start_says_why(
    command: tuple[str, ...], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolkit, "toolkit_connection", lambda _start: toolkit_of(*command))
    found = await check_toolkit()
    assert found.status == "failed"
    assert word in found.found
    assert found.advice


async def test_everything_is_tried_and_reported_as_it_ends(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers[SESSION] = composio_error(401, f"Invalid API key {COMPOSIO_KEY}")
    server.answers[INFO] = Answer(401, {"detail": TOKEN})
    settings = Settings(
        workspace_base=tmp_path,
        base_url=server.url,
        api_key=KEY,
        model="m1",
        fallback_model="m2",
        composio_api_key=COMPOSIO_KEY,
        composio_base_url=server.url,
        logfire_token=TOKEN,
    )
    environ = {**os.environ, "LOGFIRE_BASE_URL": server.url}
    heard: list[str] = []
    for kind in ("MACHINE", "MODEL", "SERVICE", "TOOLKIT"):
        monkeypatch.setattr(f"ua_tui.core.doctor.checks.{kind}_SECONDS", PATIENCE)
    checks = await run_checks(settings, environ, lambda check: heard.append(check.name))
    names = ["python", "agent", "workspace", "knowledge", "plugins", "model", "fallback_model", "toolkit"]
    names += ["composio", "web_reader", "sub-agents", "logfire"]
    assert [check.name for check in checks] == names
    assert sorted(heard) == sorted(names)
    states = {check.name: check.status for check in checks}
    assert [name for name in names if states[name] == "failed"] == ["composio", "logfire"]
    assert can_start(checks)
    detail = " ".join(check.found + check.advice for check in checks)
    for secret in (KEY, COMPOSIO_KEY, TOKEN):
        assert secret not in detail


async def test_a_proxy_that_does_not_run_is_told_in_words() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        found = await check_proxies({"HTTP_PROXY": f"http://127.0.0.1:{bound.getsockname()[1]}"})
    assert found.status == "failed"
    assert found.found.endswith("(HTTP_PROXY) cannot be reached: nothing is listening there")
