"""A real session searches a company's own data and the web: only what it found on the web is saved."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import command, model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from ua_tui.core.events.types import ObserverFinished

pytestmark = pytest.mark.e2e

SERVER = Path(__file__).with_name("searching_server.py")
MANY, OWN = ("ash.example", "birch.example", "cedar.example"), ("wiki.acme.example", "docs.acme.example")
CALLS = {
    "wombat": "mcp__hr__search_candidates",
    "quokka": "mcp__acme__search",
    "numbat": "mcp__exa__search",
}  # fmt: skip
PUBLIC = "public_searches"


def _answer(_body: dict[str, Any], results: int) -> Sequence[Block]:
    if results < len(CALLS):
        word, name = list(CALLS.items())[results]
        return [Use(name, {"query": word})]
    return [Text("All done.")]


def test_only_public_results_are_saved_and_found_again(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "ua-tui" / "config.toml"
    own.parent.mkdir(parents=True)
    sites = {"hr": MANY, "acme": OWN, "exa": OWN}
    lines = [
        f'[mcp_servers.{name}]\nacts = "here"\n'
        f"command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(SERVER), *hosts])}"
        for name, hosts in sites.items()
    ]
    own.write_text("\n".join(lines))
    with scripted_model(_answer) as url:
        env = model_environment(tmp_path, url, UA_ALLOW="mcp__hr__*,mcp__acme__*,mcp__exa__*")
        done = run(tmp_path, "run", "look", env=env)
        assert done.code == 0, done.stderr
        listed = (done.session / "search_results" / "urls.txt").read_text()
        assert listed.splitlines() == [f"https://{site}/numbat/{number}" for number, site in enumerate(OWN)]
        (saved,) = (done.session / "search_results").glob("*.json")
        assert "numbat" in saved.name or json.loads(saved.read_text())["query"] == "numbat"
        found = {word: command(tmp_path, "find", word).stdout for word in CALLS}
        assert {word for word, text in found.items() if "acme.example" in text or "ash.example" in text} == {
            "numbat"
        }
        notes = [each.note for each in done.of(ObserverFinished) if each.observer == "search_results"]
        (advice,) = [note for note in notes if note and PUBLIC in note]
        assert command(tmp_path, *advice.partition("ua-tui ")[2].removesuffix("`").split()).code == 0
        again = run(tmp_path / "again", "run", "look", env=env)
    listed = (again.session / "search_results" / "urls.txt").read_text()
    assert [word for word in CALLS if word in listed] == ["quokka", "numbat"]
