"""`ua-tui connect SERVER`, with an authorization server of the `mcp` package on loopback."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from platformdirs import user_state_path

from tests.core.connections.test_oauth import Place, place
from tests.e2e.added_server import own_home
from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli import main
from ua_tui.tui.cli.connections import server_login


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: Patch) -> Iterator[Place]:
    own_home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPOSIO_API_KEY", raising=False)
    config = tmp_path / ".config/ua-tui/config.toml"
    config.parent.mkdir(parents=True)
    with place() as made:
        config.write_text(
            f'[mcp_servers.vault]\nurl = "{made.at}/mcp"\n'
            f'[mcp_servers.keyed]\nurl = "{made.at}/mcp"\nheaders = {{Authorization = "Bearer secret"}}\n'
            f'[mcp_servers.local]\ncommand = "{sys.executable}"\n'
        )
        (tmp_path / ".mcp.json").write_text(
            json.dumps({"mcpServers": {"foreign": {"type": "http", "url": f"{made.at}/mcp"}}})
        )
        yield made


def test_a_login_is_made_in_a_browser_and_forgotten(vault: Place, capsys: Output, monkeypatch: Patch) -> None:
    async def open_link(address: str) -> None:
        async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            await browser.get(address)

    monkeypatch.setattr(server_login, "open_link", open_link)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["connect", "vault", "--timeout", "60"]) == 0
    out = capsys.readouterr().out
    assert f"\n  {vault.at}/authorize?" in out
    assert "You are logged in to vault." in out
    assert vault.accounts.tokens
    assert not any(token in out for token in vault.accounts.tokens)
    assert main(["connect", "vault", "--forget"]) == 0
    assert capsys.readouterr().out == "You are logged out of vault.\n"
    assert main(["connect", "vault", "--forget"]) == 0
    assert capsys.readouterr().out == "There was no login to vault.\n"
    (user_state_path("ua-tui") / "logins.json").write_text("{")
    for options in ((), ("--forget",)):
        assert main(["connect", "vault", "--json", *options]) == 1
        failed = json.loads(capsys.readouterr().out)
        assert (failed["event"], failed["status"]) == ("failed", "logins")
        assert "logins.json cannot be read" in failed["message"]


@pytest.mark.parametrize(("name", "words"), [
    ("local", "local is a program on this machine: only servers with an address have a login"),
    ("keyed", "keyed has an Authorization header in "),
    ("foreign", "foreign is not trusted in this folder: run `ua-tui servers trust foreign`"),
    ("nothing", "nothing is not one of your own MCP servers"),
])  # fmt: skip
def test_a_server_without_a_login_is_reported(vault: Place, capsys: Output, name: str, words: str) -> None:
    assert main(["connect", name]) == 1
    assert words in capsys.readouterr().err
    assert vault.seen.requests == []
