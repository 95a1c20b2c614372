from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.tui.fixture_types import Output, Patch
from ua_tui.core.connections.oauth.store import LoginStore, StoredLogin
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UserServer, connection_to, find_user_servers, project_servers
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.cli import main

SERVERS = {
    "notes": {
        "command": "npx",
        "args": ["-y", "my notes\x1b[31m", "--password", "canary-9876543210"],
        "env": {"NOTES_KEY": "canary-0123456789"},
    },
    "tickets": {"type": "sse", "url": "https://tickets.example/sse"},
    "broken": {"args": []},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder that names three servers, and settings of the user's with one more."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    config = tmp_path / "home" / "ua-tui" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[mcp_servers.mine]\nurl = "https://mine.example/mcp"\n')
    project = tmp_path / "project"
    project.mkdir()
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": SERVERS}))
    monkeypatch.chdir(project)
    return project


def servers(out: Output, *args: str) -> tuple[int, str, str]:
    """Run the command; gives its exit code and what it printed."""
    code = main(["servers", *args])
    return code, *out.readouterr()


def states(out: Output) -> dict[str, str]:
    """How each server stands, as the list for programs tells it."""
    _, reported, _ = servers(out, "--json")
    return {row["name"]: row["state"] for row in json.loads(reported)}


def test_all_are_listed_with_what_they_start_or_open(capsys: Output, folder: Path) -> None:
    code, reported, problems = servers(capsys)
    assert code == 1
    rows = {line.split()[0]: line for line in reported.splitlines()}
    assert list(rows) == ["SERVER", "mine", "notes", "tickets", "broken"]
    assert "your own" in rows["mine"]
    assert "https://mine.example/mcp" in rows["mine"]
    assert "not trusted yet" in rows["notes"]
    assert "npx -y 'my notes" in rows["notes"]
    assert rows["notes"].endswith(str(folder / ".mcp.json"))
    assert "sse" in rows["tickets"]
    assert "wrong" in rows["broken"]
    assert "missing required field `command`" in problems
    assert "canary" not in reported + problems
    assert "\x1b" not in reported + problems
    # The list for programs has every field.
    code, reported, problems = servers(capsys, "--json")
    assert (code, problems) == (1, "")
    listed = {row["name"]: row for row in json.loads(reported)}
    assert listed["tickets"] == {
        "name": "tickets", "state": "not trusted yet", "transport": "sse",
        "target": "https://tickets.example/sse", "source": str(folder / ".mcp.json"), "problem": "",
        "login": "no login", "acts": "outside",
    }  # fmt: skip
    assert listed["notes"]["login"] == ""
    assert "missing required field `command`" in listed["broken"]["problem"]
    # The user's own settings count before what a folder names, also in a file that is broken.
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": {"command": "theirs"}}}))
    assert states(capsys) == {"mine": "your own"}
    (folder / ".mcp.json").write_text("{")
    code, reported, problems = servers(capsys)
    assert code == 1
    assert "mine" in reported
    assert f"{folder / '.mcp.json'} is not valid JSON" in problems


def test_the_list_says_who_is_logged_in(capsys: Output, folder: Path) -> None:
    (mine,) = (each for each in find_user_servers(load_settings(), folder) if each.name == "mine")
    assert isinstance(mine, UserServer)
    target = connection_to(mine, {}, folder).login
    assert target is not None
    for until, state in ((None, "your own, logged in"), (1.0, "your own, login expired")):
        asyncio.run(LoginStore().save(target, StoredLogin(access_token="canary-1", expires_at=until)))
        reported = servers(capsys)[1]
        assert state in reported
        assert "canary" not in reported


def test_servers_are_trusted_refused_and_forgotten(capsys: Output, folder: Path) -> None:
    code, reported, _ = servers(capsys, "trust", "notes", "tickets")
    assert code == 0
    assert "notes is trusted in this folder: npx -y 'my notes" in reported
    assert servers(capsys, "refuse", "tickets")[0] == 0
    assert states(capsys) == {"mine": "your own", "notes": "trusted", "tickets": "refused", "broken": "wrong"}
    assert servers(capsys, "forget", "notes", "tickets")[0] == 0
    assert set(states(capsys).values()) == {"your own", "not trusted yet", "wrong"}
    servers(capsys, "trust", "notes")
    (notes, *_) = project_servers(folder)
    assert isinstance(notes, UserServer)
    assert ServerTrust().decision(notes, folder) == "trusted"
    changed = {"mcpServers": SERVERS | {"notes": {"command": "npx", "args": ["-y", "another"]}}}
    (folder / ".mcp.json").write_text(json.dumps(changed))
    assert states(capsys)["notes"] == "not trusted yet"


