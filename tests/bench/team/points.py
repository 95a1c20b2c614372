"""What an operator meets: few connections, planned stops, revoked members, lost workers, one query behind many."""

from __future__ import annotations

import signal
import time
from collections import Counter

from tests.bench.table import Row, Section
from tests.bench.team.desk import OWNER, Desk, Worker, desk, until

FEW_CONNECTIONS, CROWDED_JOBS, CROWDED_PARTS = 8, 6, 2
STOPPED_SLOTS, SEND_SECONDS = 10, 8.0
TAKEOVER = 40.0
MANY = 10_000
POSITION = 5
VISIBLE_JOBS, _SLOTS = 40, 4
_WITHIN = 300.0


def crowded() -> Section:
    """Two workers whose role may open eight connections: nothing counts as done that was not sent."""
    with desk(pause=0.2, parts=CROWDED_PARTS) as team:
        role = team.cluster.make_role("crowded")
        team.execute(f"ALTER ROLE {role} CONNECTION LIMIT {FEW_CONNECTIONS}")
        team.execute(f"GRANT {OWNER} TO {role}")
        workers = [team.start_worker(name, parallel=3, user=role) for name in ("one", "two")]
        batch = team.submit(range(1, CROWDED_JOBS + 1))
        until(
            lambda: len(team.answered()) == CROWDED_JOBS or batch.process.poll() is not None,
            _WITHIN,
            "answers",
        )
        team.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")
        code = batch.wait(_WITHIN)
        done = [int(each["query"].split()[-1][:-1]) for each in batch.results if each["state"] == "done"]
        wanted = {(task, part) for task in done for part in range(1, CROWDED_PARTS + 1)}
        unsent = [each for each in wanted if not team.outbox.sent[each]]
        said = sum("connection" in team.log_of(each) for each in workers)
        compared = f"{len(done)} of {CROWDED_JOBS} done, exit code {code}, {said} of 2 workers' logs say why"
        return Section(
            [
                Row("team: messages of finished jobs not sent, 8 connections", len(unsent), "", 0, compared),
                Row("team: messages doubled, 8 connections", _doubled(team), "", 0),
            ]
        )


def stopped(slots: int = STOPPED_SLOTS) -> Section:
    """SIGTERM while all slots of two workers are in the middle of a message."""
    with desk(pause=0.2) as team:
        team.outbox.may_send.clear()
        team.outbox.seconds = SEND_SECONDS
        workers = [team.start_worker(name, parallel=slots) for name in ("one", "two")]
        batch = team.submit(range(1, 2 * slots + 1), "--max-cost-all", "500")
        until(lambda: team.outbox.active == 2 * slots, _WITHIN, "messages at the same time")
        began = time.monotonic()
        for worker in workers:
            worker.send(signal.SIGTERM)
        team.outbox.may_send.set()
        codes = [_ended(worker) for worker in workers]
        took = time.monotonic() - began
        cut = sum(team.outbox.cut.values())
        team.outbox.seconds = 0.3
        team.start_worker("three", parallel=4)
        code = batch.wait(_WITHIN)
        done = Counter(each["state"] for each in batch.results)
        compared = f"ended after {took:.1f} s with {codes}; then {dict(done)}, exit code {code}"
        return Section(
            [
                Row(f"team: messages cut off by SIGTERM, of {2 * slots}", cut, "", 0, compared),
                Row("team: messages doubled after SIGTERM", _doubled(team), "", 0),
            ]
        )


def revoked() -> Section:
    """`ua-tui team revoke` while one job of the member runs and three wait."""
    with desk(pause=0.2, parts=2) as team:
        team.outbox.may_send.clear()
        team.start_worker("one", parallel=1)
        batch = team.submit([1, 2, 3, 4], user="john")
        until(lambda: team.outbox.active == 1, _WITHIN, "a message")
        done = team.run("team", "revoke", "john", "--to", team.address())
        if done.returncode:
            raise AssertionError(done.stderr)
        before = Counter(team.outbox.begun)
        team.outbox.may_send.set()
        # What john's would come before: when these are over, his would have run.
        mary = team.submit([11, 12, 13, 14])
        mary.wait(_WITHIN)
        until(lambda: not team.outbox.active, _WITHIN, "no message")
        after = team.outbox.begun - before
        ran = {task for task, _ in after if task < 10}
        batch.process.kill()
        compared = f"tasks {sorted(ran)}; `batch` said: {_last_line(batch.errors.read_text())[:90]}"
        return Section(
            [Row("team: jobs that sent something after the revoke", len(ran), "jobs", 0, compared)]
        )


