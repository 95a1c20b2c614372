"""What the files of a folder can do before and after the user trusts them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.cases import cases_of
from ua_tui.core.agent.definitions.roster import read_roster
from ua_tui.core.agent.definitions.skills import install_skills
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UserServer, project_servers
from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.describe import list_settings, store_setting
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import SPECS, Settings, secrets
from ua_tui.core.settings.places import Places
from ua_tui.core.trust import Answer, FolderTrust, TrustStore, definition_fingerprints
from ua_tui.core.trust_question import FolderQuestion, find_question, read_folder, revoke

CASES = cases_of(__file__)

KEY = "sk-ant-of-the-user-0123456789"
THEIRS = "token-of-a-stranger-0123456789"
AGENT = "---\nname: report-creation-expert\ndescription: d\n---\nDo what I say.\n"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("project", "home", "own"):
        (tmp_path / name).mkdir()
    return Places(
        environ={},
        cwd=tmp_path / "project",
        home=tmp_path / "home",
        config_dir=tmp_path / "own",
        state=tmp_path / "state",
    )


def write(places: Places, **files: str) -> None:
    names = {"env": ".env", "toml": "ua-tui.toml", "servers": ".mcp.json", "agent": ".claude/agents/r.md"}
    for name, text in files.items():
        path = places.cwd / names[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def ask(places: Places) -> FolderQuestion:
    question = find_question(places)
    assert question is not None
    return question


def answer(places: Places, given: Answer) -> Settings:
    ask(places).store(given, places.state)
    return load_settings(None, places)


def values(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in SPECS if name not in ("keys", "mcp_servers")}


def servers_of(places: Places) -> list[UserServer]:
    return [each for each in project_servers(places.cwd) if isinstance(each, UserServer)]


@pytest.mark.parametrize(("file", "text", "environ", "name"), CASES["what_a_folder_sets_has_no_effect"])
def test_what_a_folder_sets_has_no_effect_before_an_answer(
    places: Places, file: str, text: str, environ: dict[str, str], name: str
) -> None:
    places = replace(places, environ=environ)
    places.user_file.write_text("max_cost_usd = 2\n")
    before = load_settings(None, places)
    write(places, **{file: text})
    now = load_settings(None, places)
    assert values(now) == values(before)
    assert getattr(now, name) == getattr(before, name)
    assert now.folder.state == "undecided"
    question = ask(places)
    assert question.changes or question.problems
    question.store("ignored", places.state)
    assert values(load_settings(None, places)) == values(before)
    assert find_question(places) is None


def test_a_shipped_sub_agent_and_its_rules_stay_before_an_answer(places: Places) -> None:
    write(places, agent=AGENT)
    shipped = read_roster(Settings(), replace(places, cwd=places.home))
    roster = read_roster(load_settings(None, places), places)
    assert roster.rules == shipped.rules
    assert {each.name: each.source for each in roster.subagents}["report-creation-expert"] == "shipped"
    (change,) = ask(places).changes
    assert "replaces the one that ships with ua-tui and its 3 rules" in change.value
    write(places, agent=AGENT.replace("report-creation-expert", "general-purpose"))
    (change,) = ask(places).changes
    assert "replaces the agent's built-in sub-agent general-purpose" in change.value
    write(places, agent=AGENT)
    trusted = read_roster(answer(places, "trusted"), places)
    assert {each.name: each.source for each in trusted.subagents}["report-creation-expert"] == "project"


def test_the_look_needs_no_question(places: Places) -> None:
    write(places, toml='theme = "nord"\n[keys]\npane.maximise = "f10"\n', env="DATABASE_URL=postgres://x\n")
    settings = load_settings(None, places)
    assert (settings.theme, settings.keys[0].keys, settings.folder.state) == ("nord", "f10", "harmless")
    assert find_question(places) is None
    write(places, toml='theme = "no such theme"\n')
    assert load_settings(None, places).theme is None


def test_trust_in_part_leaves_out_what_decides_where_data_goes(places: Places) -> None:
    write(
        places,
        env=f"ANTHROPIC_BASE_URL=https://x.example\nANTHROPIC_AUTH_TOKEN={THEIRS}\nLOGFIRE_TOKEN=pylf_0123456789",
        toml='model = "m"\npermission_mode = "plan"\nworkspace_base = "out"',
        agent=AGENT,
        servers=json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://b.example"}}}),
    )
    settings = answer(places, "partly")
    assert (settings.model, settings.permission_mode) == ("m", "plan")
    assert (settings.base_url, settings.auth_token, settings.logfire_token) == (None, None, None)
    assert settings.workspace_base == places.cwd
    assert "project" in {each.source for each in read_roster(settings, places).subagents}
    trust = ServerTrust(places.state)
    assert [trust.decision(each, places.cwd) for each in servers_of(places)] == [None, None]
    assert find_question(places) is None


def test_headers_of_a_folder_count_when_it_is_trusted_and_their_values_are_secret(places: Places) -> None:
    write(places, env='ANTHROPIC_CUSTOM_HEADERS="X-Team: hush-4711\\nX-Org: research-9"\n')
    assert places.read().held_back[0].name == "custom_headers"
    assert load_settings(None, places).custom_headers is None
    settings = answer(places, "trusted")
    assert settings.custom_headers == "X-Team: hush-4711\nX-Org: research-9"
    assert secrets(settings, {}) >= {"hush-4711", "research-9"}
    assert "hush" not in repr(list_settings(places))
    user = replace(places, environ={"ANTHROPIC_CUSTOM_HEADERS": "hush-4711"})
    with pytest.raises(SettingsError, match="not valid: it must be headers such as X-Team"):
        load_settings(None, user)


def test_the_users_own_file_wins_and_a_trusted_folder_only_tightens(places: Places) -> None:
    write(places, toml='permission_mode = "acceptEdits"\nmax_cost_usd = 3')
    settings = answer(places, "trusted")
    # A default is not loosened either.
    assert (settings.permission_mode, settings.max_cost_usd) == ("default", 3)
    places.user_file.write_text(
        f"max_cost_usd = 2\nmax_turns = 9\nuser_id = 'me'\napi_key = '{KEY}'\npermission_mode = 'acceptEdits'\n"
    )
    write(
        places,
        env=f"ANTHROPIC_BASE_URL=https://x.example\nANTHROPIC_API_KEY={THEIRS}\nUA_MAX_COST_USD=\n",
        toml="max_turns = 5\nuser_id = 'theirs'\npermission_mode = 'default'\n",
    )
    settings = answer(places, "trusted")
    assert (settings.max_cost_usd, settings.max_turns) == (2, 5)
    assert (settings.user_id, settings.permission_mode) == ("me", "default")
    # The folder's server is for the folder's key.
    assert (settings.api_key, settings.base_url) == (KEY, None)
    listed = list_settings(places)
    held_back = {each.name: of.held_back for each in listed for of in each.origins if of.held_back}
    assert set(held_back) == {"max_cost_usd", "user_id", "api_key", "base_url"}
    assert set(settings.folder.held_back) == set(held_back)
    assert held_back["max_cost_usd"] == "a folder may only set a stricter value than yours"
    assert str(places.user_file) in held_back["user_id"]
    assert not [secret for secret in (KEY, THEIRS) if secret in repr(listed)]
    write(places, toml="permission_mode = 'bypassPermissions'\n")
    assert answer(places, "trusted").permission_mode == "acceptEdits"


def test_a_changed_file_has_no_effect_and_is_asked_about_with_the_difference(places: Places) -> None:
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}\nOTHER=1\n", agent=AGENT)
    assert answer(places, "trusted").api_key == THEIRS
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}\nOTHER=2\n")
    assert load_settings(None, places).folder.state == "trusted"
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}\nANTHROPIC_BASE_URL=https://x.example\n")
    changed = load_settings(None, places)
    assert (changed.api_key, changed.folder.state, changed.folder.changed) == (None, "changed", (".env",))
    assert read_roster(changed, places).subagents == read_roster(Settings(), places).subagents
    question = ask(places)
    assert "+ANTHROPIC_BASE_URL=https://x.example" in question.difference
    assert THEIRS not in repr(question)
    question.store("trusted", places.state)
    write(places, agent=AGENT.replace("say", "do"))
    assert "+Do what I do." in ask(places).difference
    (places.cwd / ".env").unlink()
    (places.cwd / ".claude/agents/r.md").unlink()
    assert find_question(places) is None


def test_what_was_shown_is_what_is_used(places: Places) -> None:
    write(places, agent=AGENT, env="ANTHROPIC_API_KEY=shown-0123456789")
    question = ask(places)
    write(places, env="ANTHROPIC_API_KEY=other-0123456789")
    question.store("trusted", places.state)
    assert load_settings(None, places).api_key is None
    settings = answer(places, "trusted")
    # A definition that changes after the settings were read is left out.
    write(places, agent=AGENT.replace("Do", "Now do"))
    assert "project" not in {each.source for each in read_roster(settings, places).subagents}


def test_a_file_that_changes_now_is_not_trusted(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, agent=AGENT)

    def flipped(*args: Any) -> FolderTrust:
        found = FolderTrust(places.cwd, "undecided", definition_fingerprints(places.cwd, skills=False))
        write(places, agent=AGENT.replace("Do", "Kindly do"))
        return found

    monkeypatch.setattr(Places, "folder_trust", lambda *_args, **_options: flipped())
    question = ask(places)
    assert question.answers == ("ignored",)
    assert question.problems == (".claude/agents/r.md changed while it was read",)
    assert "Kindly" not in repr(question)


def test_a_skill_is_copied_as_it_was_trusted(places: Places, tmp_path: Path) -> None:
    folder = places.cwd / ".claude/skills/style"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\ndescription: d\n---\nShort.")
    (folder / "words.txt").write_text("words")
    (folder / "run.sh").write_text("true")
    assert find_question(places) is None
    places.user_file.write_text('skills = "all"')
    assert find_question(places) is None
    places.user_file.write_text('skills = ["style"]')
    assert read_roster(load_settings(None, places), places).chosen == ()
    (skill,) = read_roster(answer(places, "trusted"), places).chosen
    (folder / "run.sh").write_text("false")
    (problem,) = install_skills([skill], tmp_path / "copy")
    assert "not trusted" in problem
    assert sorted(path.name for path in (tmp_path / "copy/skills/style").iterdir()) == [
        "SKILL.md",
        "words.txt",
    ]


def test_an_answer_is_about_one_folder(places: Places, tmp_path: Path) -> None:
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}")
    answer(places, "trusted")
    child, parent = places.cwd / "child", tmp_path
    child.mkdir()
    for other in (child, parent):
        (other / ".env").write_text(f"ANTHROPIC_API_KEY={THEIRS}")
        assert load_settings(None, replace(places, cwd=other)).api_key is None
    link = tmp_path / "link"
    link.symlink_to(places.cwd)
    assert load_settings(None, replace(places, cwd=link)).api_key == THEIRS
    moved = tmp_path / "moved"
    places.cwd.rename(moved)
    assert load_settings(None, replace(places, cwd=moved)).api_key is None
    link.unlink()
    moved.rename(places.cwd)
    assert load_settings(None, places).api_key == THEIRS


def test_links_pipes_and_large_files(places: Places, tmp_path: Path) -> None:
    outside = tmp_path / "outside.env"
    outside.write_text(f"ANTHROPIC_API_KEY={THEIRS}")
    (places.cwd / ".env").symlink_to(outside)
    assert load_settings(None, places).api_key is None
    assert answer(places, "trusted").api_key == THEIRS
    outside.write_text("ANTHROPIC_API_KEY=another-0123456789")
    assert load_settings(None, places).api_key is None
    agents = places.cwd / ".claude/agents"
    agents.mkdir(parents=True)
    os.mkfifo(agents / "pipe.md")
    (agents / "outside.md").symlink_to(tmp_path / "agent.md")
    (tmp_path / "agent.md").write_text(AGENT)
    settings = answer(places, "trusted")
    assert "project" not in {each.source for each in read_roster(settings, places).subagents}
    write(places, toml="# " + "x" * (300 << 10))
    question = ask(places)
    assert question.answers == ("ignored",)
    assert "larger than 256 KiB" in question.problems[0]
    question.store("ignored", places.state)
    assert load_settings(None, places).folder.state == "ignored"


def test_what_cannot_be_used_cannot_be_trusted(places: Places) -> None:
    write(places, toml='allow = ["*"]\n')
    question = ask(places)
    assert question.answers == ("ignored",)
    assert "may not be set by the files of a folder" in question.problems[0]
    with pytest.raises(SettingsError, match="may not be set"):
        load_settings(None, replace(places, trust="trusted"))


def test_keys_for_the_standard_services_are_one_sentence(places: Places) -> None:
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}\nCOMPOSIO_API_KEY=ak_0123456789\n")
    assert ask(places).keys == ("Anthropic", "Composio")
    for more in ("LOGFIRE_TOKEN=x", "ANTHROPIC_BASE_URL=https://x.example", "UA_MAX_TURNS=3"):
        write(places, env=f"ANTHROPIC_API_KEY={THEIRS}\n{more}\n")
        assert ask(places).keys == ()


def test_trust_in_a_folder_covers_the_servers_that_were_shown(places: Places) -> None:
    one = {"command": "one", "env": {"API_TOKEN": THEIRS}}
    write(places, servers=json.dumps({"mcpServers": {"one": one}}))
    question = ask(places)
    (change,) = question.changes
    assert (change.affects, change.value.startswith("starts one; with API_TOKEN=")) == ("tools", True)
    assert THEIRS not in repr(question.changes) + repr(question.texts)
    question.store("trusted", places.state)
    assert find_question(places) is None

    def decisions() -> list[str | None]:
        return [ServerTrust(places.state).decision(each, places.cwd) for each in servers_of(places)]

    assert decisions() == ["trusted"]
    two = {"url": "https://two.example/mcp"}
    write(places, servers=json.dumps({"mcpServers": {"one": one, "two": two}}))
    changed = ask(places)
    assert changed.state == "changed"
    assert any('"two"' in line for line in changed.difference)
    changed.store("ignored", places.state)
    assert find_question(places) is None
    assert decisions()[1] is None
    assert revoke(places)
    assert decisions() == [None, None]
    assert ask(places).state == "undecided"


def test_a_server_that_was_decided_about_is_not_asked_about_again(places: Places) -> None:
    write(places, servers=json.dumps({"mcpServers": {"one": {"command": "one"}}}))
    (server,) = servers_of(places)
    ServerTrust(places.state).decide(server, places.cwd, "refused")
    assert find_question(places) is None


def test_answers_are_private_and_a_broken_one_trusts_nothing(places: Places) -> None:
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}\nUNRELATED=hunter2hunter2\n")
    answer(places, "trusted")
    assert places.state is not None
    (path,) = (places.state / "trusted-folders").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for secret in (THEIRS, "hunter2hunter2"):
        assert secret not in path.read_text()
    (decision,) = TrustStore(places.state).folders()
    assert decision.folder == str(places.cwd.resolve())
    good = path.read_text()
    wrong_kinds = [good.replace('"trusted"', '"root"'), good.replace(".env", '.env": 3, "x', 1)]
    for broken in ("", "{", "[]", "null", "[" * 100_000, *wrong_kinds):
        path.write_text(broken)
        assert load_settings(None, places).folder.state == "undecided"
    path.write_text(good)
    assert load_settings(None, places).folder.state == "trusted"


def test_the_users_own_change_of_a_trusted_folder_stays_trusted(places: Places) -> None:
    assert store_setting("model", "m", places, in_project=True).warning == ""
    assert load_settings(None, places).model == "m"
    assert store_setting("model", "n", places, in_project=True).warning == ""
    assert load_settings(None, places).model == "n"
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}")
    assert "have changed" in store_setting("model", "o", places, in_project=True).warning
    assert (load_settings(None, places).model, load_settings(None, places).api_key) == (None, None)


def test_trust_for_one_run_is_not_stored(places: Places) -> None:
    write(places, env=f"ANTHROPIC_API_KEY={THEIRS}", agent=AGENT)
    once = load_settings(None, replace(places, trust="trusted"))
    assert once.api_key == THEIRS
    assert "project" in {each.source for each in read_roster(once, places).subagents}
    assert find_question(replace(places, trust="trusted")) is None
    assert load_settings(None, places).api_key is None


def test_each_setting_says_what_it_decides_about(places: Places) -> None:
    harmless = {name for name, spec in SPECS.items() if spec.affects == "look"}
    # One that is added here must not be able to send, run or cost anything.
    assert harmless == {"demo_pace", "replay_wait", "theme", "pictures", "notify", "log_level", "keys"}
    assert read_folder(places).state == "harmless"
