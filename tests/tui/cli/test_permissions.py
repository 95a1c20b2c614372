from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.fixture_types import Output, Patch
from ua_tui.core.agent.permissions.rule_set import RuleStore
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import PermissionAnswered, PermissionApplied
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.tui.cli import main


@pytest.fixture
def store(tmp_path: Path, monkeypatch: Patch) -> RuleStore:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return RuleStore()


def ua_tui(capsys: Output, *words: str) -> tuple[int, str]:
    code = main(["permissions", *words])
    told = capsys.readouterr()
    return code, told.out + told.err


def test_rules_are_listed_with_their_origin_and_removed(
    store: RuleStore, tmp_path: Path, capsys: Output, monkeypatch: Patch
) -> None:
    assert "No rules yet" in ua_tui(capsys)[1]
    monkeypatch.setenv("UA_DENY", "Bash(rm:*)")
    store.add(Rule("allow", "GMAIL_SEND_EMAIL(to=*@b.example)", server="composio"), tmp_path)
    store.add(Rule("allow", "NOTION_*", server="composio"), None)
    code, text = ua_tui(capsys)
    assert code == 0
    lines = text.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["1", "allow"], ["2", "allow"], ["-", "deny"]]
    assert str(tmp_path.resolve()) in lines[1]
    assert "everywhere" in lines[2]
    assert "environment" in lines[3]
    assert ua_tui(capsys, "remove", "9")[0] == 2
    assert "removed allow GMAIL_SEND_EMAIL(to=*@b.example)" in ua_tui(capsys, "remove", "1")[1]
    rows = json.loads(ua_tui(capsys, "list", "--json")[1])
    assert [(row["number"], row["rule"]) for row in rows] == [(1, "NOTION_*"), (None, "Bash(rm:*)")]
    assert ua_tui(capsys, "remove")[0] == 2


def test_the_log_shows_who_decided(store: RuleStore, tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / WORKSPACES / "session_20260101_000000"
    folder.mkdir(parents=True)
    events = [
        PermissionApplied(
            tool_name="Bash", decision="deny", subjects=["Bash"], rule="Bash(rm:*)", origin="settings"
        ),
        PermissionAnswered(request_id="r1", tool_name="Bash", decision="allow", scope="once"),
        PermissionAnswered(
            request_id="r2", tool_name="X", decision="allow", scope="folder", patterns=["X_*"]
        ),
        PermissionAnswered(request_id="r3", tool_name="Y", decision="deny", scope="once", reason="not now"),
    ]
    (folder / JOURNAL).write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    code, text = ua_tui(capsys, "log")
    assert code == 0
    assert [line.split(None, 3)[2] for line in text.splitlines()[1:]] == ["deny", "allow", "allow", "deny"]
    assert "rule (settings)" in text
    assert "you, in this folder" in text
    rules = [row["rule"] for row in json.loads(ua_tui(capsys, "log", "latest", "--json")[1])]
    assert rules == ["Bash(rm:*)", "", "X_*", ""]
    # A denial is about one call: there is nothing to say about how long it holds.
    assert [row["by"] for row in json.loads(ua_tui(capsys, "log", "--json")[1])][-1] == "you"
