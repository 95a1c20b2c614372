"""The conversation in the session's folder: what is copied there, and how the agent gets it back."""

from __future__ import annotations

import asyncio
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from claude_agent_sdk import ClaudeAgentOptions, SessionStore, project_key_for_directory

from ua_tui.core.agent.conversation import ConversationStore, sealed_entry, transcript_of
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.transport import CliTransport, StandardError
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import REDACTED, Redactor
from ua_tui.core.storage.workspace import CONVERSATION, Workspace

ID = "30f20b51-92fa-457c-9608-28350960e2e7"
SUBAGENT = "subagents/agent-a1"
SECRET = "correct-horse-battery"
TOKEN = "sk-ant-api03-" + "Ab1" * 14


def entry(text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "user", "message": message, "uuid": str(uuid4()), **more}


class Place:
    """A session's folder, the agent's own folder, and the store between them."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.workspace = Workspace.open(folder, Redactor([SECRET]))
        self.home = home
        self.failures: list[Exception] = []
        self.store = ConversationStore(self.workspace, home, self.failures.append)
        key = project_key_for_directory(self.workspace.path)
        self.key = {"project_key": key, "session_id": ID}
        self.own_folder = home / "projects" / key

    def own(self, *entries: dict[str, Any], subpath: str = "") -> Path:
        """Append to the agent's own file, as it does before it passes anything on."""
        path = self.own_folder / (f"{ID}/{subpath}.jsonl" if subpath else f"{ID}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in entries)
        return path

    def append(self, *entries: dict[str, Any], subpath: str = "") -> None:
        asyncio.run(self.store.append(self.key | ({"subpath": subpath} if subpath else {}), entries))

    @property
    def copy(self) -> Path:
        return self.workspace.path / CONVERSATION / f"{ID}.jsonl"

    def copied(self, subpath: str = "") -> list[Any] | None:
        path = "/".join(filter(None, (CONVERSATION, ID, subpath))) + ".jsonl"
        return list(map(json.loads, self.store._lines(path))) if self.workspace.exists(path) else None

    def move(self, to: Path) -> Place:
        """The same session in another folder, of a user with nothing but that."""
        self.workspace.close()
        shutil.move(self.workspace.path, to)
        return Place(to, to.parent / f"home-of-{to.name}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "session", tmp_path / "home")


def test_the_copy_is_private_and_has_no_secrets(place: Place) -> None:
    place.append(entry(f"my password is {SECRET}"), entry(TOKEN), entry("plain"))
    place.append(entry(SECRET), subpath=SUBAGENT)
    found = [path for path in place.workspace.path.rglob("*") if CONVERSATION in str(path)]
    assert {path.stat().st_mode & 0o777 for path in found if path.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in found if path.is_dir()} == {0o700}
    assert not [path for path in found if path.is_file() and SECRET in path.read_text()]
    texts = [each["message"]["content"] for each in place.copied() or ()]
    assert texts == [f"my password is {REDACTED}", REDACTED, "plain"]


def test_changed_thinking_is_left_out_as_its_signature_would_be_wrong() -> None:
    thinking = {"type": "thinking", "thinking": "It is fine.", "signature": "c2ln"}
    spoken = {"type": "text", "text": f"It is {SECRET}."}
    known = thinking | {"thinking": f"It is {SECRET}."}
    given = {
        "type": "assistant", "uuid": "u", "message": {"role": "assistant", "content": [thinking, known, spoken]},
    }  # fmt: skip
    line = json.loads(sealed_entry(given, Redactor([SECRET])))
    assert line["message"]["content"] == [
        thinking, {"type": "text", "text": REDACTED}, {"type": "text", "text": f"It is {REDACTED}."},
    ]  # fmt: skip
    assert line["uuid"] == "u"


def test_the_data_of_a_picture_is_not_damaged() -> None:
    looks_like_a_key = "AKIA" + "ABCDEFGH" * 2
    data, known = ("Ab1/" * 50 + text + "/+" * 50 for text in (looks_like_a_key, "knownSecret0123456789"))
    sources = [{"type": "base64", "media_type": "image/png", "data": each} for each in (data, known)]
    content = [{"type": "image", "source": each} for each in sources] + [
        {"type": "text", "text": looks_like_a_key}
    ]
    given = {"type": "user", "message": {"role": "user", "content": content}}
    line = json.loads(sealed_entry(given, Redactor(["knownSecret0123456789"])))
    first, second, text = line["message"]["content"]
    assert first == content[0]
    assert "known" not in str(second)
    assert text["text"] == REDACTED
    deep: Any = {"type": "base64", "data": data}
    for _ in range(400):
        deep = [{"in": deep}]
    assert sealed_entry({"deep": deep}, Redactor()).startswith(b'{"deep":[{"in":')


def test_a_moved_session_gives_the_agent_its_conversation_back(place: Place, tmp_path: Path) -> None:
    entries, inner = [entry("one"), entry("ünï 😀")], [entry("of the sub-agent")]
    metadata = {"type": "agent_metadata", "agentType": "Explore"}
    place.append(*entries)
    place.append(metadata | {"agentType": "old"}, *inner, metadata, subpath=SUBAGENT)
    moved = place.move(tmp_path / "elsewhere")
    assert moved.store.prepare(ID)
    own = transcript_of(ID, worked_in=moved.workspace.path, agent_home=moved.home)
    assert own is not None
    assert [json.loads(line) for line in own.read_bytes().splitlines()] == entries
    sub = own.with_suffix("") / f"{SUBAGENT}.jsonl"
    assert [json.loads(line) for line in sub.read_bytes().splitlines()] == inner
    assert json.loads(sub.with_suffix(".meta.json").read_bytes()) == {"agentType": "Explore"}
    assert {path.stat().st_mode & 0o777 for path in (own, sub)} == {0o600}
    # Nothing is added to the copy by that.
    before = moved.copy.read_bytes()
    assert moved.store.catch_up(ID)
    assert moved.copy.read_bytes() == before


def test_the_agents_own_file_is_used_while_it_has_everything(place: Place) -> None:
    first, second = entry(f"with {SECRET}"), entry("only in its own file")
    own = place.own(first, second)
    place.append(first)
    before = own.read_bytes()
    assert place.store.prepare(ID)
    assert own.read_bytes() == before
    # It continued elsewhere, and was moved back.
    third = entry("elsewhere")
    place.append(third)
    assert place.store.prepare(ID)
    assert [json.loads(line)["uuid"] for line in own.read_bytes().splitlines()] == [
        first["uuid"],
        third["uuid"],
    ]


def test_entries_without_a_time_are_kept_up_to_the_message_that_was_said(place: Place) -> None:
    place.append(entry("asked"), entry("answered", message={"id": "msg_1"}), entry("asked later"))
    until = datetime(2026, 3, 1, tzinfo=UTC)
    for said, count in (("msg_1", 2), ("", 0)):
        ((_, lines),) = place.store.transcripts(ID, until, said)
        assert len(lines) == count


def test_a_conversation_that_is_nowhere_is_not_found(place: Place) -> None:
    assert not place.store.prepare(ID)
    assert not place.store.catch_up(ID)
    with pytest.raises(WorkspaceError, match="refused"):
        place.store.prepare("../../x")
    place.copy.parent.mkdir(mode=0o700)
    place.copy.write_text('{"type":"user","uuid":\n')
    assert not place.store.prepare(ID)
    own = place.own(entry("before there were copies"))
    place.copy.unlink()
    place.copy.symlink_to(own)
    assert place.store.prepare(ID)
    with pytest.raises(WorkspaceError, match="link"):
        place.store.catch_up(ID)


def test_what_did_not_come_is_added_from_the_agents_own_file(place: Place) -> None:
    first, second, third = entry("one"), entry("two"), entry("three", extra=SECRET)
    request = {"type": "api-request-blob", "message": "large"}
    mode = {"type": "mode", "mode": "normal"}
    place.own(first, mode, request, second, third)
    place.own(entry("of the sub-agent"), subpath=SUBAGENT)
    (place.own_folder / ID / f"{SUBAGENT}.meta.json").write_text('{"agentType":"Explore"}')
    place.append(first)
    place.append(mode)
    # Killed while it wrote the next line.
    with place.copy.open("ab") as file:
        file.write(json.dumps(second).encode()[:40])
    assert place.store.catch_up(ID)
    assert place.copied() == [first, mode, second, third | {"extra": REDACTED}]
    assert [each["type"] for each in place.copied(SUBAGENT) or ()] == ["user", "agent_metadata"]
    before = place.copy.read_bytes()
    assert place.store.catch_up(ID)
    assert place.copy.read_bytes() == before


def test_a_transcript_without_times_is_there_up_to_the_message_that_is_wanted(place: Place) -> None:
    answer = {"type": "assistant", "message": {"id": "m1", "content": "two"}}
    place.append(entry("one"), answer)
    place.append(entry("of a sub-agent"), subpath=SUBAGENT)
    found = dict(place.store.transcripts(ID, datetime(2026, 11, 20, tzinfo=UTC), "m1"))
    assert {name: len(lines) for name, lines in found.items()} == {
        f"{CONVERSATION}/{ID}.jsonl": 2,
        f"{CONVERSATION}/{ID}/{SUBAGENT}.jsonl": 0,
    }


def test_an_entry_too_long_for_the_connection_is_added_later(place: Place, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    long = '{"type":"transcript_mirror","filePath":"x","entries":["%2000s"]}'
    agent.write_text(f"""#!/bin/sh\nprintf '{long}\\n{{"type":"keep_alive"}}\\n'\n""")
    agent.chmod(0o700)
    malformed = MalformedMessages()
    options = ClaudeAgentOptions(
        cli_path=agent, max_buffer_size=1000, session_store=cast("SessionStore", place.store)
    )

    async def messages() -> list[Any]:
        async def on_start(_pid: int) -> None: ...

        transport = CliTransport(options, malformed, StandardError(), on_start)
        await transport.connect()
        try:
            return [each async for each in transport.read_messages()]
        finally:
            await transport.close()

    assert asyncio.run(messages()) == [{"type": "keep_alive"}]
    assert malformed.pop_report() is None
    place.own(first := entry("one"), second := entry("two"))
    place.append(second)
    assert place.copied() == [first, second]


def test_a_failure_is_reported_once_and_made_up_for(place: Place) -> None:
    first, second, third = entry("one"), entry("two"), entry("three")
    (place.workspace.path / CONVERSATION).write_text("in the way")
    for each in (first, second):
        place.own(each)
        place.append(each)
    (failure,) = place.failures
    assert "if you move the folder, you cannot resume the session" in str(failure)
    assert "a file is where a folder should be" in str(failure.__cause__)
    (place.workspace.path / CONVERSATION).unlink()
    place.own(third)
    place.append(third)
    assert place.copied() == [first, second, third]
