"""Pictures of the viewer in every look."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.files_host import Host
from tests.tui.pictured import every_look, looks
from tests.tui.viewers.checked_report import REPORT, write_session
from tui.screens.files.viewer import ViewerScreen
from tui.viewers.evidence.marks import MarkedBody


def _results() -> str:
    rows = [
        {
            "position": number,
            "title": f"Halden Compute unveils H{number}, an inference part built around four-bit arithmetic",
            "url": f"https://computewire.example/accelerators/halden-h{number}",
            "source": ("Compute Wire", "The Foundry Post")[number % 2],
            "date": f"2026-11-{number + 1:02}",
            "snippet": "A serving accelerator with 288 gigabytes of memory. " * 4,
            **({"duplicate": True} if number % 5 == 2 else {}),
            **({"truncated": True} if number == 12 else {}),
        }
        for number in range(1, 13)
    ]
    reported = {
        "type": "news",
        "tool": "COMPOSIO_SEARCH_NEWS",
        "query": "AI accelerator chips",
        "truncated": True,
    }
    return json.dumps({**reported, "url_count": 12, "duplicates": 2, "rejected": 1, "results": rows})


FILES = {
    "results.json": _results(),
    "tree.json": json.dumps(
        {
            "made": {"at": "2026-11-21", "count": 3.5, "whole": True, "nothing": None},
            "articles": [{"title": f"Number {n}", "text": "A long text. " * 40} for n in range(6)],
            "odd [b]name[/]": "x" * 500,
        }
    ),
    "table.csv": "company,country,revenue\n" + "".join(f"Company {n},DE,{n * 137}\n" for n in range(60)),
}


@every_look
@pytest.mark.parametrize("name", FILES)
def test_the_viewer(
    snap_compare: Callable[..., bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    size: tuple[int, int],
    theme: str,
) -> None:
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    path = tmp_path / name
    path.write_text(FILES[name])
    screen = ViewerScreen(path, tmp_path)

    async def before(pilot: Pilot[None]) -> None:
        for _ in range(100):
            await pilot.pause(0.05)
            if screen.view.row_count and not any(worker.is_running for worker in pilot.app.workers):
                break
        await pilot.press("down", "down")
        await pilot.pause(0.3)

    assert snap_compare(Host(screen=screen, theme=theme), terminal_size=size, run_before=before)


@looks([((80, 24), "ua-dark"), ((120, 40), "ua-dark"), ((120, 40), "ua-ansi")])
def test_a_checked_report(
    snap_compare: Callable[..., bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
    theme: str,
) -> None:
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    # The time of a source is shown in the time zone of the machine, with its age.
    monkeypatch.setattr("tui.viewers.evidence.passages._when", lambda at: f"{at:%Y-%m-%d}")
    session = write_session(tmp_path)
    screen = ViewerScreen(session / REPORT, session)

    async def before(pilot: Pilot[None]) -> None:
        for _ in range(100):
            await pilot.pause(0.05)
            is_busy = any(worker.is_running for worker in pilot.app.workers)
            if isinstance(screen.view.body, MarkedBody) and screen.view.is_laid_out and not is_busy:
                break
        await pilot.press("right_square_bracket", "enter")
        await pilot.pause(0.5)

    assert snap_compare(Host(screen=screen, theme=theme), terminal_size=size, run_before=before)
