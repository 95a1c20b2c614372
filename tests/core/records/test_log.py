from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tests.core.events.test_describe import sample
from tests.core.limits import file_size_limit
from ua_tui.core.concurrency.threads import Schedule, apart
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import EVENT_TYPES
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.records.log import LogFile, RootHandler, SessionLog, install_root_handler
from ua_tui.core.redaction.redactor import Redactor

AT = datetime(2026, 11, 21, 5, 10, 11, 123456, tzinfo=UTC)
HEAD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  \S+")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.log"


@pytest.fixture
def log(path: Path) -> Iterator[LogFile]:
    log = LogFile(path, Redactor(["hunter2hunter2"]))
    yield log
    log.close()


def heads(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if HEAD.match(line)]


def test_an_entry_has_time_kind_and_text_and_cannot_pass_for_two(path: Path, log: LogFile) -> None:
    log.write(AT, "query", "first\n2026-11-21 05:10:11.123  error      forged\n\n")
    lines = path.read_text().splitlines()
    local = AT.astimezone()
    assert lines[0] == f"{local:%Y-%m-%d %H:%M:%S}.123  query      first"
    assert lines[1].startswith(" " * 36 + "2026-11-21")
    assert len(heads(path)) == 1


def test_a_disk_that_refuses_is_reported_once_and_logging_resumes(path: Path) -> None:
    failures: list[WorkspaceError] = []
    log = LogFile(path, Redactor(), on_failure=failures.append)
    log.write(AT, "a", "before")
    with file_size_limit(path.stat().st_size + 10):
        log.write(AT, "b", "lost")
        log.write(AT, "b", "lost")
    log.write(AT, "c", "after")
    log.close()
    log.write(AT, "d", "too late")
    assert len(failures) == 1
    assert [line.split()[2] for line in path.read_text().splitlines()] == ["a", "c"]


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        LogFile(tmp_path / "missing" / "run.log", Redactor())


def test_messages_are_written_whole_and_thinking_before_its_answer(path: Path, log: LogFile) -> None:
    session = SessionLog(log)
    session(ev.ThinkingDelta(at=AT, query_id="q", message_id="m", text="let me "))
    session(ev.ThinkingDelta(at=AT, query_id="q", message_id="m", text="see"))
    session(ev.TextDelta(at=AT, query_id="q", message_id="m", text="Hel"))
    assert path.read_text() == ""
    session(ev.MessageFinished(at=AT, query_id="q", message_id="m", text="Hello"))
    session(ev.TextDelta(at=AT, query_id="q", message_id="m2", text="Half an ans"))
    session(ev.QueryFinished(at=AT, query_id="q", status="interrupted"))
    found = [line[25:] for line in heads(path)]
    assert found[:3] == ["thinking   let me see", "answer     Hello", "answer     Half an ans [unfinished]"]
    assert found[3].startswith("query      Interrupted")


def test_every_kind_of_event_has_an_entry(tmp_path: Path) -> None:
    for kind in EVENT_TYPES:
        if kind.__name__.endswith("Delta"):
            continue
        log = LogFile(path := tmp_path / f"{kind.__name__}.log", Redactor())
        SessionLog(log)(msgspec.structs.replace(sample(kind), at=AT))
        log.close()
        assert len(heads(path)) == 1 or kind is ev.MessageFinished, kind
        assert kind.__name__.lower() not in path.read_text().replace("_", "")


def test_a_call_that_a_person_changed_has_the_arguments_that_run(path: Path, log: LogFile) -> None:
    answered = ev.PermissionAnswered(
        at=AT, request_id="p", tool_name="Write", decision="allow", tool_use_id="t1",
        input={"path": "b.md"}, changes=["path: a.md → b.md"],
    )  # fmt: skip
    SessionLog(log)(answered)
    assert 'allowed with changed arguments [t1] {"path":"b.md"}' in path.read_text()


def test_results_are_cut_and_no_secret_is_cut_in_half(path: Path) -> None:
    secret = "s3cr3t" * 20
    log = LogFile(path, Redactor([secret]))
    text = "a" * 930 + secret + "b" * 50_000 + secret + "c" * 930
    observation = McpObservation(tool_name="n", tool_use_id="t", server="s", content=(TextContent(text),))
    session = SessionLog(log)
    session(ev.ToolCallStarted(at=AT, query_id="q1", tool_use_id="t", name="n"))
    session(ev.ToolCallFinished(at=AT, tool_use_id="t", status="success", observation=observation))
    written = path.read_text()
    assert len(written) < 2_500
    assert "characters left out" in written
    assert "s3cr3t" not in written