def test_a_person_says_where_a_server_acts(
    capsys: Output, folder: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    config = tmp_path / "home" / "ua-tui" / "config.toml"
    config.write_text(
        config.read_text()
        + '[mcp_servers.memory]\ncommand = "memory"\n'
        + '[mcp_servers.time]\ncommand = "clock"\nacts = "outside"\n'
        + '[mcp_servers.near]\nurl = "http://127.0.0.1:8000/mcp"\nacts = "here"\n'
    )

    def acts() -> dict[str, str]:
        listed = json.loads(servers(capsys, "--json")[1])
        return {row["name"]: row["acts"] for row in listed if row["acts"]}

    known = {"mine": "outside", "tickets": "outside", "time": "outside", "near": "here"}
    assert acts() == known
    assert servers(capsys, "here", "memory")[:2] == (0, "the tools of memory act on this machine only\n")
    for name, why in (
        ("notes", "run `ua-tui servers trust notes` first"),
        ("mine", "act on this machine and elsewhere"),
        ("time", "act on this machine and elsewhere"),
    ):
        code, _, problem = servers(capsys, "here", name)
        assert (code, why in problem) == (1, True), problem
    servers(capsys, "trust", "notes")
    assert servers(capsys, "here", "notes")[0] == 0
    assert acts() == known | {"memory": "here", "notes": "here"}
    assert "acts here" in servers(capsys)[1]
    # What is said of a server of the settings holds in every folder, of that configuration.
    monkeypatch.chdir(tmp_path)
    assert acts() == {"mine": "outside", "time": "outside", "near": "here", "memory": "here"}
    config.write_text(config.read_text().replace('"memory"', '"another"'))
    assert "memory" not in acts()
    monkeypatch.chdir(folder)
    assert servers(capsys, "outside", "notes")[0] == 0
    assert acts()["notes"] == "outside"
    servers(capsys, "refuse", "notes")
    servers(capsys, "forget", "notes")
    servers(capsys, "trust", "notes")
    assert "notes" not in acts()


def test_where_a_server_acts_is_a_part_of_what_is_trusted(capsys: Output, folder: Path) -> None:
    how = {"command": "npx", "args": ["notes"]}
    for given, shown in ((how, ""), (how | {"acts": "here"}, "  with acts=here\n")):
        (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": given}}))
        assert states(capsys)["notes"] == "not trusted yet"
        assert servers(capsys, "trust", "notes")[1].partition("\n")[2] == shown


def test_a_trusted_server_is_reported_with_its_full_command(capsys: Output, folder: Path) -> None:
    how = {"command": "node", "args": ["x" * 3_000, "end"], "env": {
        "NODE_OPTIONS": "--require ./a.js\x1b[2J"
    }}  # fmt: skip
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": how}}))
    _, reported, _ = servers(capsys, "trust", "notes")
    assert "xx end\n" in reported
    assert "  with NODE_OPTIONS=--require ./a.js" in reported
    assert "\x1b" not in reported


@pytest.mark.parametrize(("name", "why"), [
    ("nobody", "there is no server nobody here: `ua-tui servers` lists them"),
    ("broken", "missing required field `command`"),
    ("mine", "which need no trust"),
])  # fmt: skip
def test_a_name_without_a_decision_is_reported_and_others_count(capsys: Output, name: str, why: str) -> None:
    code, reported, problem = servers(capsys, "trust", name, "notes")
    assert code == (2 if name == "nobody" else 1)
    assert why in problem
    assert "notes is trusted" in reported
    assert states(capsys)["notes"] == "trusted"


@pytest.mark.parametrize("args", [("trust",), ("trust", "notes", "--json"), ("trusts", "notes")])
def test_words_that_do_not_go_together_are_a_wrong_usage(capsys: Output, args: tuple[str, ...]) -> None:
    try:
        code, _, problem = servers(capsys, *args)
    except SystemExit as ended:
        code, problem = int(str(ended.code)), capsys.readouterr().err
    assert code == 2
    assert "trust" in problem
    assert states(capsys)["notes"] == "not trusted yet"


def test_without_any_it_is_shown_where_they_are_written(capsys: Output, folder: Path, tmp_path: Path) -> None:
    (folder / ".mcp.json").unlink()
    (tmp_path / "home" / "ua-tui" / "config.toml").unlink()
    code, reported, _ = servers(capsys)
    assert code == 0
    assert ".mcp.json" in reported
    assert "[mcp_servers.NAME]" in reported
    assert json.loads(servers(capsys, "--json")[1]) == []
