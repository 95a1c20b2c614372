from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON, make_result
from tests.packed import unpack
from tests.paths import PROJECT
from tests.waiting import PATIENCE
from ua_tui.core.observation import ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.output import ledger as turns
from ua_tui.observers.output.ledger import URL_LIST, Ledger
from ua_tui.observers.output.saving import save_once
from ua_tui.observers.search_results import FOLDER, SearchResults

Make = Callable[..., ToolResult]

# Saves pages of search results in the session given: page N lists the URLs from 5 N to 5 N + 9.
SAVER = """
import sys
from datetime import datetime
from pathlib import Path
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.search_results import SearchResults
from tests.observers.conftest import NOON
from tests.observers.output.test_ledger import page

context = ObserverContext(Workspace.open(Path(sys.argv[1])), now=lambda: NOON)
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    SearchResults().observe(page(number), context)
"""


def page(number: int) -> ToolResult:
    urls = [f"https://site.example/{index}" for index in range(5 * number, 5 * number + 10)]
    return make_result("web_search", page_of(urls), f"toolu_{number}")


def page_of(urls: list[str], words: str = "words") -> dict[str, Any]:
    return {"organic": [{"title": f"About {url}", "link": url, "snippet": words} for url in urls]}


def listed(context: ObserverContext) -> list[str]:
    return context.workspace.read(URL_LIST).decode().splitlines()


def artifacts(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / FOLDER).glob("*.json*"))
    return [
        json.loads(unpack(file.read_bytes()) if file.suffix == ".zst" else file.read_bytes())
        for file in files
    ]


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    root = PROJECT
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip


def run_together(folder: Path, *ranges: tuple[int, int]) -> None:
    savers = [start(SAVER, folder, first, last) for first, last in ranges]
    for saver in savers:
        assert saver.stdout is not None
        assert saver.stdout.readline() == "ready\n"
    for saver in savers:
        assert saver.stdin is not None
        saver.stdin.write("go\n")
        saver.stdin.flush()
    for saver in savers:
        saver.communicate(timeout=PATIENCE)
        assert saver.returncode == 0


def test_eight_observers_at_once_list_every_url_once(context: ObserverContext, result: Make) -> None:
    every = [f"https://site.example/{number}" for number in range(200)]
    gate = threading.Barrier(8)

    def observe(worker: int) -> None:
        gate.wait()
        for turn in range(5):
            mine = [every[(worker * 25 + turn * 10 + step) % 200] for step in range(10)]
            SearchResults().observe(result("web_search", page_of(mine), f"toolu_{worker}_{turn}"), context)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(observe, range(8)))
    lines = listed(context)
    assert len(lines) == len(set(lines))
    assert set(lines) == {row["url"] for page in artifacts(context.workspace.path) for row in page["results"]}


@pytest.mark.slow
def test_programs_at_once_list_every_url_once_and_save_every_page_once(context: ObserverContext) -> None:
    # Each of the four sees 20 pages (105 URLs); every page is seen by two or three of them.
    run_together(context.workspace.path, (0, 20), (5, 25), (10, 30), (10, 30))
    lines = listed(context)
    assert sorted(lines) == sorted(f"https://site.example/{number}" for number in range(155))
    saved = artifacts(context.workspace.path)
    assert sorted(page["tool_use_id"] for page in saved) == sorted(f"toolu_{number}" for number in range(30))
    first = [row["url"] for page in saved for row in page["results"] if not row.get("duplicate")]
    assert sorted(first) == sorted(lines)


def test_a_program_sees_what_another_saved_meanwhile(context: ObserverContext) -> None:
    assert SearchResults().observe(page(0), context).artifacts
    run_together(context.workspace.path, (1, 3))
    again = SearchResults().observe(page(1), context)
    assert (again.artifacts, again.duplicates) == ((), 10)
    fresh = SearchResults().observe(page(3), context)
    assert (len(fresh.artifacts), fresh.duplicates) == (1, 5)
    assert listed(context) == [f"https://site.example/{number}" for number in range(25)]


def test_a_session_with_another_ledger_on_it_changes_nothing_a_second_time(context: ObserverContext) -> None:
    other = ObserverContext(Workspace.open(context.workspace.path), now=lambda: NOON)
    for number in range(4):
        SearchResults().observe(page(number), (context, other)[number % 2])
    before = {path: path.stat().st_mtime_ns for path in context.workspace.path.rglob("*")}
    for number in range(4):
        for ledger in (other, context):
            assert not SearchResults().observe(page(number), ledger).artifacts
    assert {path: path.stat().st_mtime_ns for path in context.workspace.path.rglob("*")} == before


def test_what_is_added_to_the_list_by_hand_counts_after_another_program_saved(
    context: ObserverContext,
) -> None:
    ledger = context.ledger
    ledger.list_urls(["https://a.example/1"])
    with (context.workspace.path / URL_LIST).open("a") as file:
        file.write("https://a.example/torn")
    other = Ledger(Workspace.open(context.workspace.path))
    other.list_urls(["https://a.example/torn", "https://a.example/2"])
    ledger.list_urls(["https://a.example/1", "https://a.example/2", "https://a.example/3"])
    assert listed(context) == [f"https://a.example/{name}" for name in ("1", "torn", "2", "3")]
    assert ledger.seen_before(["https://A.example/torn/", "https://a.example/4"]) == [True, False]


