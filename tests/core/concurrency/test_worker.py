from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.descriptors import open_files
from tests.observers.plugin_package import install
from tests.paths import PROJECT
from tests.waiting import PATIENCE
from ua_tui.core.agent.messages.result_files import ResultStore
from ua_tui.core.agent.messages.results import RawResult, ResultAdapter
from ua_tui.core.concurrency import worker as aside_module
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess, WorkerUnavailable
from ua_tui.core.concurrency.worker_child import TaskContext
from ua_tui.core.observation import McpObservation, TextContent, ToolCall, ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.execution.offload import LARGE, ResultOffload
from ua_tui.observers.execution.run import Run, perform
from ua_tui.observers.search_results import SearchResults
from ua_tui.observers.workbench_activity import WorkbenchActivity

HERE = "tests.core.concurrency.test_worker"
SEARCH = "mcp__any__web_search"
WORKBENCH = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
SECRET = "hunter2hunter2-and-more"
LATER = "told-of-only-later-on"
SIGNED = "https://files.example/a.pdf?X-Amz-Credential=AB%2F20260310&X-Amz-Signature=0123456789abcdef&n="
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def say_hello(desk: TaskContext, name: str) -> list[Any]:
    """Answer with what was asked for, and who answers."""
    return [name, [text.encode("utf-8", "surrogatepass") for text in desk.texts(name)], os.getpid()]


def say_nothing_for_long(desk: TaskContext, _: Any) -> None:
    """Tell that it began, and go on for longer than any test."""
    desk.texts("begun")
    threading.Event().wait(600)


def log_and_fail(desk: TaskContext, text: str) -> None:
    """Log as an observer might, and raise."""
    logging.getLogger("observers.somewhere").warning("about %s", text)
    raise OSError(f"no room for {text}")


def grow_impatient(desk: TaskContext, _: Any) -> None:
    """Have the child wait no longer for a next task."""
    vars(sys.modules["__main__"])["_IDLE_SECONDS"] = 0.0


def give_number_too_large(desk: TaskContext, _: Any) -> int:
    """Give what cannot be sent back."""
    return 2**80


def where_things_are(desk: TaskContext, _: Any) -> dict[str, Any]:
    """What the child knows of the world."""
    from ua_tui import core
    from ua_tui.core.agent.messages import result_files as settling

    files = [str(core.__file__), str(settling.__file__)]
    environment = Path("/proc/self/environ").read_bytes().decode("utf-8", "replace")
    command = Path("/proc/self/cmdline").read_bytes().decode("utf-8", "replace")
    return {"files": files, "environment": environment, "command": command, "cwd": str(Path.cwd())}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path, NOON, Redactor([SECRET]))


@pytest.fixture
def aside(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    aside = WorkerProcess(workspace)
    yield aside
    aside.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One process for the tests that only give it tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT))
        worker = WorkerProcess(Workspace.create(tmp_path_factory.mktemp("shared"), NOON, Redactor([SECRET])))
        yield worker
    worker.close()


def hello(aside: WorkerProcess, *texts: str) -> int:
    """Have the child give texts back; returns its process."""
    name, given_back, pid = aside.call(f"{HERE}:say_hello", "who", lambda _: texts)
    assert name == "who"
    assert [text.decode("utf-8", "surrogatepass") for text in given_back] == list(texts)
    return int(pid)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def begin_long_task(aside: WorkerProcess) -> tuple[threading.Thread, list[BaseException], int]:
    """Start a task that does not end; returns its caller, what that was told, and the child's process."""
    begun, reported = threading.Event(), list[BaseException]()

    def answer(_: str) -> list[str]:
        begun.set()
        return []

    def work() -> None:
        try:
            aside.call(f"{HERE}:say_nothing_for_long", None, answer)
        except BaseException as error:
            reported.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert begun.wait(PATIENCE)
    assert aside._process is not None
    return thread, reported, aside._process.pid


