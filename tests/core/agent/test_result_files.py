from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.archive_server import KEY, picture, sound
from ua_tui.core.agent.messages import result_files
from ua_tui.core.agent.messages.result_files import LIMIT, Received, ResultStore, move_to_workspace
from ua_tui.core.agent.messages.results import RawResult, ResultAdapter
from ua_tui.core.observation import McpObservation, ReturnedFile
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace

LOOKUP = "mcp__notes__lookup"


class Desk:
    """The folder of a session, and that in which the agent keeps the results of a conversation."""

    def __init__(self, base: Path) -> None:
        (base / "session").mkdir()
        self.workspace = Workspace(base / "session", base / "reports", Redactor())
        transcript = base / "home" / "projects" / "p" / "conversation.jsonl"
        self.transcript = str(transcript)
        self.folder = transcript.with_suffix("") / "tool-results"
        self.folder.mkdir(parents=True)
        self.files = ResultStore(ResultAdapter(base / "home"), self.workspace)

    def receive(self, response: object, tool: str = LOOKUP) -> Received:
        return self.files.receive(tool, "toolu_1", response, self.transcript)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def blob(folder: Path, suffix: str, data: bytes, number: int = 1) -> Path:
    path = folder / f"mcp-notes-blob-{number}-abc123{suffix}"
    path.write_bytes(data)
    return path


def shown_text(received: Received) -> str:
    return "\n".join(block.get("text", "") for block in received.for_model)


def test_json_of_one_line_is_given_as_lines(desk: Desk) -> None:
    rows = [{"n": number, "text": "word " * 200, "key": KEY} for number in range(80)]
    received = desk.receive(json.dumps({"result": json.dumps(rows)}))
    assert "saved to: tool_results/toolu_1.txt" in shown_text(received)
    lines = desk.workspace.read("tool_results/toolu_1.txt").decode().split("\n")
    assert max(map(len, lines)) <= 400
    assert '  "n": 79,' in lines
    assert KEY not in "".join(lines)
    joined = "".join(lines).replace("[redacted]", KEY)
    assert [row["n"] for row in json.loads(joined)] == list(range(80))


@pytest.mark.parametrize(
    "value",
    ["{" * 60_000, "[1, 2", '{"a": 1} and more', "\ud800", "x" * 9_000],
    ids=["deep", "cut", "more", "surrogate", "long"],
)
def test_plain_text_stays(desk: Desk, value: str) -> None:
    value += "\n" + "line\n" * LIMIT
    assert desk.receive(value).for_model
    saved = desk.workspace.read("tool_results/toolu_1.txt").decode()
    assert saved.replace("\n", "") == value.replace("\n", "").replace("\ud800", "\ufffd")


def test_small_results_and_those_of_other_tools_are_left_alone(desk: Desk) -> None:
    for tool, response in (
        (LOOKUP, "x" * LIMIT),
        (LOOKUP, [text("a"), {"type": "image"}, None]),
        (LOOKUP, None),
        ("mcp__local_toolkit__crawl_parallel", "x" * (LIMIT + 1)),
        ("Bash", {"stdout": "x" * LIMIT, "persistedOutputPath": "/somewhere"}),
    ):
        assert desk.receive(response, tool) == Received(for_observers=response)


def test_what_cannot_be_stored_is_left(desk: Desk) -> None:
    desk.workspace.write("tool_results", b"a file where the desk.folder belongs")
    assert desk.receive("x" * (LIMIT + 1)).for_model is None


