from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from tests.core.agent.test_servers import reporting
from ua_tui.core.agent.mcp.error_messages import cause_of
from ua_tui.core.redaction.redactor import Redactor

TOO_LONG = (
    "wrote >16MB to stdout without a JSON-RPC message boundary. The server is likely writing logs or other "
    "non-protocol data to stdout instead of stderr. Disconnecting to prevent unbounded memory growth."
)
STARTS = {"debug": "Starting connection with timeout of 30000ms"}
ENDED = {"error": "Connection failed (CONNECTION_CLOSED): Connection closed"}
CALL = {"debug": "Calling MCP tool: get_result"}
CLOSED = {"debug": "Closing transport (stdout overflow)"}


def write(cache: Path, *entries: object) -> None:
    """Write the log of the server `my_files` as the command line does."""
    folder = cache / "claude-cli-nodejs" / "-tmp-session" / "mcp-logs-my-files"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(entry, separators=(",", ":")) for entry in entries]
    (folder / "2026-11-23T00-17-28-787Z.jsonl").write_text("\n".join(lines) + "\n")


def test_a_connection_that_the_agent_closed_is_explained(tmp_path: Path) -> None:
    write(tmp_path, CALL, {"error": "Server stderr: hello"}, {"error": TOO_LONG}, CLOSED)
    states, reports = reporting(cause_of=partial(cause_of, tmp_path))
    states.update([{"name": "my_files", "status": "connected"}])
    states.mark_dead("my_files", "Connection closed")
    states.report()
    report = reports.pop()
    (server,) = report.servers
    assert server.error is not None
    assert server.error.startswith(
        "it sent more than 16 MB in one message, so the agent closed the connection: ask it for less data"
    )
    # Also when the next connection has begun.
    write(tmp_path, CALL, {"error": TOO_LONG}, CLOSED, STARTS)
    assert cause_of(tmp_path, "my_files", "Connection closed") == TOO_LONG


def test_a_connection_is_explained_when_the_agent_logs_the_cause_later(tmp_path: Path) -> None:
    states, reports = reporting(cause_of=partial(cause_of, tmp_path))
    listed = [{"name": "my_files", "status": "connected"}]
    states.update(listed)
    states.mark_dead("my_files", "Connection closed")
    states.report()
    report = reports.pop()
    assert report.servers[0].error == "it ended, or closed the connection: `ua-tui doctor` shows its output"
    write(tmp_path, CALL, {"error": TOO_LONG}, CLOSED)
    states.report_update(listed)
    report = reports.pop()
    assert report.servers[0].error is not None
    assert "more than 16 MB" in report.servers[0].error
    # The server is connected again; what was wrong with it stays known.
    assert states.mark_alive("my_files")
    states.report_update(listed)
    report = reports.pop()
    assert report.servers[0].error is None
    assert "more than 16 MB" in (report.servers[0].last_error or "")


def test_nothing_else_in_the_log_counts(tmp_path: Path) -> None:
    logs: tuple[list[object], ...] = (
        # Of an earlier call, of another kind, and damaged.
        [CALL, {"error": TOO_LONG}, CLOSED, CALL],
        [CALL, {"error": "Server stderr: Traceback"}],
        [STARTS, {"error": "Server stderr: of an earlier start"}, STARTS],
        [CALL, ["error", TOO_LONG], {"error": [TOO_LONG]}, "error"],
    )  # fmt: skip
    for entries in logs:
        write(tmp_path, *entries)
        assert cause_of(tmp_path, "my_files", "Connection closed") is None
        assert cause_of(tmp_path / "elsewhere", "my_files", "Connection closed") is None


def test_a_program_that_ended_as_it_started_is_reported_with_its_last_words(tmp_path: Path) -> None:
    for output, reported in (
        ("no \x1b[2Jdatabase\n", "no \N{REPLACEMENT CHARACTER}[2Jdatabase"),
        ("Traceback (most recent call last):\n  File \"x\"\nKeyError: 'NOTES'\n\n", "KeyError: 'NOTES'"),
        ("throw err;\nError: Cannot find module 'x'\n    at Module._load\n\nNode.js v22\n",
         "Error: Cannot find module 'x'"),
        ("token: hunter2-hunter2\n", "token: [redacted]"),
    ):  # fmt: skip
        write(
            tmp_path,
            STARTS,
            {"error": "Server stderr: earlier"},
            STARTS,
            {"error": f"Server stderr: {output}"},
            ENDED,
        )
        states, reports = reporting(
            redactor=Redactor(["hunter2-hunter2"]), cause_of=partial(cause_of, tmp_path)
        )
        states.report_update([{"name": "my_files", "status": "failed", "error": "Connection closed"}])
        report = reports.pop()
        assert str(report.servers[0].error).startswith(f"it ended ({reported}): fix it")


def test_the_status_of_an_answer_that_is_an_error_is_reported(tmp_path: Path) -> None:
    error = "Error POSTing to endpoint: <p>no"
    write(tmp_path, STARTS, {"error": f"Connection failed (503): {error}"})
    logs = partial(cause_of, tmp_path)
    assert logs("my_files", error) == "Error POSTing to endpoint (HTTP 503): <p>no"
    assert logs("my_files", "ECONNREFUSED") == "ECONNREFUSED"


def test_a_failed_start_is_reported_once_when_the_agent_logs_the_cause_later(tmp_path: Path) -> None:
    states, reports = reporting(cause_of=partial(cause_of, tmp_path))
    failed = [{"name": "my_files", "status": "failed", "error": "Connection closed"}]
    states.report_update([{"name": "my_files", "status": "pending"}])
    states.report_update(failed)
    write(tmp_path, STARTS, {"error": "Server stderr: no database"}, ENDED)
    states.report_update(failed)
    assert [(server.status, server.error) for report in reports for server in report.servers] == [
        ("pending", None),
        (
            "failed",
            "it ended (no database): fix it, or correct the command that starts it; `ua-tui doctor` tests it",
        ),
    ]
    # A cause that does not come is not waited for.
    states, reports = reporting(cause_of=lambda _name, _error: None)
    for _ in range(9):
        states.report_update(failed)
    assert [report.servers[0].status for report in reports] == ["pending", "failed"]
    states, reports = reporting(cause_of=lambda _name, _error: None)
    states.report_update(failed)
    assert [report.servers[0].status for report in reports] == ["pending"]
    assert states.is_holding
    states.report_failed()
    assert reports[-1].servers[0].status == "failed"
    assert not states.is_holding