def raw(*blocks: Any, **options: Any) -> RawResult:
    return RawResult(
        block=[{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks], **options
    )


def facts(tool: str, tool_use_id: str = "toolu_1", **arguments: Any) -> dict[str, Any]:
    times = {"started_at": NOON, "ended_at": NOON, "duration_ms": 12.5}
    return {"tool_name": tool, "tool_use_id": tool_use_id, "tool_input": arguments, **times}


def rows(count: int, prefix: str = "https://site.example/", words: str = "words " * 40) -> dict[str, Any]:
    found = [{"title": f"About {n}", "url": f"{prefix}{n}", "snippet": words} for n in range(count)]
    return {"results": found}


def files_of(workspace: Workspace, folder: str) -> dict[str, bytes]:
    files = workspace.list(folder) if workspace.exists(folder) else []
    names = [entry.name for entry in files if not entry.is_dir]
    return {name.removesuffix(".zst"): workspace.read_artifact(f"{folder}/{name}") for name in names}


def observe(
    workspace: Workspace, aside: WorkerProcess | None, given: RawResult, tool: str, use: str = "toolu_1"
) -> Run:
    """Settle and observe a result as a session does, in the child or here."""
    settler = ResultStore(ResultAdapter(workspace.path), workspace, aside)
    whole, _ = settler.store(given, facts(tool, use, query="q"))
    observer = SearchResults() if tool == SEARCH else WorkbenchActivity()
    call = ToolCall(tool_use_id=use, name=tool, input={"query": "q"})
    result = ToolResult(call=call, observation=whole)
    run = Run(observer.name, tool, use)
    if aside is None:
        return perform(run, observer, result, ObserverContext(workspace))
    offload = ResultOffload(aside)
    assert offload.accepts(observer, result)
    return offload.perform(run, result)


@pytest.mark.parametrize("tool", [SEARCH, WORKBENCH])
def test_a_child_does_the_same(workspace: Workspace, aside: WorkerProcess, tmp_path: Path, tool: str) -> None:
    here = Workspace.create(tmp_path / "here", NOON, Redactor([SECRET]))
    for one in (workspace.redactor, here.redactor):
        hello(aside)
        one.add(LATER)
    words = f"the password is {SECRET} or {LATER} " + "é" * 150
    large = json.dumps(rows(1_500, SIGNED, words) | {"stdout": words})
    beside, by_hand = observe(workspace, aside, raw(large), tool), observe(here, None, raw(large), tool)
    assert (beside.error, beside.status, beside.outcome) == (None, "saved", by_hand.outcome)
    signed = [f"{SIGNED}{n}" for n in range(1_500)]
    for folder in ("search_results", "workbench_activity"):
        found = files_of(workspace, folder)
        assert found == files_of(here, folder)
        for name, data in found.items():
            assert not any(word in data.decode() for word in (SECRET, LATER))
            if name != "urls.txt" and tool == SEARCH:
                assert [row["url"] for row in json.loads(data)["results"]] == signed
    for path in workspace.path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_large_results_keep_their_signed_addresses(workspace: Workspace, aside: WorkerProcess) -> None:
    settler = ResultStore(ResultAdapter(workspace.path), workspace, aside)
    results: dict[str, ToolResult] = {}
    for number in range(3):
        use = f"toolu_{number}"
        whole, _ = settler.store(raw(json.dumps(rows(1_000, f"{SIGNED}{number}-"))), facts(SEARCH, use))
        results[use] = ToolResult(call=ToolCall(tool_use_id=use, name=SEARCH), observation=whole)
    offload = ResultOffload(aside)
    for number, (use, result) in enumerate(results.items()):
        (saved,) = offload.perform(Run("search_results", SEARCH, use), result).outcome.artifacts
        page = json.loads(workspace.read_artifact(saved.path))
        assert page["results"][7]["url"] == f"{SIGNED}{number}-7"


def test_a_child_that_is_killed_is_a_plain_error_and_the_next_task_has_another(aside: WorkerProcess) -> None:
    thread, reported, pid = begin_long_task(aside)
    os.kill(pid, signal.SIGKILL)
    thread.join(PATIENCE)
    (error,) = reported
    assert isinstance(error, WorkerFailed)
    assert not isinstance(error, WorkerUnavailable)
    assert "ended before it was done" in str(error)
    assert not is_running(pid)
    assert hello(aside) != pid


def test_an_idle_child_ends_and_another_starts(aside: WorkerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside_module, "_PIECE", 3)
    first = hello(aside, "a-long-word-in-pieces")
    aside.call(f"{HERE}:grow_impatient", None)
    assert aside._process is not None
    assert aside._process.wait(PATIENCE) == 0
    second = hello(aside)
    assert second != first
    assert not is_running(first)


@pytest.mark.parametrize("stopped", [False, True])
def test_closing_ends_a_child_at_work_also_if_it_was_stopped(aside: WorkerProcess, stopped: bool) -> None:
    thread, reported, pid = begin_long_task(aside)
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        aside.close()
        thread.join(PATIENCE)
        assert isinstance(reported[0], WorkerFailed)
        assert not is_running(pid)
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(WorkerFailed, match="closing"):
        hello(aside)
    aside.close()


def test_closing_leaves_no_descriptor_and_no_process(aside: WorkerProcess) -> None:
    hello(aside)
    aside.close()
    before = open_files()
    other = WorkerProcess(aside.workspace)
    pid = hello(other)
    other.close()
    assert not open_files() - before
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("executable", ["/nowhere/python", "/bin/true", ""])
def test_without_a_child_everything_is_done_here(
    workspace: Workspace, aside: WorkerProcess, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", executable)
    before = open_files()
    with pytest.raises(WorkerUnavailable, match="cannot be started"):
        hello(aside)
    assert not open_files() - before
    store = ResultStore(ResultAdapter(workspace.path), workspace, aside)
    whole, shown = store.store(raw("x" * LARGE), facts(SEARCH))
    assert whole.output == "x" * LARGE
    assert shown.stored_at == whole.stored_at is not None


def test_a_folder_in_the_way_is_not_imported_and_no_secret_is_where_others_can_read_it(
    workspace: Workspace, aside: WorkerProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planted = tmp_path / "planted"
    (planted / "core").mkdir(parents=True)
    for name in ("core/__init__.py", "msgspec.py"):
        (planted / name).write_text("raise SystemExit('planted')")
    monkeypatch.chdir(planted)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("MY_OWN_TOKEN", LATER)
    workspace.redactor.add(LATER)
    found = aside.call(f"{HERE}:where_things_are", None)
    assert found["cwd"] == str(planted)
    assert all(file.startswith(str(PROJECT)) for file in found["files"])
    assert not [secret for secret in (SECRET, LATER) if secret in found["environment"] + found["command"]]
    assert "ua_tui.core.concurrency.worker_child" in found["command"]


def test_what_the_child_logs_is_in_the_log(shared: WorkerProcess, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(WorkerFailed, match="no room for a word"):
        shared.call(f"{HERE}:log_and_fail", "a word")
    messages = [record.getMessage() for record in caplog.records]
    logged = {(each.name, each.levelname, each.getMessage().split("\n")[0]) for each in caplog.records}
    assert ("observers.somewhere", "WARNING", "about a word") in logged
    assert ("ua_tui.core.concurrency.worker_child", "ERROR", f"{HERE}:log_and_fail failed") in logged
    assert any("Traceback" in message for message in messages)


def test_what_raises_or_cannot_be_handed_over_leaves_the_child_ready(shared: WorkerProcess) -> None:
    pid = hello(shared)
    for task in ("log_and_fail", "give_number_too_large", "no_such_task"):
        with pytest.raises(WorkerFailed) as caught:
            shared.call(f"{HERE}:{task}", "x")
        assert not isinstance(caught.value, WorkerUnavailable)
    assert hello(shared) == pid

    def answer(_: str) -> list[str]:
        raise LookupError("nothing there")

    with pytest.raises(LookupError):
        shared.call(f"{HERE}:say_hello", "who", answer)
    assert hello(shared) > 0
    pid = hello(shared)
    for odd in (2**70, "\ud800", object(), {"a": {1, 2**80}}):
        with pytest.raises(WorkerUnavailable, match="cannot take it"):
            shared.call(f"{HERE}:say_hello", odd)
    assert hello(shared) == pid


def test_texts_and_secrets_of_any_bytes_arrive(shared: WorkerProcess) -> None:
    shared.workspace.redactor.add(b"no text \xff\xfe but a secret".decode("utf-8", "surrogateescape"))
    hello(shared, "half \ud83d é", "", "😀" * 70_000, "\0")


COUNTER = """
import os
from ua_tui.plugins import Outcome, keep_json, texts_of

class Counter:
    name = "counter"

    def wants(self, call):
        return True

    def observe(self, result, context):
        size = sum(map(len, texts_of(result, context.workspace)))
        return keep_json(result, context, {"size": size, "pid": os.getpid()}, kind="counts", items=1)
"""


def test_observers_of_other_packages_work_in_the_child(
    workspace: Workspace, aside: WorkerProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packages = install(tmp_path / "packages", "my_counter", COUNTER, counter="my_counter:Counter")
    monkeypatch.setenv("PYTHONPATH", f"{packages}{os.pathsep}{PROJECT}")
    text = TextContent("é" * LARGE)
    observation = McpObservation(tool_name=SEARCH, tool_use_id="toolu_1", server="s", content=(text,))
    result = ToolResult(call=ToolCall(tool_use_id="toolu_1", name=SEARCH), observation=observation)
    offload = ResultOffload(aside)
    run = offload.perform(Run("counter", SEARCH, "toolu_1"), result)
    assert run.error is None
    (saved,) = run.outcome.artifacts
    kept = json.loads(workspace.read(saved.path))
    assert kept["size"] == LARGE
    assert kept["pid"] not in (os.getpid(), None)
    with pytest.raises(WorkerUnavailable, match="no observer gone"):
        offload.perform(Run("gone", SEARCH, "toolu_1"), result)


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 9_000}}
BIG = json.dumps(rows(1_000) | {"token": SECRET})


SAVED = "<persisted-output>\nOutput too large (72KB). Full output saved to: {file}\n\nPreview:\n{{"
TOO_LARGE = """Error: result (749,752 characters) exceeds maximum allowed tokens. Output has been saved to {file}.
Use offset and limit."""


@pytest.mark.parametrize(
    ("given_raw", "denial"),
    [
        (raw(BIG), None),
        (raw(BIG), "not allowed"),
        (RawResult(block=BIG), None),
        (raw("first", IMAGE, BIG, "last"), None),
        (raw(*["a block of many " * 30] * 2_500), None),
        (raw(BIG, "Error: it broke", is_error=True), None),
        (RawResult(block=None, hook_copy=[{"type": "text", "text": BIG}]), None),
        (RawResult(block=SAVED, message_copy={"content": "cut", "structuredContent": json.loads(BIG)}), None),
        (RawResult(block=TOO_LARGE), None),
        (RawResult(block=[BIG, 7, None, {"type": "odd", "data": [1]}]), None),
        (RawResult(block={"a": ["b"] * 3_000}), None),
    ],
)
def test_a_result_is_stored_alike_with_and_without_the_child(
    shared: WorkerProcess, tmp_path: Path, given_raw: RawResult, denial: str | None
) -> None:
    workspace = shared.workspace
    shutil.rmtree(workspace.path / "tool_results", ignore_errors=True)
    # A denied call does not reach the process: one that is not started stays so.
    worker = shared if denial is None else WorkerProcess(workspace)
    saved = tmp_path / "home" / "projects" / "s" / "tool-results" / "x.json"
    saved.parent.mkdir(parents=True)
    saved.write_text(json.dumps([{"type": "text", "text": BIG}]))
    if isinstance(given_raw.block, str):
        block, transcript = given_raw.block.replace("{file}", str(saved)), f"{saved.parent.parent}.jsonl"
        given_raw = RawResult(block=block, message_copy=given_raw.message_copy, transcript=transcript)
    adapter, given_facts = ResultAdapter(tmp_path / "home"), facts(SEARCH, query="q", api_key=SECRET)
    here = Workspace.create(tmp_path / "here", NOON, workspace.redactor)
    plain = ResultStore(adapter, here).store(given_raw, given_facts, denial)
    beside = ResultStore(adapter, workspace, worker).store(given_raw, given_facts, denial)
    assert beside[1] == plain[1]
    facts_of = partial(msgspec.structs.replace, output="", content=())
    assert facts_of(beside[0]) == facts_of(plain[0])
    assert files_of(workspace, "tool_results") == files_of(here, "tool_results")
    assert (worker._process is None) == (denial is not None)


def most_memory(pid: int, *, again: bool = False) -> int:
    """The most memory that a process had in RAM, in bytes; `again` from now on."""
    if again:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


ROWS = ",".join(json.dumps({"url": f"https://a.example/{number}", "title": "T"}) for number in range(100))
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVm"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        # With something to mask, with characters of two bytes that are escaped, and too many rows to be read.
        ("QUJDREVG" * 2_000_000 + TOKEN * 1_000, 2.4),
        ("it’s said\x1b " * 1_000_000, 4.2),
        (f'{{"results": [{",".join([ROWS] * 2_500)}]}}', 4.2),
    ],
    ids=["masked", "wide", "rows"],
)
@pytest.mark.slow
def test_a_large_result_takes_a_few_times_its_size_in_memory_at_most(
    workspace: Workspace, aside: WorkerProcess, text: str, most: float
) -> None:
    observe(workspace, aside, raw(text[: 2 * LARGE]), SEARCH, "toolu_0")
    pid = hello(aside)
    here, there = most_memory(os.getpid(), again=True), most_memory(pid, again=True)
    observe(workspace, aside, raw(text), SEARCH)
    assert hello(aside) == pid
    assert most_memory(pid) - there < most * len(text)
    assert most_memory(os.getpid()) - here < 0.5 * len(text)