def test_the_list_has_the_spelling_of_the_first_row_of_a_page(context: ObserverContext, result: Make) -> None:
    spelled = ["https://www.a.example/p/", "https://a.example/p?", "https://A.example/p#x"]
    rows = [{"title": "T", "url": url} for url in spelled]
    SearchResults().observe(result("mcp__x__web_search", {"results": rows}), context)
    assert listed(context) == spelled[:1]


def test_secrets_are_masked_before_lines_are_compared(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path, NOON, Redactor(["first-hidden-value", "second-hidden-value"]))
    ledger = ObserverContext(workspace).ledger
    ledger.list_urls(["https://a.example/?k=first-hidden-value", "https://a.example/?k=second-hidden-value"])
    ledger.list_urls(["https://a.example/?k=first-hidden-value"])
    assert workspace.read(URL_LIST).decode().splitlines() == ["https://a.example/?k=[redacted]"]


def test_urls_that_were_lost_with_a_killed_program_are_listed_the_next_time(context: ObserverContext) -> None:
    SearchResults().observe(page(0), context)
    (context.workspace.path / URL_LIST).write_text("https://site.example/3\n")
    later = ObserverContext(context.workspace, now=lambda: NOON)
    assert SearchResults().observe(page(0), later).duplicates == 10
    assert sorted(listed(context)) == sorted(f"https://site.example/{number}" for number in range(10))


def test_a_large_artifact_is_packed_once_and_known_in_its_form(
    context: ObserverContext, result: Make
) -> None:
    large = result("web_search", page_of(["https://a.example/1"], words="many words " * 150_000))
    (saved,) = SearchResults().observe(large, context).artifacts
    assert saved.path.endswith(".json.zst")
    assert saved.size == (context.workspace.path / saved.path).stat().st_size < 1 << 20
    for ledger in (context, ObserverContext(context.workspace, now=lambda: NOON)):
        again = SearchResults().observe(large, ledger)
        assert not again.artifacts
        assert again.note == f"already saved as {saved.path}"
        assert ledger.ledger.paths(FOLDER) == [saved.path]
    (artifact,) = artifacts(context.workspace.path)
    assert artifact["results"][0]["url"] == "https://a.example/1"


def test_rewriting_keeps_other_programs_out(
    context: ObserverContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = threading.Event()
    lock = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        try:
            lock(descriptor, operation)
        except BlockingIOError:
            refused.set()
            raise

    monkeypatch.setattr(fcntl, "flock", flock)
    rewriter = start(
        "import sys\nfrom pathlib import Path\nfrom ua_tui.core.storage.workspace import Workspace\n"
        "from ua_tui.observers.output.ledger import Ledger\n"
        "workspace = Workspace.open(Path(sys.argv[1]))\nledger = Ledger(workspace)\n"
        "with ledger.turn():\n"
        "    print('inside', flush=True)\n    sys.stdin.readline()\n    workspace.write('order.txt', 'theirs')\n",
        context.workspace.path,
    )
    assert rewriter.stdout is not None
    assert rewriter.stdout.readline() == "inside\n"
    entered = threading.Event()

    def rewrite() -> None:
        with context.ledger.turn():
            entered.set()
        context.workspace.write("order.txt", "ours")

    waiting = threading.Thread(target=rewrite)
    waiting.start()
    assert refused.wait(PATIENCE)
    assert not entered.is_set()
    assert not (context.workspace.path / "order.txt").exists()
    rewriter.communicate("go\n", timeout=PATIENCE)
    waiting.join(PATIENCE)
    assert entered.is_set()
    assert context.workspace.read("order.txt") == b"ours"


def test_threads_may_save_and_rewrite_inside_one_another(context: ObserverContext) -> None:
    gate = threading.Barrier(4)

    def work(number: int) -> None:
        gate.wait()
        for step in range(20):
            with context.ledger.turn(), context.ledger.turn():
                context.ledger.list_urls(["https://a.example/0"])
            with context.ledger.turn(), context.ledger.turn():
                context.ledger.list_urls([f"https://a.example/{number}/{step}"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(listed(context)) == 81


def test_a_program_that_never_ends_its_turn_is_not_waited_for_twice(
    context: ObserverContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(turns, "_PATIENCE_SECONDS", 0.05)
    holder = Ledger(context.workspace)
    with holder.turn():
        late = ObserverContext(context.workspace, now=lambda: NOON)
        for number in range(3):
            assert SearchResults().observe(page(number), late).artifacts
    assert [record.message for record in caplog.records if "without a lock" in record.message] == [
        f"observers save to {context.workspace.path} without a lock (another program has locked it for too long): "
        "do not run 'ua-tui observe' there during the session"
    ]
    assert len(listed(context)) == 20


def test_a_name_is_free_again_when_the_artifact_could_not_be_written(context: ObserverContext) -> None:
    def save(value: dict[str, Any]) -> Any:
        return save_once(page(1), context, value, "content", folder="links", stem="a", kind="k")

    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"deeper": deep}
    with pytest.raises(Exception, match="less nesting"):
        save(deep)
    saved, path = save({"a": 1})
    assert saved.path == path
    assert save({"a": 1}) == (None, path)
