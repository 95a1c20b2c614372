"""How quick the screen is late in a session: after sixty turns, each with calls of a tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.answers import answer, marker
from tests.bench.changes import SECONDS, measure
from tests.bench.driven import Driven, probes
from tests.bench.goals import Goal
from tests.bench.processes import resident_mb
from tests.bench.table import Row, Section
from tests.e2e.running import model_environment, program
from tests.e2e.scripted_model import Block, Text, Use, scripted_model

TURNS = 60
CALLS = 2
PIECES = 30
REPEATS = 3
THEMES = ("light", "dark")


def turns(base: Path, _runs: int) -> Section:
    """A key, the focus, the size and the theme after many turns with tools, until all is painted."""
    with (
        scripted_model(_reply) as url,
        Driven([program()], cwd=base, env=model_environment(base, url, COLORTERM="truecolor")) as driven,
    ):
        driven.until("ready", SECONDS)
        driven.rest(SECONDS)
        for number in range(1, TURNS + 1):
            driven.forget()
            driven.send(_query(number))
            driven.rest(SECONDS)
            driven.send("\r")
            driven.until(marker(number), SECONDS)
            driven.rest(SECONDS)
        changes = measure(driven, probes(), REPEATS, "/theme\r", THEMES)
        memory = resident_mb(driven.pid)
    return Section(
        [
            Goal.AFTER_CALLS.row(changes.longest, changes.described),
            Row(f"memory after {TURNS} turns with tools", memory, "MB", None, "resident, this process alone"),
        ]
    )


def _reply(body: dict[str, Any], results: int) -> Sequence[Block]:
    shown_text = str(body["messages"])
    number = max((turn for turn in range(1, TURNS + 1) if _query(turn) in shown_text), default=0)
    if not number or "tools" not in body:
        return (Text("Yes."),)
    if results < number * CALLS:
        return (Text("I look at the folder."), Use("mcp__local_toolkit__list_directory", {"path": ""}))
    return (Text(answer(number, PIECES)),)


def _query(number: int) -> str:
    return f"Look at part {number}."
