"""Measures memory and keys in a session of 500 queries with tools: `python -m tests.faults.soak`."""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bench.driven import Driven, Taken, probes
from tests.bench.processes import resident_mb
from tests.bench.table import quantile
from tests.e2e.running import model_environment, program
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.faults.evidence import ALLOWED, LIST, WRITE

TURNS = 500
WARM = 50
"""The query after which memory may not grow by more than `GROWTH`."""
GROWTH = 0.10
KEYS_A_TURN = 3
LONGEST_KEY_MS = 100.0
PATIENCE = 120.0
ANSWER = (
    "A **report** is written, and the folder holds `{}` files.\n\n- one point\n- and another\n\n"
    + "word " * 120
)


def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
    """Write a report and list a folder for each query, then answer at some length."""
    last = next(each["content"] for each in reversed(body["messages"]) if each["role"] == "user")
    if isinstance(last, list) and any(block.get("type") == "tool_result" for block in last):
        return (Text(ANSWER.format(results)),)
    path = f"work_products/report_{results}.md"
    return (
        Text("I write it down."),
        Use(WRITE, {"path": path, "content": f"Report {results}. " * 50}),
        Use(LIST, {"path": "search_results"}),
    )


@contextmanager
def model() -> Iterator[str]:
    """Serve the model; gives its base URL.

    It has a process of its own: reading a conversation of megabytes in this one would delay the keys that it times.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join()


def _serve(connection: Connection) -> None:
    """Serve the model until the other end of the connection is closed."""
    with scripted_model(reply) as url, suppress(EOFError):
        connection.send(url)
        connection.recv()


class Journal:
    """Counts the queries that finished, reading only what is new."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._place = self._finished = 0

    def finished(self) -> int:
        """How many queries have finished."""
        for path in self._base.glob("AGENT_RUN_WORKSPACES/*/journal.jsonl"):
            with path.open("rb") as file:
                file.seek(self._place)
                data = file.read()
            complete = data[: data.rfind(b"\n") + 1]
            self._place += len(complete)
            self._finished += complete.count(b'{"event":"query_finished"')
        return self._finished


def soak(base: Path, turns: int) -> tuple[dict[int, float], list[Taken]]:
    """Run the session; returns the memory in MB after some of the queries, and how long each key took."""
    memory: dict[int, float] = {}
    keys: list[Taken] = []
    journal = Journal(base)
    characters = itertools.cycle(probes())
    with (
        model() as url,
        Driven(
            [program(), *ALLOWED], cwd=base, env=model_environment(base, url, COLORTERM="truecolor")
        ) as driven,
    ):
        driven.until("ready", PATIENCE)
        for turn in range(1, turns + 1):
            driven.forget()
            driven.send(f"Query {turn}")
            driven.watch(0.05)
            driven.send("\r")
            until = time.monotonic() + PATIENCE
            typed = 0
            while journal.finished() < turn or typed < KEYS_A_TURN:
                if time.monotonic() > until:
                    raise TimeoutError(f"query {turn} did not finish")
                driven.watch(0.1)
                if typed < KEYS_A_TURN:
                    character = next(characters)
                    began = driven.send(character)
                    keys.append(driven.taken(began, driven.until(character, PATIENCE)))
                    driven.send("\x7f")
                    typed += 1
            driven.watch(0.05)
            if turn % WARM == 0:
                memory[turn] = resident_mb(driven.pid) or 0.0
                sys.stderr.write(f"query {turn}: {memory[turn]:.0f} MB, load {os.getloadavg()[0]:.1f}\n")
    return memory, keys


def main() -> int:
    """Run it and print the figures; the exit code is 1 when a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", allow_abbrev=False)
    parser.add_argument(
        "--turns", type=int, default=TURNS, metavar="N", help=f"the number of queries ({TURNS})"
    )
    turns = max(2 * WARM, parser.parse_args().turns)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ua-tui-soak-", ignore_cleanup_errors=True) as base:
        memory, keys = soak(Path(base), turns)
    warm, most = memory[WARM], max(each for turn, each in memory.items() if turn > WARM)
    growth = most / warm - 1
    took = quantile([key.took for key in keys], 0.99)
    computed = quantile([key.took - key.without_core for key in keys], 0.99)
    sys.stdout.write(
        f"{turns} queries in {time.monotonic() - began:.0f} s;"
        f" load {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores\n"
        f"memory after {WARM} queries {warm:.0f} MB, at most {most:.0f} MB later: {growth:+.1%}"
        f" (at most {GROWTH:.0%})\n"
        f"{len(keys)} keys: p99 {took:.0f} ms, of which it had a core for {computed:.0f} ms"
        f" (at most {LONGEST_KEY_MS:.0f} ms)\n"
    )
    return int(growth > GROWTH or took > LONGEST_KEY_MS)


if __name__ == "__main__":
    sys.exit(main())