def test_files_are_typed_by_their_bytes_named_by_their_address_and_kept_once(desk: Desk) -> None:
    hostile = "file:///../../.claude/settings\x1b[2J\u202egnp.json?token=1"
    given = (
        ("[Image: source: {}, original 9x9, displayed at 3x3.]", ".png", picture()),
        ("[Audio from notes] Binary content (a/b, 2KB) saved to {}", ".png", sound()),
        ("[Resource from notes at x://h/%2e%2e%2Fa.png] Binary content (t, 1) saved to {}", ".png", b"\x7fELF\0"),
        (f"[Resource from notes at {hostile}] Binary content (t, 1) saved to {{}}", ".svg", b"<svg onload=x>"),
        ("[Audio from notes] Binary content (a/b, 2KB) saved to {}", ".mp3", sound()),
    )  # fmt: skip
    blocks = []
    for number, (line, suffix, data) in enumerate(given):
        path = blob(desk.folder, suffix, data, number)
        blocks.append(text(line.replace("{}", str(path))))
    received = desk.receive(blocks)
    picked, heard, program, drawing, again = received.files
    assert picked == ReturnedFile("work_products/media/notes_lookup.png")
    assert heard == ReturnedFile("work_products/media/notes_lookup.wav")
    assert again == ReturnedFile(heard.path, is_new=False)
    assert program == ReturnedFile("downloads/a.bin")
    assert drawing.path.startswith("downloads/settings_")
    assert drawing.path.endswith(".svg")
    assert drawing.path.isascii()
    assert received.for_model == received.for_observers
    assert shown_text(received).count("work_products/media/") == 3
    assert str(desk.folder) not in shown_text(received)
    assert list(desk.folder.iterdir()) == []
    assert desk.workspace.read(heard.path) == sound()


def test_every_path_in_a_text_is_replaced(desk: Desk) -> None:
    first, second = blob(desk.folder, ".png", picture()), blob(desk.folder, ".wav", sound(), 2)
    gone = desk.folder / "mcp-notes-blob-3-abc.png"
    received = desk.receive([text(f"{first}, {second}, {gone}, {first}")])
    kept = [f"work_products/media/notes_lookup.{suffix}" for suffix in ("png", "wav")]
    assert [file.path for file in received.files] == kept
    assert shown_text(received) == f"{kept[0]}, {kept[1]}, (not saved), {kept[0]}"


def test_a_resource_that_is_a_file_is_moved_in_the_form_of_the_tool(desk: Desk, tmp_path: Path) -> None:
    path = desk.folder / "mcp-resource-1-0-abc.png"
    path.write_bytes(picture())
    other = blob(tmp_path, ".png", picture())
    contents = [
        {"uri": "x://chart", "mimeType": "a/b", "blobSavedTo": str(path), "text": f"saved to {path}"},
        {"uri": "x://text", "text": "words"},
        {"uri": "x://other", "blobSavedTo": str(other), "text": "elsewhere"},
        None,
    ]
    received = desk.files.receive("ReadMcpResourceTool", "toolu_1", {"contents": contents}, desk.transcript)
    kept = "work_products/media/chart.png"
    assert received.files == (ReturnedFile(kept),)
    first = {"uri": "x://chart", "mimeType": "a/b", "blobSavedTo": kept, "text": f"saved to {kept}"}
    assert received.for_model == {"contents": [first, *contents[1:]]}
    assert desk.workspace.read(kept) == picture()
    odd = {"contents": "none"}
    assert desk.files.receive("ReadMcpResourceTool", "toolu_1", odd, desk.transcript) == Received(
        for_observers=odd
    )


def test_paths_elsewhere_are_neither_moved_nor_named(desk: Desk, tmp_path: Path) -> None:
    other = blob(tmp_path, ".png", picture())
    link = desk.folder / "mcp-notes-blob-7-abc.png"
    link.symlink_to(other)
    gone = desk.folder / "mcp-notes-blob-8-abc.png"
    (desk.workspace.path / "work_products" / "media").mkdir(parents=True)
    (desk.workspace.path / "work_products" / "media" / "link.png").symlink_to(other)
    names = (other, link, gone, desk.folder / ".." / "tool-results" / other.name)
    received = desk.receive([text(f"[Image: source: {name}]") for name in names])
    assert received.files == ()
    assert other.exists()
    assert desk.workspace.list("work_products/media") == []
    # A text of a server has no limit, and says nothing about desk.files.
    assert desk.files.receive(LOOKUP, "toolu_1", [text(f"{other}" + "x" * 20_000)], "").for_model is None


def test_a_server_cannot_name_the_result_of_another_conversation(desk: Desk) -> None:
    other = desk.folder.parent.parent / "other" / "tool-results"
    other.mkdir(parents=True)
    for place in (other, desk.folder):
        (place / "x.txt").write_text("of this place")
    notice = (
        "Error: result (9 characters) exceeds maximum allowed tokens. Output has been saved to {}/x.txt.\n"
    )
    named = desk.receive(notice.format(other))
    assert named.for_model is None
    assert named.for_observers == notice.format(other)
    assert "of this place" in shown_text(desk.receive(notice.format(desk.folder)))
    adapter = ResultAdapter(desk.folder.parents[3])
    for place in (other, desk.folder):
        said = notice.format(place)
        raw = RawResult(said, hook_copy=said, transcript=desk.transcript)
        seen = adapter.observe(tool_name=LOOKUP, tool_use_id="toolu_1", tool_input={}, raw=raw)
        assert seen.recovered is (place == desk.folder)
        adapter.remove_saved(RawResult("what the model got", hook_copy=said, transcript=desk.transcript))
        adapter.remove_saved(RawResult("", hook_copy=[text(said)], transcript=desk.transcript))
    assert [place.exists() for place in (other / "x.txt", desk.folder / "x.txt")] == [True, False]


