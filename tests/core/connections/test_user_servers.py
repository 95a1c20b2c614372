from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.cases import cases_of
from ua_tui.core.connections.oauth.headers import LoginHeaders
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.oauth.target import OAuthClient
from ua_tui.core.connections.trust import ServerTrust, UserConnections
from ua_tui.core.connections.user_servers import (
    UnusableServer,
    UserServer,
    connection_to,
    project_servers,
    settings_servers,
)
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.sources import SourcedValue

CASES = cases_of(__file__)

SECRET = "canary-0123456789"


def written(folder: Path, servers: Any) -> list[UserServer | UnusableServer]:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return project_servers(folder)


def server(folder: Path, **how: Any) -> UserServer:
    (found,) = written(folder, {"notes": how})
    assert isinstance(found, UserServer), found
    return found


@pytest.mark.parametrize(
    ("how", "transport", "target", "made"), CASES["each_transport_becomes_a_configuration_of_the_agent"]
)
def test_each_transport_becomes_a_configuration_of_the_agent(
    tmp_path: Path, how: dict[str, Any], transport: str, target: str, made: dict[str, Any]
) -> None:
    found = server(tmp_path, **how)
    assert (found.transport, found.target, found.in_folder) == (transport, target, True)
    (done,) = connection_to(found, {}, tmp_path).servers.values()
    assert made.items() <= (done | done.get("env", {})).items()


def test_a_program_gets_its_own_variables_and_plain_ones_but_none_of_the_agent(tmp_path: Path) -> None:
    found = server(
        tmp_path, command="env", env={"NOTES_KEY": "own value\nof two lines", "ANTHROPIC_BASE_URL": "mine"}
    )
    ours = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/cache",
    }  # fmt: skip
    (done,) = connection_to(found, ours, tmp_path).servers.values()
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"):
        assert done["env"][name] == ""
    agents = {
        "ANTHROPIC_API_KEY": SECRET, "CLAUDE_CODE_OAUTH_TOKEN": SECRET, "CLAUDE_CODE_MESSAGING_TOKEN": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET, "ANTHROPIC_BASE_URL": "the agent's", "XDG_CACHE_HOME": "/private/cache",
        "XDG_DATA_HOME": "",
    }  # fmt: skip
    printed = subprocess.run(
        [done["command"], *done["args"]],
        env={**ours, **agents, **done["env"]},
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert SECRET not in printed
    lines = set(printed.splitlines()) - {"LC_CTYPE=C.UTF-8"}
    assert lines == {
        *(f"{name}={value}" for name, value in ours.items()),
        "NOTES_KEY=own value",
        "of two lines",
        "ANTHROPIC_BASE_URL=mine",
    }


def test_variables_are_filled_in_and_are_secrets(tmp_path: Path) -> None:
    found = server(
        tmp_path,
        url="https://${HOST:-a.example}/mcp",
        headers={"Authorization": "Bearer ${NOTES_KEY}", "X-Plain": "written-down", "Api-Key": "written-key"},
    )
    assert SECRET not in found.target + repr(found.given)
    assert found.shown == [
        "Authorization=Bearer ${NOTES_KEY}", "X-Plain=written-down", "Api-Key=(not shown: 11 characters)",
    ]  # fmt: skip
    # What is written in the file is known before there is a connection.
    assert "written-key" in found.secrets
    assert "written-down" not in found.secrets
    made = connection_to(found, {"NOTES_KEY": SECRET, "HOST": ""}, tmp_path)
    (done,) = made.servers.values()
    assert done["url"] == "https://a.example/mcp"
    assert done["headers"]["Authorization"] == f"Bearer {SECRET}"
    assert {SECRET, "written-key"} <= set(made.secrets)
    assert "written-down" not in made.secrets
    # A place and the name of the user are none.
    environ = {"HOME": str(tmp_path), "USER": "somebody-long", "PATH": os.defpath, "NOTES_KEY": SECRET}
    found = server(tmp_path, command="sh", args=["${HOME}/notes", "${USER}", "${PATH}", "${NOTES_KEY}"])
    made = connection_to(found, environ, tmp_path)
    assert made.servers["notes"]["args"][-4:] == [f"{tmp_path}/notes", "somebody-long", os.defpath, SECRET]
    assert made.secrets == (SECRET,)


def test_a_variable_that_is_not_set_and_a_program_that_is_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "serve").touch()
    cases: tuple[tuple[dict[str, Any], str], ...] = CASES[
        "a_variable_that_is_not_set_and_a_program_that_is_not_there_are"
    ]
    for how, problem in cases:
        with pytest.raises(ConnectionFailed, match=problem):
            connection_to(server(tmp_path, **how), {"PATH": os.defpath}, tmp_path)


