"""Background work is given as a function: what never begins leaves no coroutine that nobody awaits."""

from __future__ import annotations

import gc
import re
from functools import partial

from textual.app import App

from tests.paths import PROJECT
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.tui.terminal.copy import Copying
from ua_tui.tui.terminal.links import browse
from ua_tui.tui.workers import start_job


def test_only_one_module_starts_workers_of_textual() -> None:
    starts = re.compile(r"\.run_worker\(|from textual import .*\bwork\b")
    found = {
        str(path.relative_to(PROJECT))
        for path in (PROJECT / "tui").rglob("*.py")
        if starts.search(path.read_text("utf-8"))
    }
    assert found == {"tui/workers.py"}, "others use start_job, which mypy keeps from taking a coroutine"


async def test_work_cancelled_or_replaced_before_it_begins_leaves_no_warning(monkeypatch: Patch) -> None:
    monkeypatch.setenv("BROWSER", "firefox")
    begun: list[int] = []

    async def work(number: int) -> None:
        begun.append(number)

    app: App[None] = App()
    async with app.run_test():
        copying = Copying(app, None, lambda: None)
        browse(app, "https://news.example/a")
        copying.copy("text", "Text")
        copying.save()
        app.workers.cancel_all()
        start_job(app, partial(work, 1), "work")
        start_job(app, partial(work, 2), "work")
        await until(lambda: not list(app.workers))
        assert begun == [2]
    # A coroutine that nobody awaits warns when it is collected, which fails this test.
    gc.collect()