def takeover() -> Section:
    """How long the job of a killed worker waits while another one has a free slot; three times."""
    times = []
    with desk(pause=0.2) as team:
        team.start_worker("rescuer", parallel=4)
        for number in (1, 2, 3):
            team.outbox.may_send.clear()
            team.pause = 1.0
            worker = team.start_worker(f"lost{number}", parallel=4)
            batch = team.submit(range(number * 10, number * 10 + 6))
            until(lambda: team.outbox.active == 6, _WITHIN, "messages at the same time")
            killed, tasks = time.monotonic(), team.working(worker.process_name, time.monotonic())
            worker.send(signal.SIGKILL)
            team.outbox.may_send.set()
            batch.wait(_WITHIN)
            # The agents of a killed worker live on for seconds.
            others = [
                each for each in team.requests if each.at > killed and each.process != worker.process_name
            ]
            times += [min(each.at for each in others if each.task == task) - killed for task in tasks]
        shown = ", ".join(f"{each:.1f}" for each in times)
        return Section([Row("team: take-over of a killed worker's job", max(times), "s", TAKEOVER, shown)])


def fairness(many: int = MANY) -> Section:
    """One query of a member after 10,000 of another one."""
    with desk(pause=0.2) as team:
        began = time.monotonic()
        first = team.submit(range(100, 100 + many), "--no-wait", "--max-cost-all", "50000")
        first.wait(_WITHIN)
        took = time.monotonic() - began
        team.start_worker("one", parallel=2)
        until(lambda: len(team.answered()) >= 4, _WITHIN, "answers")
        submitted = time.monotonic()
        john = team.submit([1], user="john")
        # Those that began after the query was submitted, and before it.
        until(
            lambda: len(_began_after(team, submitted)) >= 25 or 1 in _began_after(team, submitted),
            _WITHIN,
            "jobs",
        )
        order = _began_after(team, submitted)
        position = order.index(1) + 1 if 1 in order else len(order) + 1
        if 1 in order:
            john.wait(_WITHIN)
        compared = f"{'' if 1 in order else 'at least; '}{many:,} submitted in {took:.1f} s"
        return Section([Row("team: place of one query behind 10,000", position, "", POSITION, compared)])


def visible(jobs: int = VISIBLE_JOBS) -> Section:
    """How many of the results of a running batch can be read when half of it is over."""
    with desk(pause=0.2) as team:
        team.start_worker("one", parallel=_SLOTS)
        has_output = "--output" in team.run("batch", "--help").stdout
        batch = team.submit(range(1, jobs + 1), *(["--output", "rows.jsonl"] if has_output else []))
        place = batch.output.with_name("rows.jsonl") if has_output else batch.output
        until(lambda: len(team.answered()) >= jobs // 2 + _SLOTS, _WITHIN, "half of the answers")
        # Those that the model has just answered are over a little later.
        over = len(team.answered()) - 2 * _SLOTS
        rows = len(place.read_text().splitlines()) if place.exists() else 0
        batch.wait(_WITHIN)
        compared = f"{rows} rows in {place.name} when at least {over} of {jobs} were over"
        return Section(
            [Row("team: results of a running batch not visible", max(0, over - rows), "", 0, compared)]
        )


def _began_after(team: Desk, at: float) -> list[int]:
    """The tasks that began after a time, in order."""
    known = {each.task for each in list(team.requests) if each.at <= at}
    return list(dict.fromkeys(each.task for each in list(team.requests) if each.task not in known))


def _ended(worker: Worker) -> int:
    assert worker.process is not None
    return worker.process.wait(_WITHIN)


def _doubled(team: Desk) -> int:
    return sum(count > 1 for count in team.outbox.begun.values())


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""
