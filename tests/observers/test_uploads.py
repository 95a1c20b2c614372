from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from ua_tui.core.observation import ToolResult
from ua_tui.observers.base import ObserverContext, Outcome
from ua_tui.observers.uploads import Uploads

Make = Callable[..., ToolResult]
TOOLKIT = "mcp__local_toolkit__workbench_upload"
WORKBENCH = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
SEVERAL = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
MAIL = "mcp__composio__GMAIL_SEND_EMAIL"
STORED = {"name": "report.pdf", "mimetype": "application/pdf", "s3key": "u/1/report.pdf"}


def run(context: ObserverContext, call: ToolResult) -> tuple[Outcome, list[dict[str, Any]]]:
    assert Uploads().wants(call.call)
    outcome = Uploads().observe(call, context)
    files = [json.loads(context.workspace.read(saved.path))["files"] for saved in outcome.artifacts]
    return outcome, [file for each in files for file in each]


def test_an_upload_to_the_sandbox_has_size_digest_and_destination(
    context: ObserverContext, result: Make
) -> None:
    answer = {"status": "uploaded", "remote_path": "/mnt/files/a.csv", "path": "downloads/a.csv", "size": 3,
              "sha256": "ab" * 32}  # fmt: skip
    call = result(TOOLKIT, answer, path="downloads/a.csv")
    outcome, (file,) = run(context, call)
    assert file == {
        "name": "a.csv", "path": "downloads/a.csv", "size": 3, "sha256": "ab" * 32, "mimetype": None, "key": None,
        "destination": "/mnt/files/a.csv",
    }  # fmt: skip
    (saved,) = outcome.artifacts
    assert saved.kind == "upload"
    assert saved.path.startswith("uploads/a_csv_")
    again = Uploads().observe(call, context)
    assert (again.artifacts, again.duplicates) == ((), 1)


def test_files_among_the_arguments_are_uploads_of_the_tool_they_are_given_to(
    context: ObserverContext, result: Make
) -> None:
    answer = {"successful": True, "data": {"results": [
        {"index": 0, "response": {"successful": True, "data": {}}},
        {"index": 1, "response": {"successful": False, "error": "no such folder"}},
    ]}}  # fmt: skip
    tools = [
        {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"to": "a@b.example", "attachment": STORED}},
        {"tool_slug": "GOOGLEDRIVE_UPLOAD_FILE", "arguments": {"file_to_upload": STORED, "folder_id": "f"}},
        {"tool_slug": "GMAIL_FETCH_EMAILS", "arguments": {"query": "s3key"}},
    ]
    outcome, (file,) = run(context, result(SEVERAL, answer, tools=tools))
    assert (file["name"], file["key"], file["destination"]) == ("report.pdf", "u/1/report.pdf", "a@b.example")
    assert "reports a failure" in str(outcome.note)


def test_a_file_behind_a_long_argument_is_found(context: ObserverContext, result: Make) -> None:
    arguments = {"to": "a@b.example", "rows": [["cell"] * 50] * 50, "attachment": STORED}
    _, (file,) = run(context, result(MAIL, {"successful": True}, **arguments))
    assert file["key"] == "u/1/report.pdf"


def test_a_file_that_another_servers_tool_uploads_is_measured_only_in_the_workspace(
    context: ObserverContext, result: Make
) -> None:
    context.workspace.write("work_products/x.md", "text")
    outside = context.workspace.path.parent / "secret.txt"
    outside.write_text("secret")
    (context.workspace.path / "link").symlink_to(outside)
    tool = "mcp__notes__upload_file"
    signed = "https://u:p@h.example/put?sig=abcdefabcdef"
    _, (file,) = run(context, result(tool, "ok", "t1", path="work_products/x.md", url=signed))
    assert (file["size"], file["sha256"]) == (4, hashlib.sha256(b"text").hexdigest())
    assert file["destination"] == "https://h.example/put"
    for number, path in enumerate((str(outside), "../secret.txt", "link", "x" * 300, "a\x1b[2Jb\u202e.txt")):
        _, (file,) = run(context, result(tool, "ok", f"u{number}", path=path))
        assert (file["size"], file["sha256"]) == (None, None)
        assert "\x1b" not in file["name"]
        assert "\u202e" not in file["name"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mcp__notes__get_upload_url", {"path": "a"}), ("mcp__notes__upload_text", {"file": "line\nline"}),
        ("mcp__notes__upload_notes", {"source": "cli"}),
        ("mcp__notes__upload_text", {"file": "the words of a note"}), ("mcp__notes__read", {"path": "a"}),
        (WORKBENCH, {"code_to_execute": "upload_local_file('a.txt')"}),
        (MAIL, {"body": "s3key", "attachment": {"s3key": None}}), (SEVERAL, {"tools": "no list"}),
        ("Read", {"file_path": "a"}),
    ],
)  # fmt: skip
def test_calls_without_an_upload_are_left_alone(result: Make, tool: str, arguments: dict[str, Any]) -> None:
    assert not Uploads().wants(result(tool, "", **arguments).call)


def test_a_failed_call_uploaded_nothing(context: ObserverContext, result: Make) -> None:
    for call in (
        result(MAIL, "", error="denied", attachment=STORED),
        result(TOOLKIT, {"status": "x"}, path="a"),
    ):
        outcome = Uploads().observe(call, context)
        assert outcome.artifacts == ()
        assert outcome.note
