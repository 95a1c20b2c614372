"""What a job costs: connections, statements, processor time, memory; and which statements read whole tables."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import claude_agent_sdk

from tests.bench.driven import Driven
from tests.bench.processes import descendants, proportional_mb, resident_mb
from tests.bench.table import Row, Section
from tests.bench.team.desk import Desk, desk
from tests.e2e.running import program

SLOTS = 4
CONNECTIONS, STATEMENTS, TIMES_BARE, MEGABYTES = 6, 120, 2.0, 240
JOBS = 24
PARTS = 3
STORED_JOBS = 100_000
WATCH_SECONDS = 75.0
_WITHIN = 600.0
_COUNTED = "shared_preload_libraries=pg_stat_statements"


def connections(jobs: int = JOBS) -> Section:
    """Connections and statements of a worker whose four slots are busy."""
    with desk(pause=0.2, parts=PARTS, server=[_COUNTED], knowledge="on") as team:
        team.execute("CREATE EXTENSION pg_stat_statements SCHEMA public")
        worker = team.start_worker("one", parallel=SLOTS)
        # The first jobs of a process import, and fill the pool.
        team.submit(range(1, SLOTS + 1)).wait(_WITHIN)
        accepted = worker.proxy.accepted
        before, busy = _statements(team)
        stored = _stored(team)
        batch = team.submit(range(101, 101 + jobs))
        code = batch.wait(_WITHIN)
        after, busy_after = _statements(team)
        kilobytes = (_stored(team) - stored) / jobs / 1_024
        idle = 20.0
        # What a worker without work asks, a second.
        time.sleep(idle)
        asked = (_statements(team)[0] - after) / idle
        opened = (worker.proxy.accepted - accepted) / jobs
        return Section(
            [
                Row(
                    f"team: connections of a worker with {SLOTS} slots",
                    worker.proxy.most_open,
                    "",
                    CONNECTIONS,
                ),
                Row("team: connections opened by a job", opened, "", 0.0, f"{jobs} jobs, exit code {code}"),
                Row("team: statements of a job", (after - before) / jobs, "", STATEMENTS, f"{PARTS} actions"),
                Row("team: time of the database for a job", (busy_after - busy) / jobs, "ms"),
                Row("team: stored for a job", kilobytes, "KB"),
                Row("team: statements of an idle worker", asked, "a second"),
            ],
            _most_frequent(team, jobs),
        )


def processor(jobs: int = JOBS) -> Section:
    """Processor time and memory of a job in a worker, beside the command line of the agent alone."""
    with desk(pause=0.5, parts=PARTS, knowledge="on") as team:
        worker = team.start_worker("one", parallel=SLOTS)
        team.submit(range(1, SLOTS + 1)).wait(_WITHIN)
        before = _tree_seconds(worker.pid)
        idle, resident = _tree_mb(worker.pid, proportional_mb), _tree_mb(worker.pid, resident_mb)
        with _peak(worker.pid) as peak:
            code = team.submit(range(101, 101 + jobs)).wait(_WITHIN)
        used = (_tree_seconds(worker.pid) - before) / jobs
        own = proportional_mb(worker.pid) or 0.0
        team.stop()
        bare, bare_mb = _bare(team)
        slot = (peak.most - idle) / SLOTS
        compared = f"{jobs} jobs of {used:.2f} s, exit code {code}; the bare command line {bare:.2f} s"
        memory = (
            f"{slot:.0f} MB if what is shared counts once, the worker itself {own:.0f}; "
            f"the bare command line {bare_mb:.0f}"
        )
        return Section(
            [
                Row("team: processor time of a job", used / bare, "times", TIMES_BARE, compared),
                Row(
                    "team: memory of a running slot",
                    (peak.resident - resident) / SLOTS,
                    "MB",
                    MEGABYTES,
                    memory,
                ),
            ],
            [f"team: {name}: {size:.0f} MB" for name, size in peak.parts.items()],
        )


def scans(jobs: int = STORED_JOBS) -> Section:
    """Which statements of running programs read whole tables that are large."""
    log = ["session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0",
           "auto_explain.log_nested_statements=on", "auto_explain.log_format=json"]  # fmt: skip
    with desk(pause=30.0, server=log, knowledge="on") as team:
        _fill(team, jobs)
        place = team.cluster.folder / "log"
        began = place.stat().st_size
        team.start_worker("one", parallel=2)
        words = ["fleet", "--from", team.address("mary"), "--workspace", str(team.folder)]
        screen = {**team.environment, "PGPASSWORD": "mary", "COLORTERM": "truecolor"}
        with Driven([program(), *words], cwd=team.folder, env=screen) as driven:
            batch = team.submit(range(1, 5))
            end = time.monotonic() + WATCH_SECONDS
            while time.monotonic() < end:
                driven.watch(1.0)
            batch.process.kill()
        found = _whole_tables(place, began)
        often = {text: count for text, count in found.items() if count > 1}
        details = [f"team: {count} times: {text[:300]}" for text, count in found.most_common()]
        compared = f"{WATCH_SECONDS:g} s of a worker, a batch and a fleet; {len(found)} ran at all"
        return Section(
            [Row("team: statements that read a whole table again and again", len(often), "", 0, compared)],
            details,
        )


def _statements(team: Desk) -> tuple[int, float]:
    """The statements of the owner of the tables so far, and their time in ms."""
    ((calls, took),) = team.execute(
        "SELECT sum(calls)::bigint, sum(total_exec_time) FROM public.pg_stat_statements s"
        " JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = 'desk' AND toplevel"
    )
    return int(calls), float(took)


def _stored(team: Desk) -> int:
    """The bytes of all tables and their indexes."""
    ((size,),) = team.execute(
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
        " WHERE relnamespace = 'ua_tui'::regnamespace AND relkind = 'r'"
    )
    return int(size)


def _most_frequent(team: Desk, jobs: int) -> list[str]:
    rows = team.execute(
        "SELECT calls, total_exec_time, regexp_replace(query, '\\s+', ' ', 'g') FROM public.pg_stat_statements s"
        " JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = 'desk' AND toplevel ORDER BY calls DESC LIMIT 25"
    )
    return [
        f"team: {calls / (jobs + SLOTS):6.1f} a job, {took:7.1f} ms in all: {text[:150]}"
        for calls, took, text in rows
    ]


def _tree_seconds(pid: int) -> float:
    """Processor time of a process and all that it started, also of those that ended and were waited for."""
    total = 0
    for each in (pid, *descendants(pid)):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _tree_mb(pid: int, of: Callable[[int], float | None]) -> float:
    return sum(of(each) or 0.0 for each in (pid, *descendants(pid)))


@dataclass
class _Peak:
    """The most memory: what is shared counted once, and as often as it is mapped; its parts at that time."""

    most: float = 0.0
    resident: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)


@contextmanager
def _peak(pid: int) -> Iterator[_Peak]:
    """Watch the memory of a process and of all that it started."""
    peak, over = _Peak(), threading.Event()

    def watch() -> None:
        while not over.wait(0.3):
            parts: Counter[str] = Counter()
            for each in (pid, *descendants(pid)):
                with suppress(OSError):
                    words = Path(f"/proc/{each}/cmdline").read_bytes().decode().split("\0")
                    name = "worker" if each == pid else Path(words[0]).name + " " + " ".join(words[1:4])[:40]
                    parts[name] += proportional_mb(each) or 0.0  # type: ignore[assignment]
            peak.resident = max(peak.resident, _tree_mb(pid, resident_mb))
            if sum(parts.values()) > peak.most:
                peak.most, peak.parts = sum(parts.values()), dict(parts)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _bare(team: Desk) -> tuple[float, float]:
    """Processor time and memory of the agent's command line alone, with the same task and the same server."""
    command = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    servers = json.dumps({"mcpServers": {"outbox": {"type": "http", "url": team.outbox.url}}})
    words = ["--print", "Do task 9001.", "--mcp-config", servers, "--strict-mcp-config", "--setting-sources",
             "", "--allowed-tools", "mcp__outbox__send_message", "--model", "my-model"]  # fmt: skip
    more = {"ANTHROPIC_API_KEY": "sk-ant-bare", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    runs, most = 3, 0.0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(runs):
        process = subprocess.Popen(
            [str(command), *words], cwd=team.folder, env=team.environment | more,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )  # fmt: skip
        with _peak(process.pid) as peak:
            answer, _ = process.communicate(timeout=_WITHIN)
        assert b"were sent" in answer, answer
        most = max(most, peak.resident)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / runs, most


def _fill(team: Desk, jobs: int) -> None:
    """Store so many jobs, a tenth of which waits, and sessions of the others with what they wrote."""
    each = 10_000
    for first in range(0, jobs, each):
        batch = team.submit(range(100 + first, 100 + first + each), "--no-wait", "--max-cost-all", "50000")
        assert batch.wait(_WITHIN) == 0, batch.errors.read_text()
    team.execute(
        "UPDATE ua_tui.job SET state = 'done', attempt = 1, answer = 'a', session = 's' || id,"
        " finished_at = now() - interval '3 days'"
        " WHERE id IN (SELECT id FROM ua_tui.job ORDER BY submitted_at LIMIT %s)",
        jobs * 9 // 10,
    )
    team.execute(
        "INSERT INTO ua_tui.session (id, job, owner, name, state, title, seen_at, finished_at)"
        " SELECT session, id, owner, 'session', 'done', query, finished_at, finished_at"
        " FROM ua_tui.job WHERE state = 'done'"
    )
    team.execute(
        "INSERT INTO ua_tui.piece SELECT id, 'journal.jsonl', 3 * n, E'{}\\n'"
        " FROM ua_tui.session, generate_series(0, 5) n"
    )
    team.execute("VACUUM ANALYZE")


def _whole_tables(log: Path, began: int) -> Counter[str]:
    """The statements in the server's log whose plan reads a large table from end to end, and how often each ran."""
    with log.open("rb") as file:
        file.seek(began)
        text = file.read().decode(errors="replace")
    found: Counter[str] = Counter()
    for part in re.split(r"\n(?=\d{4}-\d\d-\d\d )", text):
        _, plan, body = part.partition("plan:\n")
        if plan:
            with suppress(ValueError):
                explained = json.loads(body)
                if tables := _scanned(explained["Plan"]):
                    statement = re.sub(r"\s+", " ", explained["Query Text"]).strip()
                    found[f"{', '.join(sorted(tables))}: {statement}"] += 1
    return found


def _scanned(plan: dict[str, object]) -> set[str]:
    """The tables that a plan reads from end to end and that it expects to be large."""
    tables = set()
    if plan["Node Type"] == "Seq Scan" and float(str(plan["Total Cost"])) > 500:
        tables.add(str(plan["Relation Name"]))
    inner = plan.get("Plans")
    for each in inner if isinstance(inner, list) else []:
        tables |= _scanned(each)
    return tables