@pytest.fixture
def handler() -> Iterator[RootHandler]:
    handler = install_root_handler("INFO")
    yield handler
    handler.uninstall()


def test_records_wait_for_the_log_and_then_go_there(
    handler: RootHandler, path: Path, log: LogFile, capfd: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("some.library").warning("early %s hunter2hunter2", "bird")
    logging.getLogger("some.library").debug("too quiet")
    handler.attach(log)
    try:
        raise ValueError("what went wrong")
    except ValueError:
        logging.getLogger("later").exception("failed")
    handler.detach()
    logging.getLogger("between").error("sessions")
    written = path.read_text()
    assert "warning    some.library: early bird [redacted]" in written
    assert "ValueError: what went wrong" in written
    assert "too quiet" not in written
    assert "between" not in written
    handler.attach(log)
    assert "between: sessions" in path.read_text()
    assert capfd.readouterr() == ("", "")


def test_malformed_records_warnings_and_lost_errors_never_reach_the_terminal(
    handler: RootHandler, path: Path, log: LogFile, capfd: pytest.CaptureFixture[str]
) -> None:
    handler.attach(log)
    handler.handle(logging.LogRecord("bad", logging.ERROR, __file__, 1, "%d items", ("three",), None))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old fashioned", DeprecationWarning, stacklevel=1)

    def fall() -> None:
        raise RuntimeError("lost in a thread")

    thread = threading.Thread(target=fall)
    thread.start()
    thread.join()

    class Fragile:
        def __del__(self) -> None:
            raise RuntimeError("lost in a finaliser")

    fragile: Fragile | None = Fragile()
    assert fragile is not None
    fragile = None
    written = path.read_text()
    for text in ("old fashioned", "lost in a thread", "lost in a finaliser", "could not be formatted"):
        assert text in written
    assert written.count("error      ua_tui.core.records.log: ") == 2
    assert capfd.readouterr() == ("", "")


def test_uninstalling_gives_everything_back() -> None:
    root = logging.getLogger()

    def installed() -> tuple[object, ...]:
        hooks = warnings.showwarning, sys.unraisablehook, threading.excepthook
        return list(root.handlers), root.level, *hooks

    before = installed()
    handler = install_root_handler("DEBUG")
    assert handler in root.handlers
    handler.uninstall()
    handler.uninstall()
    assert installed() == before


async def test_records_of_a_session_are_in_its_log_alone_and_others_in_all(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.log" for name in ("one", "two")]
    logger, root, before = logging.getLogger("x"), logging.getLogger(), logging.getLogger().level
    all_, first_over = asyncio.Barrier(3), asyncio.Event()

    def speak(who: str, where: str) -> None:
        logger.warning("%s in %s", who, where)

    async def session(path: Path, level: str) -> None:
        who, handler = path.stem, install_root_handler(level)
        handler.attach(LogFile(path, Redactor()))
        await all_.wait()
        speak(who, "its task")
        logger.debug("%s in detail", who)
        await asyncio.create_task(asyncio.to_thread(speak, who, "its executor"))
        await apart(lambda: speak(who, "its thread"))
        work = Schedule("work")
        work.plan(lambda: speak(who, "its work"))
        work.finish()
        await all_.wait()
        if who == "one":
            handler.uninstall()
            first_over.set()
            # What follows is nobody's.
            speak("late", "a task of the first")
        else:
            await first_over.wait()
            speak(who, "the end")
            handler.uninstall()

    levels = ("DEBUG", "WARNING")
    sessions = [asyncio.create_task(session(*each)) for each in zip(paths, levels, strict=True)]
    await all_.wait()
    logger.warning("of nobody")
    await all_.wait()
    await asyncio.gather(*sessions)
    assert root.level == before
    assert not any(isinstance(each, RootHandler) for each in root.handlers)
    one, two = (path.read_text() for path in paths)
    for who, mine, other in (("one", one, two), ("two", two, one)):
        assert "of nobody" in mine
        for where in ("its task", "its executor", "its thread", "its work"):
            assert mine.count(f"{who} in {where}") == 1
        assert f"{who} in " not in other
    assert "one in detail" in one
    assert "two in detail" not in two
    assert "two in the end" in two


def test_a_library_that_sets_up_logging_on_import_finds_it_done() -> None:
    script = (
        "from ua_tui.core.records.log import install_root_handler\n"
        "install_root_handler()\n"
        "import logging\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "logging.getLogger('x').error('painted over the screen')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
