from __future__ import annotations

import fcntl
import json
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import NOON, Recorded
from tests.tui.comparison.compared import A, session_a, session_b
from tests.tui.export.exported import answered
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events import types as ev
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import JOURNAL, OWNER
from ua_tui.tui.cli import main
from ua_tui.tui.comparison.body import comparison_lines
from ua_tui.tui.comparison.sessions import ComparedSession, compare_sessions
from ua_tui.tui.export.formats import read_export


def lines(a: Path, b: Path, width: int = 100) -> list[str]:
    return list(comparison_lines(*compare_sessions(a, b, Redactor()), width))


def test_everything_that_both_have_in_common_or_not_is_compared(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, session_b(tmp_path).folder
    found, _ = compare_sessions(a, b, Redactor())
    assert found.a.cost_usd == 0.02
    assert found.b.cost_usd == pytest.approx(0.08)
    assert (found.a.seconds, found.b.seconds) == (2.0, 10.0)
    assert (found.b.calls, found.b.failed_calls, found.b.doubtful) == (1, 1, 2)
    assert [(pair.a and pair.a.text, pair.b and pair.b.number) for pair in found.queries] == [
        ("Which animals smile?", 1),
        (None, 2),
    ]
    assert [page.url for page in found.pages.only_b] == ["https://dogs.example/smiles"]
    assert found.claims is not None
    assert found.text is not None
    assert [(old.quote.exact, new.quote.exact) for old, new in found.claims.changed] == [
        ("41 percent", "43 percent")
    ]
    assert [each.quote.exact for each in (*found.claims.gone, *found.claims.new)] == ["12", "600"]
    assert found.text.only_a == ("About 41 percent smile.", "There are 12 kinds.")
    shown = lines(a, b)
    for line in (
        "cost     $0.02                                         $0.08 (4.0×)",
        "calls    0                                             1, 1 failed",
        "claims   2 not counting links                          2 not counting links, 2 doubtful",
        "Pages read: 0 in common, 1 only in A, 1 only in B",
        "- Cats & their smiles  cats.example",
        "Claims: 0 in common, 1 changed, 1 only in A, 1 only in B",
        '~ "41 percent" is now "43 percent" (differs): About 43 percent of cats smile.',
        '- "12": There are 12 kinds of them.',
        "Lines of the reports: 1 changed, 1 added, 1 removed",
        "+ 600 were asked.",
    ):
        assert line in shown, line


def test_a_session_that_crashed_costs_the_same_everywhere(
    tmp_path: Path, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    a, b = session_a(tmp_path).folder, Recorded(tmp_path, "session_20260312_120000")
    b.add(
        ev.QueryReceived(query_id="q1", text="And dogs?"),
        ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Read", input={}),
        ev.ToolCallFinished(tool_use_id="t1", status="cancelled", ran=False),
        ev.TokensSpent(query_id="q1", message_id="m", usage=ev.Usage(output_tokens=9), cost_usd=0.1),
    )
    found = compare_sessions(a, b.folder, Redactor())[0].b
    # A call that was cancelled did not fail.
    assert (found.calls, found.failed_calls) == (1, 0)
    assert found.state == "crashed"
    assert "cost     $0.02                                         ~$0.10 (5.0×)" in lines(a, b.folder)
    costs = read_export(b.folder, Redactor()).record.costs
    assert (
        (found.cost_usd, found.cost_is_estimated) == (costs.cost_usd, costs.cost_is_estimated) == (0.1, True)
    )
    assert main(["sessions"]) == 0
    assert "~$0.10" in capsys.readouterr().out
    assert main(["fleet"]) == 0
    crashed, finished = (line.split()[0] for line in sorted(capsys.readouterr().out.splitlines()[1:]))
    assert (crashed, finished) == ("crashed", "finished")
    assert main(["fleet", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sessions"]
    shown = {row["session"]: (row["state"], row["cost_usd"], row["cost_is_estimated"]) for row in rows}
    assert shown == {A: ("finished", None, False), b.folder.name: ("crashed", 0.1, True)}


def test_a_fork_is_compared_with_what_it_inherited(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, Recorded(tmp_path, "session_20260312_120000")
    answered(b)
    b.add(ev.SessionForked(session=A, cost_usd=0.02), ev.QueryReceived(query_id="q2", text="And dogs?"))
    b.add(ev.QueryFinished(query_id="q2", status="success", cost_usd=0.01, usage=ev.Usage(output_tokens=300)))
    found = compare_sessions(a, b.folder, Redactor())[0]
    assert found.b.cost_usd == pytest.approx(0.03)
    assert (found.b.inherited_usd, found.b.tokens) == (0.02, 1_500)
    assert any("$0.03, $0.02 inherited (+50%)" in line for line in lines(a, b.folder))


def test_a_fork_started_when_it_was_forked(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, Recorded(tmp_path, "session_20260312_120000")
    start, *rest = (b.folder / JOURNAL).read_bytes().splitlines(keepends=True)
    start = start.replace(b'"forked_from":null', f'"forked_from":"{A}"'.encode(), 1)
    (b.folder / JOURNAL).write_bytes(start + b"".join(rest))
    answered(b)
    found = compare_sessions(a, b.folder, Redactor())[0]
    assert found.b.started == datetime(2026, 3, 12, 12).astimezone()
    assert found.a.started == NOON + timedelta(seconds=1)


def test_queries_that_are_undone_are_marked(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, session_b(tmp_path)
    b.add(ev.SessionRewound(query_id="q2", provider_session_id="p"))
    found = compare_sessions(a, b.folder, Redactor())[0]
    assert (found.a.undone, found.b.undone) == (0, 1)
    assert [pair.b and pair.b.undone for pair in found.queries] == [False, True]
    shown = lines(a, b.folder)
    assert any(line.startswith("queries") and line.endswith("2, 1 undone") for line in shown)
    assert any("undone · 1 call" in line for line in shown)


def test_a_query_that_runs_takes_the_time_until_now(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, Recorded(tmp_path, "session_20260312_120000")
    # The events are a second apart.
    b.add(ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Read", input={}))
    b.add(ev.ToolCallFinished(tool_use_id="t1", status="success"))
    found = compare_sessions(a, b.folder, Redactor())[0]
    (pair,) = found.queries
    assert pair.b is not None
    assert (found.b.seconds, pair.b.seconds) == (2.0, 2.0)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_texts_of_others_are_clean_and_no_line_is_too_wide(tmp_path: Path, width: int) -> None:
    shown = lines(session_a(tmp_path).folder, session_b(tmp_path).folder, width)
    assert max(map(len, shown)) <= width
    assert not any(sign in line for line in shown for sign in "\x1b\x07")


def test_what_is_wrong_with_a_session_is_said_and_the_rest_is_compared(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, session_b(tmp_path)

    def notices() -> str:
        found: ComparedSession = compare_sessions(a, b.folder, Redactor())[0].b
        return " ".join(found.notices)

    assert notices() == ""
    assert "×)" in "".join(lines(a, b.folder))
    journal = b.folder / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-40])
    assert "was cut off before its end" in notices()
    assert "The last line of the journal is incomplete" in notices()
    journal.write_bytes(whole.replace(b'"error"', b"\xff\xfe", 1))
    assert "Damaged lines of the journal are missing (1)." in notices()
    journal.write_bytes(b"\n".join(whole.split(b"\n")[:-2]) + b"\n")
    with ExitStack() as stack:
        lock = stack.enter_context((b.folder / ".lock").open("wb"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "The session is still running" in notices()
        assert "×)" not in "".join(lines(a, b.folder))
    (b.folder / OWNER).unlink()
    assert "was not made by this program for this user" in notices()


def test_sessions_without_reports_are_compared_without_them(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, Recorded(tmp_path, "session_20260312_120000")
    found, difference = compare_sessions(a, b.folder, Redactor())
    assert (found.claims, found.text, difference) == (None, None, None)
    assert "The session has no report." in found.b.notices
    shown = lines(a, b.folder)
    assert {
        "Claims not compared: B has no report",
        "Answers not compared: one of the two has no answer",
    } <= {*shown}
    answered(b, "**Dogs** do.")
    shown = lines(a, b.folder)
    assert {"Lines of the last answers: 1 changed", "- **Cats** do.", "+ **Dogs** do."} <= {*shown}


def test_what_cannot_be_compared_is_refused_in_plain_words(tmp_path: Path) -> None:
    a, b = session_a(tmp_path).folder, session_b(tmp_path).folder
    link = tmp_path / "link"
    link.symlink_to(a)
    with pytest.raises(UniversalAgentError, match=f"{A} cannot be compared with itself"):
        compare_sessions(a, link, Redactor())
    (b / JOURNAL).write_bytes(b"")
    with pytest.raises(UniversalAgentError, match="its journal has no events"):
        compare_sessions(a, b, Redactor())