def test_secrets_in_texts_of_any_encoding_are_masked(desk: Desk, tmp_path: Path) -> None:
    for encoding in ("utf-8", "latin-1", "utf-16", "utf-32"):
        words = f"Grüße, {KEY} and naïve words"
        desk.workspace.redactor.add(KEY)
        path = tmp_path / "a.txt"
        path.write_bytes((words + "x" * ((8 << 20) if encoding == "latin-1" else 0)).encode(encoding))
        kept = move_to_workspace(desk.workspace, path, f"a-{encoding}").path
        found = desk.workspace.read(kept).decode(encoding)
        assert found.startswith("Grüße, ")
        assert " and naïve words" in found
        assert KEY not in found


def test_a_file_of_a_server_configures_and_starts_nothing(desk: Desk, tmp_path: Path) -> None:
    for name, suffix, head, kept in (
        ("prices", ".json", b"{}", "prices.json"), ("package", ".json", b"{}", "package_data.json"),
        ("conftest", ".py", b"x", "conftest.bin"), ("x", ".desktop", b"x", "x.bin"),
        ("notes", ".txt", b"#!/bin/sh", "notes.bin"),
    ):  # fmt: skip
        path = tmp_path / f"a{suffix}"
        path.write_bytes(head + name.encode())
        assert move_to_workspace(desk.workspace, path, name).path == f"downloads/{kept}"


def test_a_large_file_stays_put(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_files, "LARGEST_FILE", 10)
    path = blob(desk.folder, ".png", picture())
    with pytest.raises(OSError, match="too large"):
        move_to_workspace(desk.workspace, path, "chart")
    assert path.exists()


def test_a_call_that_reads_a_stored_result_reads_the_file_of_the_workspace(desk: Desk) -> None:
    (desk.folder / "toolu_9.json").write_text(json.dumps([text(f"first\n{KEY}\nlast")]))
    (desk.folder / "b1.txt").write_text("of a command")
    picked = blob(desk.folder, ".png", picture())
    for tool, field, path, name in (
        ("Read", "file_path", desk.folder / "toolu_9.json", "tool_results/toolu_9.txt"),
        ("Grep", "path", desk.folder / "b1.txt", "tool_results/b1.txt"),
        ("mcp__local_toolkit__read_local_file", "path", desk.folder / "b1.txt", "tool_results/b1.txt"),
        ("Read", "file_path", picked, f"work_products/media/{picked.name}"),
    ):
        given: dict[str, Any] = {field: str(path), "offset": 2}
        assert desk.files.redirect(tool, given, desk.transcript) == {field: name, "offset": 2}
    assert desk.workspace.read("tool_results/toolu_9.txt").decode() == "first\n[redacted]\nlast"
    for path in (
        desk.folder / "gone.txt",
        desk.folder.parent / "other" / "tool-results" / "b1.txt",
        desk.folder / ".." / "x",
    ):
        given = {"file_path": str(path)}
        assert desk.files.redirect("Read", given, desk.transcript) == given
    given = {"file_path": str(desk.folder / "b1.txt")}
    assert desk.files.redirect("Write", given, desk.transcript) == given


def test_the_full_result_of_a_sub_agents_call_is_observed(desk: Desk) -> None:
    whole = [text("line\n" * LIMIT)]
    received = desk.receive(whole)
    # The message of such a call has no copy of the content.
    raw = RawResult(received.for_model, message_copy={"_meta": {"a": 1}}, hook_copy=received.for_observers)
    seen = ResultAdapter(desk.folder).observe(tool_name=LOOKUP, tool_use_id="toolu_1", tool_input={}, raw=raw)
    assert isinstance(seen, McpObservation)
    assert seen.recovered
    assert seen.output == whole[0]["text"]
