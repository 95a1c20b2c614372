from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.driven import Driven, Taken, probes, reported
from tests.bench.processes import proportional_mb
from tests.bench.table import Row, Section, median, quantile
from tests.core.team.fleet_rows import add_session, ask
from tests.e2e.running import environment, program
from tests.paths import PROJECT
from tests.postgres_server import Cluster, Database, short_folder

SECONDS = 60.0
SESSIONS, STREAMING, FINISHED, WAITING = 8, 4, 500, 1_000
KEYS, QUESTIONS = 60, 12
KEY_EVERY = (0.2, 0.4)
SEED = 5
KEY, VISIBLE, MEMORY = 30.0, 0.5, 150.0

_JOBS = f"""
WITH made AS (INSERT INTO batch (id) VALUES ('b') RETURNING id)
INSERT INTO job (id, batch, query, state, attempt, session, finished_at)
SELECT 'j' || number, id, 'Finished ' || number, 'done', 1, 'd' || number, now()
FROM made, generate_series(1, {FINISHED}) number
"""
_DONE = f"""
INSERT INTO session (id, job, name, state, title, worker, finished_at)
SELECT 'd' || number, 'j' || number, 'session', 'done', 'Finished ' || number, 'worker-1', now()
FROM generate_series(1, {FINISHED}) number
"""
_WAIT = f"""
INSERT INTO job (id, batch, query)
SELECT 'w' || number, 'b', 'Question ' || number FROM generate_series(1, {WAITING}) number
"""


def fleet(base: Path, _runs: int) -> Section:
    """`ua-tui fleet` over a real PostgreSQL: 8 sessions, of which 4 stream 30 lines a second each."""
    server = Cluster.create(short_folder())
    try:
        return Section(_rows(base, server.make_team_database()))
    finally:
        server.remove()


def _rows(base: Path, database: Database) -> list[Row]:
    for statement in (_JOBS, _DONE, _WAIT):
        database.execute(statement)
    for number in range(SESSIONS):
        title = f"Session {number} of the team"
        add_session(database, f"s{number}", title=title, worker=f"worker-{number}")
    command = [program(), "fleet", "--from", database.url, "--workspace", str(base)]
    letters = probes()
    with Driven(command, cwd=base, env=environment(base, COLORTERM="truecolor")) as driven:
        driven.until("Session 7 of", SECONDS)
        streaming = ",".join(f"s{number}" for number in range(STREAMING))
        with _writing(database.url, streaming):
            driven.until("writes part", SECONDS)
            keys = _type(driven, letters)
            delays = _ask(driven, database, letters)
            memory = proportional_mb(driven.pid)
    took = [key.took for key in keys]
    how = f"{SESSIONS} sessions, {STREAMING} of them streaming; {len(keys)} keys"
    return [
        Row(
            "fleet: key to echo, median",
            median(took),
            "ms",
            KEY,
            f"{how}, p95 {quantile(took, 0.95):.0f} ms, longest {reported([max(keys)])}",
        ),
        Row(
            "fleet: a question from commit to screen, longest",
            max(delays),
            "s",
            VISIBLE,
            f"{len(delays)} questions, median {median(delays) * 1_000:.0f} ms",
        ),
        Row("fleet: memory of its process", memory, "MB", MEMORY, f"proportional, {FINISHED} finished"),
    ]


def _type(driven: Driven, letters: Iterator[str]) -> list[Taken]:
    """Type a filter: after each key all rows are compared, and drawn again."""
    uneven, keys = random.Random(SEED), list[Taken]()
    driven.send("/")
    driven.watch(0.5)
    for _ in range(KEYS):
        driven.watch(uneven.uniform(*KEY_EVERY))
        driven.forget()
        letter = next(letters)
        began = driven.send(letter)
        keys.append(driven.taken(began, driven.until(letter, SECONDS)))
        driven.send("\x7f")
    driven.watch(0.3)
    driven.send("\x1b")
    driven.watch(0.5)
    return keys


def _ask(driven: Driven, database: Database, letters: Iterator[str]) -> list[float]:
    """Have sessions ask, one after the other; seconds from the commit until the question is on the screen."""
    uneven, delays = random.Random(SEED), list[float]()
    for number in range(QUESTIONS):
        driven.watch(uneven.uniform(0.3, 0.8))
        driven.forget()
        letter = next(letters)
        ask(database, f"s{number % SESSIONS}", f"r{number}", f"{letter} now")
        began = time.perf_counter()
        delays.append(max(0.0, driven.until(letter, SECONDS) - began))
        database.execute("DELETE FROM question")
        database.execute("SELECT pg_notify('ua_tui', 'answer ' || %s)", f"s{number % SESSIONS}")
    return delays


@contextmanager
def _writing(url: str, ids: str) -> Iterator[None]:
    """Stream in a process of its own."""
    writer = subprocess.Popen([sys.executable, "-m", "tests.bench.fleet.writer", url, ids], cwd=PROJECT)
    try:
        yield
        if writer.poll() is not None:
            raise RuntimeError("what streams has ended")
    finally:
        writer.terminate()
        writer.wait()
