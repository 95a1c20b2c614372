"""The results of a batch on this machine: what was done is known, and nobody else's answers are taken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.core.team.jobs.batches import jobs_of
from tests.tui.fixture_types import Patch
from ua_tui.core.errors import SettingsError, TeamError, WorkspaceError
from ua_tui.core.storage.ownership import sealer
from ua_tui.core.team.jobs.results_file import FIELDS, ResultsFile, fields_of
from ua_tui.core.team.records import Job, JobResult

JOBS = jobs_of(3)


def result_of(job: Job, **more: Any) -> JobResult:
    given: dict[str, Any] = {
        "state": "done", "attempt": 1, "answer": "own", "cost_usd": 0.25, "folder": "/w/session_1", "started": 10.5,
        "finished": 12.0, "tokens": 7, "model": "m", "files": ("work_products/a.html",), "worker": "here",
    }  # fmt: skip
    return JobResult(job=job, **given | more)


def begun(job: Job, attempt: int = 1) -> JobResult:
    return JobResult(job=job, state="running", attempt=attempt, folder=f"/w/{job.number}", started=5.0)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "out" / "results.jsonl"


def write(path: Path, *results: JobResult) -> None:
    file = ResultsFile(path)
    for result in results:
        file.add(result)
    file.close()


def read(path: Path, **more: Any) -> dict[str, JobResult]:
    file = ResultsFile(path, **more)
    file.close()
    return file.known


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_was_written_is_known_also_from_another_folder(path: Path, tmp_path: Path) -> None:
    first = result_of(JOBS[0], unknown=("mcp__mail__send",))
    failed = result_of(JOBS[1], state="failed", error="it \u2028 broke", answer="", cost_usd=None)
    write(path, first, failed)
    moved = tmp_path / "moved.jsonl"
    shutil.move(path, moved)
    found = read(moved)
    assert [msgspec.structs.replace(each, job=JOBS[0], session="") for each in found.values()] == [
        first, msgspec.structs.replace(failed, job=JOBS[0]),
    ]  # fmt: skip
    assert [each.job.query for each in found.values()] == ["query 1", "query 2"]
    assert path.parent.joinpath(".results.jsonl.running").exists() is False


def test_a_result_has_the_columns_of_its_row_and_says_how_old_it_is() -> None:
    row = Job(
        id="x", query="q", number=4, columns={"row_seal": 0, "row_number": 7, "state": "mine", "seal": 1}
    )
    fields = fields_of(result_of(row), row, since=72.0)
    assert list(fields)[:6] == ["number", "query", "row_row_seal", "row_number", "row_state", "row_seal"]
    assert (fields["state"], fields["row_state"], fields["session"]) == ("done", "mine", "session_1")
    assert (fields["age_s"], fields["duration_s"], fields["started"]) == (
        60,
        1.5,
        "1970-01-01T00:00:10.500+00:00",
    )
    assert fields_of(result_of(row), row, since=11.0)["age_s"] is None
    assert set(FIELDS) < set(fields)


def without_seal(line: dict[str, Any]) -> None:
    del line["seal"]


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "answer": lambda line: line.update(answer="forged"),
    "state": lambda line: line.update(state="failed"),
    "query": lambda line: line.update(query="forged"),
    "job": lambda line: line.update(job=JOBS[2].id),
    "folder": lambda line: line.update(folder="/forged"),
    "session": lambda line: line.update(session="forged"),
    "attempt": lambda line: line.update(attempt=9),
    "cost": lambda line: line.update(cost_usd=0),
    "no seal": without_seal,
    "seal that is no text": lambda line: line.update(seal=["x"]),
    "no state": lambda line: line.pop("state"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_that_somebody_else_wrote_or_changed_is_refused(path: Path, name: str) -> None:
    write(path, result_of(JOBS[0]), result_of(JOBS[1]))
    lines = lines_of(path)
    HOSTILE[name](lines[1])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = path.read_bytes()
    with pytest.raises(SettingsError, match=r"line 2\), so nothing was run.*--output.*--again"):
        read(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["notes of mine\n", "[1, 2]\n", '{"query": "a"}\n', "\n7\n"])
def test_a_file_of_something_else_is_not_touched(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(SettingsError):
        read(path)
    assert path.read_text() == text


def test_the_results_of_another_user_are_refused(path: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    write(path, result_of(JOBS[0]))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with pytest.raises(SettingsError, match="did not write for this user"):
        read(path)


def test_other_columns_order_and_white_space_change_nothing(path: Path) -> None:
    write(path, result_of(JOBS[0]))
    (line,) = lines_of(path)
    line |= {"number": 9, "age_s": 3, "mark": "checked"}
    path.write_text(json.dumps(dict(reversed(line.items())), indent=None, separators=(" ,", " : ")))
    assert [each.answer for each in read(path).values()] == ["own"]


def test_a_line_that_was_torn_when_the_program_ended_is_no_result(path: Path) -> None:
    write(path, result_of(JOBS[0]), result_of(JOBS[1]))
    text = path.read_text()
    path.write_text(text[: len(text) - 40])
    assert list(read(path)) == [JOBS[0].id]
    # What is appended begins on a line of its own.
    write(path, result_of(JOBS[1], answer="again"))
    assert [each.answer for each in read(path).values()] == ["own", "again"]


def test_at_the_end_the_rows_are_in_order_and_those_of_other_files_stay(path: Path) -> None:
    file = ResultsFile(path)
    for job in reversed(JOBS):
        file.add(result_of(job))
    same = Job(id=JOBS[0].id, query=JOBS[0].query, number=7)
    file.rewrite([*JOBS[:2], same], file.known)
    file.close()
    assert [(line["number"], line["query"]) for line in lines_of(path)] == [
        (1, "query 1"), (2, "query 2"), (7, "query 1"), (3, "query 3"),
    ]  # fmt: skip
    assert len(read(path)) == 3


def test_what_is_known_of_a_row_stays_until_it_has_a_newer_result(path: Path) -> None:
    write(path, *(result_of(job, state="failed") for job in JOBS))
    refused = JobResult(job=JOBS[1], state="failed", error="no money")
    file = ResultsFile(path)
    # The first was stopped while it ran again, for the second no money was left.
    file.rewrite(JOBS, {JOBS[1].id: refused, JOBS[2].id: result_of(JOBS[2], attempt=2)})
    file.close()
    found = [(each["attempt"], each["folder"], each["error"]) for each in lines_of(path)]
    assert found == [(1, "/w/session_1", ""), (1, "/w/session_1", ""), (2, "/w/session_1", "")]
    # Whoever sorts the lines puts no earlier attempt in the place of a later one.
    newer = path.read_bytes()
    write(path, result_of(JOBS[0], attempt=2, state="failed"))
    path.write_bytes(b"".join(sorted(path.read_bytes().splitlines(keepends=True), reverse=True)))
    assert path.read_bytes() != newer
    assert {each.attempt for each in read(path).values()} == {1, 2}
    assert read(path)[JOBS[0].id].attempt == 2


def test_a_line_may_lack_what_is_empty_or_not_sealed(path: Path) -> None:
    write(path, result_of(JOBS[0], cost_usd=None, started=None))
    (line,) = lines_of(path)
    path.write_text(json.dumps({k: v for k, v in line.items() if v is not None and k != "number"}) + "\n")
    assert [(each.answer, each.cost_usd) for each in read(path).values()] == [("own", None)]


def test_a_session_is_noted_behind_one_whose_line_was_torn(path: Path) -> None:
    file = ResultsFile(path)
    file.begin(begun(JOBS[0]))
    file.close()
    running = path.with_name(".results.jsonl.running")
    running.write_bytes(running.read_bytes() + b'{"number":1,"query":"torn')
    file = ResultsFile(path)
    file.begin(begun(JOBS[1]))
    file.close()
    file = ResultsFile(path)
    file.close()
    assert set(file.begun) == {JOBS[0].id, JOBS[1].id}


def test_again_begins_anew_and_keeps_what_was_there(path: Path) -> None:
    write(path, result_of(JOBS[0]))
    file = ResultsFile(path, again=True)
    assert file.known == {}
    assert file.moved is not None
    assert file.moved.name.startswith("results.")
    file.add(result_of(JOBS[0], answer="new"))
    file.close()
    assert [each.answer for each in read(file.moved).values()] == ["own"]
    assert [each.answer for each in read(path).values()] == ["new"]
    # Twice in one second, and a file of somebody else likewise.
    path.write_text("notes\n")
    assert read(path, again=True) == {}
    assert "notes\n" in [each.read_text() for each in path.parent.glob("results.*.jsonl")]


def test_sessions_that_were_begun_are_known_until_they_are_over(path: Path) -> None:
    file = ResultsFile(path)
    for job in JOBS:
        file.begin(begun(job))
    file.add(result_of(JOBS[0]))
    file.begin(begun(JOBS[1], attempt=2))
    file.close()
    running = path.with_name(".results.jsonl.running")
    # Of somebody else, or of another job.
    first, *others = running.read_bytes().splitlines()
    other = first.replace(JOBS[0].id.encode(), b"forged")
    running.write_bytes(b"\n".join((*others, other, b"{torn")))
    file = ResultsFile(path)
    found = {job_id: (each.folder, each.attempt) for job_id, each in file.begun.items()}
    assert found == {JOBS[1].id: ("/w/2", 2), JOBS[2].id: ("/w/3", 1)}
    for job in JOBS[1:]:
        file.add(result_of(job, attempt=2))
    file.close()
    assert not running.exists()


def test_a_session_that_an_earlier_version_began_is_continued(path: Path) -> None:
    write(path, result_of(JOBS[0]))
    noted = (JOBS[1].id, "/w/mail", 1, 5.125)
    line = dict(zip(("job", "folder", "attempt", "started"), noted, strict=True))
    own = line | {"seal": sealer("batch", Path("/"))(*noted)}
    forged = own | {"job": JOBS[2].id}
    running = path.with_name(".results.jsonl.running")
    running.write_text("\n".join(map(json.dumps, (own, forged))))
    file = ResultsFile(path)
    file.close()
    found = [(each.job.id, each.folder, each.attempt, each.started) for each in file.begun.values()]
    assert found == [noted]


def test_two_programs_do_not_write_at_once(path: Path) -> None:
    file = ResultsFile(path)
    with pytest.raises(TeamError, match="another program is running a batch with the results file"):
        ResultsFile(path)
    file.close()
    ResultsFile(path).close()


def test_a_folder_that_cannot_be_written_is_named(path: Path) -> None:
    path.parent.mkdir()
    (path.parent / ".results.jsonl.running").mkdir()
    with pytest.raises(WorkspaceError, match=r"results .*results.jsonl cannot be written: Is a directory"):
        ResultsFile(path)
