"""Tests of the reading of a session's journal for the knowledge base."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.observers.knowledge.recorded import NOON, Recorded
from tests.packed import pack
from ua_tui.core.errors import JournalError
from ua_tui.core.events import types as ev
from ua_tui.core.history.headline import TITLE
from ua_tui.core.knowledge.records import Batch, Cursor, IndexedCall, KnowledgeDocument
from ua_tui.core.observation import FileWriteObservation
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.workspace import JOURNAL, OWNER
from ua_tui.observers.knowledge.journal import LARGEST_BATCH, MOST_FILES, read_batch

SECRET = "correct-horse-battery-7731"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"


def batch_of(session: Recorded, cursor: Cursor, redactor: Redactor) -> Batch:
    batch = read_batch(session.folder, cursor, redactor)
    assert batch is not None
    return batch


def batches(session: Recorded, cursor: Cursor = Cursor()) -> list[Batch]:  # noqa: B008 - it is frozen
    found: list[Batch] = []
    while not found or found[-1].more:
        found.append(batch_of(session, cursor, Redactor([SECRET])))
        cursor = found[-1].after
    return found


def documents(session: Recorded, cursor: Cursor = Cursor()) -> list[KnowledgeDocument]:  # noqa: B008 - it is frozen
    return [document for batch in batches(session, cursor) for document in batch.documents]


def end_of(session: Recorded) -> Cursor:
    return batches(session)[-1].after


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def test_the_first_batch_has_what_is_known_of_the_session(session: Recorded) -> None:
    batch = batch_of(session, Cursor(), Redactor())
    assert (batch.title, batch.demo) == ("Which animals smile?", False)
    assert batch.after == Cursor(2, (session.folder / JOURNAL).stat().st_size)
    assert not batch.more
    session.add(ev.SessionFinished(reason="finished"))
    (session.folder / TITLE).write_text(f"My animals {SECRET}")
    batch = batch_of(session, batch.after, Redactor([SECRET]))
    assert batch.title == "My animals [redacted]"


def test_queries_and_answers_are_documents_with_the_number_of_their_event(session: Recorded) -> None:
    session.answer("# Cats\n\nSee <https://a.example/cats>.")
    session.add(ev.QuerySteered(query_id="q1", text="And dogs?"))
    # An answer without a text is none.
    session.answer(" \n")
    query, answer, steered = documents(session)
    assert (query.kind, query.path, query.part, query.trust) == ("query", "", 2, "own")
    assert (answer.kind, answer.path, answer.part, answer.title) == ("answer", "", 3, "Cats")
    assert answer.made_at == NOON.timestamp() + 3
    assert (steered.kind, steered.text) == ("query", "And dogs?")


def test_the_title_of_an_answer_is_its_query(session: Recorded) -> None:
    before = end_of(session)
    session.answer("The quokka smiles more than any other animal of its size that was seen.")
    assert [each.title for each in documents(session)] == ["Which animals smile?"] * 2
    # Also when the query is in an earlier batch.
    assert [each.title for each in documents(session, before)] == ["Which animals smile?"]


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Both animals smile.\n\nThe quokka more than the numbat.", "Which animals smile?"),
        ("**Animals that smile**\n\nQuokkas.", "Animals that smile"),
        ("# Animals\n\nQuokkas.", "Animals"),
    ],
)
def test_the_first_line_of_an_answer_is_its_title_only_if_it_is_a_heading(
    session: Recorded, answer: str, title: str
) -> None:
    session.answer(answer)
    assert documents(session)[1].title == title


def test_a_call_is_given_when_it_begins(session: Recorded) -> None:
    slugs = (
        {"tool_slug": "X_SEARCH", "arguments": {}}, {"tool_slug": f"Y_{SECRET}"}, {"tool_slug": "X_SEARCH"},
        7,
    )  # fmt: skip
    call: dict[str, Any] = {"query_id": "q1", "tool_use_id": "t1", "name": MULTI, "parent_tool_use_id": "t0"}
    session.add(ev.ToolCallStarted(**call, input={"tools": [*slugs]}))
    (first,) = batches(session)
    slug = "X_SEARCH, Y_[redacted]"
    assert first.calls == (IndexedCall(tool_use_id="t1", tool=MULTI, slug=slug),)


def test_a_saved_file_is_read_again_when_it_changed_and_keeps_its_call(session: Recorded) -> None:
    session.write_report("cats", "First text.")
    session.write_report("dogs", "Other text.")
    (first,) = batches(session)
    assert [document.text for document in first.documents][1:] == ["First text.", "Other text."]
    (session.folder / "work_products/cats.md").write_text("Second text.")
    session.add(ev.ArtifactChanged(path="work_products/cats.md", kind="work_product", size=1, sha256="x"))
    (second,) = batches(session, first.after)
    assert second.replaced == ("work_products/cats.md",)
    assert [(each.text, each.tool_use_id) for each in second.documents] == [("Second text.", "cats")]
    (all_,) = batches(session)
    assert {*all_.replaced} == {"work_products/cats.md", "work_products/dogs.md"}
    found = [(each.text, each.tool_use_id) for each in all_.documents]
    assert {*found[1:]} == {("Second text.", "cats"), ("Other text.", "dogs")}


def test_files_that_the_agent_wrote_or_a_person_attached_are_read(session: Recorded) -> None:
    (session.folder / "notes.md").write_text("# Plan\n\nRead first.")
    (session.folder / "attachments").mkdir()
    (session.folder / "attachments/cat.png").write_bytes(b"\0")

    def wrote(path: str, status: Any = "success") -> ev.ToolCallFinished:
        seen = FileWriteObservation(
            tool_name="write_local_file", tool_use_id=path, server="local_toolkit", path=path
        )
        return ev.ToolCallFinished(tool_use_id=path, status=status, observation=seen)

    attached = ev.AttachedFile(path="attachments/cat.png", media_type="image/png", size=1, sha256="x")
    session.add(
        wrote("notes.md"), wrote("missing.md"), wrote("journal.jsonl"), wrote("attachments/cat.png", "error")
    )
    session.add(ev.FilesAttached(query_id="q1", files=[attached]))
    found = [(each.kind, each.title) for each in documents(session)[1:]]
    assert found == [("note", "Plan"), ("file", "cat.png")]


def test_a_batch_has_a_bounded_number_of_files(session: Recorded) -> None:
    for number in range(3 * MOST_FILES):
        session.write_report(f"r{number}", f"Report {number}.")
    found = batches(session)
    assert [len(batch.replaced) for batch in found] == [MOST_FILES] * 3
    assert [batch.after.seq for batch in found][-1] == session.seq
    assert len(documents(session)) == 3 * MOST_FILES + 1


def test_a_batch_has_a_bounded_size_or_one_file(session: Recorded) -> None:
    for number in range(4):
        session.write_report(f"r{number}", "word " * (LARGEST_BATCH // 10 + number * LARGEST_BATCH // 20))
    assert [len(batch.replaced) for batch in batches(session)] == [1, 1, 1, 1]
    for number in range(4):
        session.write_report(f"s{number}", "word " * (LARGEST_BATCH // 15))
    assert [len(batch.replaced) for batch in batches(session)][4:] == [3, 1]
    for number in range(4):
        session.write_report(f"t{number}", "")
        (path,) = session.folder.rglob(f"*t{number}.md")
        path.unlink()
        # Only what is large is compressed.
        path.with_name(f"{path.name}.zst").write_bytes(pack(b"word " * (LARGEST_BATCH // 6)))
    assert [len(batch.replaced) for batch in batches(session)][4:] == [3, 2, 2, 1]


@pytest.mark.parametrize("steps", [(1, 1, 1), (MOST_FILES, 1), (5, MOST_FILES + 3, 2)])
def test_reading_in_any_steps_gives_the_same_documents(session: Recorded, steps: tuple[int, ...]) -> None:
    cursor, found = Cursor(), []
    for step, count in enumerate(steps):
        for number in range(count):
            session.write_report(f"r{step}-{number}", f"Report {step} {number}.")
        found += documents(session, cursor)
        cursor = end_of(session)
    assert found == documents(session)


def test_a_last_line_that_is_not_complete_waits(session: Recorded) -> None:
    cursor = end_of(session)
    whole = (session.folder / JOURNAL).read_bytes()
    session.answer("Cats do.")
    line = (session.folder / JOURNAL).read_bytes()[len(whole) :]
    for length in (1, len(line) // 2, len(line) - 1):
        (session.folder / JOURNAL).write_bytes(whole + line[:length])
        batch = batch_of(session, cursor, Redactor())
        assert batch == Batch(after=cursor)
    (session.folder / JOURNAL).write_bytes(whole + line)
    assert [document.text for document in documents(session, cursor)] == ["Cats do."]


@pytest.mark.parametrize("change", ["truncated", "replaced", "longer", "emptied"])
def test_another_journal_is_read_from_its_beginning(session: Recorded, tmp_path: Path, change: str) -> None:
    session.answer("Cats do.")
    cursor = end_of(session)
    journal = session.folder / JOURNAL
    *lines, last = journal.read_bytes().splitlines(keepends=True)
    other = Recorded(tmp_path / "other")
    for number in range(9):
        other.add(ev.QueryReceived(query_id=f"q{number}", text="x" * number))
    contents = {
        "truncated": b"".join(lines), "replaced": b"".join(lines) + last.replace(b'"seq":3', b'"seq":9'),
        "longer": (other.folder / JOURNAL).read_bytes(), "emptied": b"",
    }  # fmt: skip
    journal.write_bytes(contents[change])
    assert read_batch(session.folder, cursor, Redactor()) is None


def test_lines_that_are_no_events_or_far_too_long_are_skipped(session: Recorded) -> None:
    lines = (
        b'no event\n\n{"event":"of_a_later_version","seq":7,"new":1}\n\xff\xfe\n{"event":"query_received"}\n'
    )
    with open(session.folder / JOURNAL, "ab") as file:
        file.write(lines + b"x" * (9 << 20) + b"\n")
    session.answer("Cats do.")
    assert [document.kind for document in documents(session)] == ["query", "answer"]
    with open(session.folder / JOURNAL, "ab") as file:
        file.write(b"no event\n")
    cursor = end_of(session)
    assert read_batch(session.folder, cursor, Redactor()) == Batch(after=cursor)


def test_a_session_without_a_journal_cannot_be_read(session: Recorded, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(session.folder)
    for folder in (tmp_path / "missing", tmp_path, link):
        with pytest.raises(JournalError):
            read_batch(folder, Cursor(), Redactor())
    os.remove(session.folder / JOURNAL)
    os.mkfifo(session.folder / JOURNAL)
    with pytest.raises(JournalError):
        read_batch(session.folder, Cursor(), Redactor())


def test_a_session_that_is_deleted_meanwhile_has_no_more_documents(session: Recorded) -> None:
    session.write_report("cats", "Text.")
    batch = batch_of(session, Cursor(), Redactor())
    session.folder.rename(session.folder.with_name("gone"))
    assert [document.kind for document in batch.documents] == ["query"]


def test_planted_secrets_of_a_journal_reach_nothing(session: Recorded) -> None:
    session.answer(f"The password is {SECRET}, at https://a.example/?x={SECRET}.")
    call: dict[str, Any] = {"tool_use_id": SECRET, "name": f"mcp__{SECRET}__x", "parent_tool_use_id": SECRET}
    session.add(
        ev.ToolCallStarted(query_id="q1", **call), ev.ToolCallFinished(tool_use_id=SECRET, status="success")
    )
    for name in (f"{SECRET}.md", "a.md"):
        (session.folder / name).write_text("text")
        session.add(
            ev.ArtifactSaved(path=name, kind=SECRET, size=1, sha256="x", observer="x", tool_use_id=SECRET)
        )
    (batch,) = batches(session)
    assert SECRET not in repr([batch.title, batch.calls, list(batch.documents)])


def test_times_before_the_epoch_are_no_error(tmp_path: Path) -> None:
    session = Recorded(tmp_path)
    journal = session.folder / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b"2026-", b"0001-"))
    assert [document.made_at for document in documents(session)] == [
        datetime(1, 3, 10, 12, 0, 2, tzinfo=UTC).timestamp()
    ]


@pytest.mark.parametrize("name", ["by an earlier version", "unpacked over one of the user's"])
def test_a_session_of_somebody_else_says_nothing_about_who_wrote_a_text(session: Recorded, name: str) -> None:
    session.write_report("quokka", "A quokka smiles.")
    session.answer("Quokkas.")
    assert {each.trust for each in documents(session)} == {"own"}
    if name == "by an earlier version":
        (session.folder / OWNER).unlink()
    else:
        journal = (session.folder / JOURNAL).read_bytes()
        (session.folder / JOURNAL).write_bytes(journal.replace(b'"version":"1"', b'"version":"2"', 1))
    assert {each.trust for each in documents(session)} == {"unknown"}
    seal_session(Root(session.folder))
    assert {each.trust for each in documents(session)} == {"own"}