def test_a_program_is_started_in_the_folder_with_its_arguments_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "my folder"
    folder.mkdir()
    (folder / "serve").write_text("#!/bin/sh\npwd\nprintf '%s\\n' \"$@\"\n")
    (folder / "serve").chmod(0o700)
    found = server(folder, command="./serve", args=["a b", "$HOME", "*"])
    (made,) = connection_to(found, {"PATH": os.defpath}, folder).servers.values()
    done = subprocess.run(
        [made["command"], *made["args"]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [str(folder), "a b", "$HOME", "*"]


@pytest.mark.parametrize(
    ("name", "how", "reported"),
    [
        *CASES["a_problem_of_one_server_is_reported_alone"],
        ("notes", {"command": "x", "args": ["y" * 8_000]}, "more than 8,000 characters"),
        ("notes", {"command": "x", "args": ["y"] * 1_000}, "more than 8,000 characters"),
    ],
)
def test_a_problem_of_a_server_is_reported_alone(tmp_path: Path, name: str, how: Any, reported: str) -> None:
    bad, good = written(tmp_path, {name: how, "fine": {"command": "y"}})
    assert isinstance(bad, UnusableServer)
    assert reported in bad.problem
    assert str(tmp_path) in bad.problem
    assert isinstance(good, UserServer)


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "defines no servers"),
        (b'{"mcpServers": 1}', "defines no servers"),
        (b" " * ((1 << 20) + 1), "larger than 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, content: bytes, reported: str) -> None:
    assert project_servers(tmp_path) == []
    (tmp_path / ".mcp.json").write_bytes(content)
    (found,) = project_servers(tmp_path)
    assert isinstance(found, UnusableServer)
    assert reported in found.problem


def test_of_too_many_servers_the_first_are_used(tmp_path: Path) -> None:
    def in_settings(servers: dict[str, Any]) -> SourcedValue:
        return SourcedValue(servers, "file", "mcp_servers", tmp_path / "ua-tui.toml", in_folder=True)

    servers: dict[str, Any] = {f"s{number}": {"command": "x"} for number in range(60)}
    for found in (written(tmp_path, servers), settings_servers([in_settings(servers)])):
        *used, reported = found
        assert [each.name for each in used] == list(servers)[:50]
        assert isinstance(reported, UnusableServer)
        assert "names 60 servers: only the first 50 are used" in reported.problem
    # One that is disabled is left out.
    servers = {"off": {"command": "x", "disabled": True}, "on": {"command": "x", "disabled": False}}
    for found in (written(tmp_path, servers), settings_servers([in_settings(servers)])):
        assert [each.name for each in found] == ["on"]


def test_servers_of_settings_count_once_and_the_users_own_are_trusted(tmp_path: Path) -> None:
    folders = {"notes": {"command": "instead"}, "theirs": {"command": "theirs"}}
    own = {"notes": {"command": "mine"}, "more": {"url": "https://a.example/"}}
    found = settings_servers(
        [
            SourcedValue(folders, "file", "mcp_servers", tmp_path / "ua-tui.toml", in_folder=True),
            SourcedValue(own, "file", "mcp_servers", tmp_path / "config.toml"),
        ]
    )
    # Of those of one name the first counts.
    found = found[::-1]
    reported = {each.name: (each.target, each.in_folder) for each in found if isinstance(each, UserServer)}
    assert reported == {
        "notes": ("mine", False), "more": ("https://a.example/", False), "theirs": ("theirs", True),
    }  # fmt: skip
    trust = ServerTrust(tmp_path / "state")
    assert {each.name: trust.decision(each, tmp_path) for each in found if isinstance(each, UserServer)} == {
        "notes": "trusted",
        "more": "trusted",
        "theirs": None,
    }


def test_trust_holds_for_one_folder_and_one_configuration(tmp_path: Path) -> None:
    trust = ServerTrust(tmp_path / "state")
    found = server(tmp_path, command="npx", args=["-y", "notes"])
    assert trust.decision(found, tmp_path) is None
    trust.decide(found, tmp_path, "trusted")
    again = ServerTrust(tmp_path / "state")
    assert again.decision(found, tmp_path) == "trusted"
    assert again.decision(found, tmp_path / "elsewhere") is None
    assert again.decision(server(tmp_path, command="npx", args=["-y", "other"]), tmp_path) is None
    assert (
        again.decision(server(tmp_path, command="npx", args=["-y", "notes"], env={"A": "b"}), tmp_path)
        is None
    )
    again.decide(found, tmp_path, "refused")
    assert trust.decision(found, tmp_path) == "refused"
    trust.decide(found, tmp_path, None)
    assert trust.decision(found, tmp_path) is None
    # Nothing is trusted by a file that cannot be read, and the next decision is kept.
    trust.decide(found, tmp_path, "trusted")
    (stored,) = (tmp_path / "state/trusted-folders").iterdir()
    stored.write_text("{")
    assert trust.decision(found, tmp_path) is None
    trust.decide(found, tmp_path, "trusted")
    assert trust.decision(found, tmp_path) == "trusted"


def test_secrets_among_the_arguments_are_masked_and_are_given_to_the_redactor(tmp_path: Path) -> None:
    args = ["--password", SECRET, "-p", "8080", "--name", "${NAME}", f"--token={SECRET}-2"]
    found = server(tmp_path, command="sh", args=args)
    assert found.target == "sh --password [redacted] -p 8080 --name '${NAME}' --token=[redacted]"
    made = connection_to(found, {"NAME": "of-the-environment"}, tmp_path)
    assert set(made.secrets) == {"of-the-environment", SECRET, f"{SECRET}-2"}
    (done,) = made.servers.values()
    assert done["args"][-len(args) :] == [each.replace("${NAME}", "of-the-environment") for each in args]
    url = f"https://me:{SECRET}@a.example/mcp?api_key=k-{SECRET}&page=2"
    found = server(tmp_path, url=url)
    assert found.target == "https://me:[redacted]@a.example/mcp?api_key=[redacted]&page=2"
    made = connection_to(found, {}, tmp_path)
    assert set(made.secrets) == {SECRET, f"k-{SECRET}"}
    assert made.servers["notes"]["url"] == url


def test_what_is_decided_is_kept_without_the_secrets_and_holds_for_them_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    found = server(tmp_path, command="sh", args=["--token", SECRET])
    ServerTrust(state).decide(found, tmp_path, "trusted")
    (stored,) = (state / "trusted-folders").iterdir()
    kept = stored.read_text()
    assert SECRET not in kept
    assert "sh --token [redacted]" in kept
    assert ServerTrust(state).decision(found, tmp_path) == "trusted"
    another = server(tmp_path, command="sh", args=["--token", "another-secret"])
    assert another.target == found.target
    assert ServerTrust(state).decision(another, tmp_path) is None


def test_a_file_of_decisions_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    found = server(tmp_path, command="sh", args=["--token", SECRET, "two words"])
    remote = {"folder": "/", "name": "a", "target": f"https://u:{SECRET}@h/", "decision": "refused", "at": ""}
    # As it was written before: the hash was made of the whole command then, too.
    whole = ["notes", "stdio", f"sh --token {SECRET} 'two words'", {}]
    digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
    key = json.dumps([str(tmp_path.resolve()), digest])
    entry = remote | {"target": whole[2], "decision": "trusted"}
    kept = tmp_path / "trusted-servers.json"
    kept.write_text(json.dumps({key: entry, "remote": remote}))
    trust = ServerTrust(tmp_path)
    assert trust.decision(found, tmp_path) == "trusted"
    trust.decide(found, tmp_path, "refused")
    assert trust.decision(found, tmp_path) == "refused"
    trust.decide(found, tmp_path, None)
    assert trust.decision(found, tmp_path) is None


def test_a_server_without_a_key_can_have_a_login_with_a_client_as_others_write_it(tmp_path: Path) -> None:
    oauth = {
        "clientId": "${ID}", "clientSecret": "${SECRET}", "callbackPort": 8765, "scopes": "read", "new": 1,
    }  # fmt: skip
    url = "https://notes.example/mcp"
    servers = {
        "plain": {"url": url},
        "keyed": {"url": url, "headers": {"authorization": "Bearer x"}},
        "known": {"url": url, "oauth": oauth},
        "ours": {"type": "sse", "url": url, "oauth": {"client_id": "a", "client_secret": "a-secret-of-ours"}},
        "wrong": {"url": url, "oauth": {"callbackPort": "8765"}},
        "odd": {"url": url, "oauth": "yes"},
    }
    found = {each.name: each for each in written(tmp_path, servers)}
    environ = {"ID": "ua-tui-1", "SECRET": "a-secret-of-theirs"}
    logins = {
        name: connection_to(each, environ, tmp_path)
        for name, each in found.items()
        if isinstance(each, UserServer)
    }
    assert logins["keyed"].login is None
    assert logins["plain"].login is not None
    assert logins["plain"].login.client == OAuthClient()
    assert logins["known"].login is not None
    assert logins["known"].login.client == OAuthClient("ua-tui-1", "a-secret-of-theirs", "read", 8765)
    assert logins["ours"].login is not None
    assert logins["ours"].login.transport == "sse"
    # It is masked before the server is connected, and another one is another configuration.
    assert "a-secret-of-theirs" in logins["known"].secrets
    ours, plain = found["ours"], found["plain"]
    assert isinstance(ours, UserServer)
    assert isinstance(plain, UserServer)
    assert ours.secrets == ("a-secret-of-ours",)
    assert [each.partition("=")[0] for each in ours.shown] == ["oauth.client_id", "oauth.client_secret"]
    assert "a-secret" not in str(ours.shown)
    assert ours.fingerprint != replace(ours, how=replace(ours.how, oauth={"client_id": "b"})).fingerprint
    content = json.dumps(["plain", "http", url, {}], sort_keys=True)
    assert plain.fingerprint == hashlib.sha256(content.encode()).hexdigest()
    for name, value in (("wrong", "callback_port"), ("odd", "oauth")):
        unusable = found[name]
        assert isinstance(unusable, UnusableServer)
        assert f"`$.{value}`" in unusable.problem


async def test_a_server_that_can_have_a_login_asks_for_its_header_when_connected(tmp_path: Path) -> None:
    url = "https://notes.example/mcp"
    servers = {
        "plain": {"url": url}, "keyed": {"url": url, "headers": {"Authorization": "Bearer x"}},
        "events": {"type": "sse", "url": url}, "program": {"command": "sh"},
    }  # fmt: skip
    logins = LoginHeaders(tmp_path, str, LoginStore(tmp_path / "state"))
    connections = UserConnections(
        written(tmp_path, servers), tmp_path, ServerTrust(tmp_path / "state"), environ=os.environ,
        logins=logins, all_trusted=True,
    )  # fmt: skip
    opened = {name: await connect() for name, connect in connections.connectors.items()}
    helpers = {
        name: each.servers[name].get("headersHelper", " ").split()[-1:] for name, each in opened.items()
    }
    assert helpers == {"plain": ["plain"], "keyed": [], "events": ["events"], "program": []}
    # Our own requests to it have no other program for that.
    assert {name for name, each in opened.items() if each.headers is not None} == {"plain", "events"}
    assert opened["plain"].headers is not None
    assert await opened["plain"].headers() == {}
    assert opened["plain"].expiry is None
    expiry = opened["events"].expiry
    assert expiry is not None
    assert expiry.matches("Error POSTing to endpoint (HTTP 401): no")
    assert not expiry.matches("Error POSTing to endpoint (HTTP 500): no")
    assert not await expiry.is_over()
