"""A team on this machine: a database, workers, a model that asks for messages to be sent, and what was seen of it all.

What is counted is what the model and the receiver of the messages see, what the command line prints, and the views of
the database itself: the measurements do not depend on how the queue is built.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from tests.bench.processes import alive
from tests.bench.team.outbox_server import SENT, Outbox, outbox
from tests.e2e.running import model_environment, program
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.postgres_server import Cluster, short_folder
from tests.tcp_proxy import TcpProxy

OWNER, MEMBERS = "desk", ("mary", "john")
"""The owner of the tables, as whom workers connect, and members of the team."""
RULE = "send_message(recipient=*@desk.example)"
_TASK = re.compile(r"[Dd]o task (\d+)\.")
_REJECTED = re.compile(r"The user doesn't want to|Request interrupted by user")
_AGAIN = "make them again"
"""What a resumed agent reads about calls that the conversation shows as rejected; it obeys."""
_UNKNOWN = re.compile(r"not known|unknown", re.IGNORECASE)
_RESTART_AFTER = 5.0


@dataclass(frozen=True)
class Request:
    """One request of an agent for a task: when, from which process, and whether it got the last answer."""

    task: int
    process: str
    at: float
    is_last: bool


@dataclass
class Worker:
    """A worker process; `name` stays when it is started again, `process_name` does not."""

    name: str
    address: str
    parallel: int
    proxy: TcpProxy
    starts: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def process_name(self) -> str:
        """The name of this start of the process: it is the key that the model sees."""
        return f"{self.name}-{self.starts}"

    @property
    def pid(self) -> int:
        """The running process."""
        assert self.process is not None
        return self.process.pid

    def send(self, number: int) -> None:
        """Send a signal to the process, not to its children."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


@dataclass
class Batch:
    """A batch that was submitted, and whose answers are followed."""

    process: subprocess.Popen[bytes]
    output: Path
    errors: Path

    def wait(self, within: float) -> int:
        """Wait for its end; returns the exit code."""
        return self.process.wait(within)

    @property
    def results(self) -> list[dict[str, Any]]:
        """What it has printed: a line of JSON for each query."""
        return [json.loads(line) for line in self.output.read_text().splitlines()]


@dataclass
class Desk:
    """What runs, and what was seen.

    Attributes:
        pause: how long the model thinks about each answer, in seconds.
        parts: how many messages a task sends.
        requests: the requests of agents, in order.
        told: the tasks whose agent was told that the outcome of a call is not known.
        refused: what the agent of a task was told instead of the result of a call.
        restarts: whether workers that end are started again, as a service manager does.
    """

    folder: Path
    cluster: Cluster
    database: str
    outbox: Outbox
    pause: float
    parts: int
    environment: dict[str, str] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    told: set[int] = field(default_factory=set)
    refused: dict[int, set[str]] = field(default_factory=dict)
    restarts: bool = False
    _batches: list[Batch] = field(default_factory=list)

    def address(self, user: str = OWNER) -> str:
        """The address of the database for a role."""
        return self.cluster.tcp(self.database, user)

    def execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement as a superuser."""
        with psycopg.connect(self.cluster.url(self.database), autocommit=True) as db:
            cursor = db.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def run(self, *words: str, user: str = OWNER, within: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a command of the program as somebody who uses this database."""
        return subprocess.run(
            [program(), *words],
            cwd=self.folder,
            env=self._environment_of(user),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )

    def start_worker(self, name: str, *, parallel: int = 3, user: str = OWNER) -> Worker:
        """Start a worker with a folder and a proxy to the database of its own."""
        proxy = TcpProxy("127.0.0.1", self.cluster.port).start()
        worker = Worker(name, proxy.url(self.address(user)), parallel, proxy)
        (self.folder / name).mkdir()
        self.workers[name] = worker
        self._start(worker)
        return worker

    def log_of(self, worker: Worker) -> str:
        """What a worker has printed."""
        return (self.folder / worker.name / "worker.log").read_text()

    def submit(self, tasks: Sequence[int], *options: str, user: str = "mary") -> Batch:
        """Submit a batch of these tasks as a member, and follow it."""
        place = self.folder / f"batch{len(self._batches)}"
        place.mkdir()
        (place / "tasks.txt").write_text("".join(f"Do task {number}.\n" for number in tasks))
        output, errors = place / "results.jsonl", place / "errors.txt"
        words = ["batch", "tasks.txt", "--to", self.address(user), "--json", "--allow", RULE, *options]
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [program(), *words],
                cwd=place,
                env=self._environment_of(user),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        batch = Batch(process, output, errors)
        self._batches.append(batch)
        return batch

    def answered(self) -> Counter[int]:
        """How often the model gave the last answer to a task."""
        return Counter(each.task for each in list(self.requests) if each.is_last)

    def working(self, process: str, at: float) -> list[int]:
        """The tasks that a process was working on at that time."""
        last = {each.task: each for each in list(self.requests) if each.at <= at}
        return [each.task for each in last.values() if each.process == process and not each.is_last]

    def left_processes(self) -> list[int]:
        """The processes that belong to this desk and still run."""
        mark = f"HOME={self.folder}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes() and alive(int(path.parent.name)):
                    found.append(int(path.parent.name))
        return found

    def stop(self, within: float = 90.0) -> None:
        """End the workers as a service manager does, and then whatever is left."""
        self.restarts = False
        for worker in self.workers.values():
            if worker.process is not None and worker.process.poll() is None:
                worker.send(signal.SIGCONT)
                worker.send(signal.SIGTERM)
        until = time.monotonic() + within
        for worker in self.workers.values():
            if worker.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.1, until - time.monotonic()))

    def close(self) -> None:
        """End everything."""
        for batch in self._batches:
            if batch.process.poll() is None:
                batch.process.terminate()
                batch.process.wait()
        self.stop(within=20.0)
        for pid in self.left_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for worker in self.workers.values():
            if worker.process is not None:
                worker.process.wait()
            worker.proxy.stop()

    def keep_running(self) -> None:
        """Start workers that ended again, as a service manager does; runs in a thread of its own."""
        ended: dict[str, float] = {}
        while self.restarts:
            for worker in self.workers.values():
                if worker.process is None or worker.process.poll() is None:
                    ended.pop(worker.name, None)
                elif time.monotonic() > ended.setdefault(worker.name, time.monotonic()) + _RESTART_AFTER:
                    self._start(worker)
            time.sleep(0.2)

    def reply(self, body: Mapping[str, Any], process: str) -> Sequence[Block]:
        """Answer a request: a task sends its messages one after the other, and then it is answered."""
        text = json.dumps(body["messages"])
        found = _TASK.search(text)
        if found is None or not body.get("tools"):
            return [Text("yes")]
        task = int(found[1])
        asked = _asked(body, skipped=_rejected(body) if _AGAIN in text else set())
        if _UNKNOWN.search(text):
            self.told.add(task)
        for error in _errors(body):
            self.refused.setdefault(task, set()).add(error)
        is_last = len(asked) >= self.parts
        self.requests.append(Request(task, process, time.monotonic(), is_last))
        time.sleep(self.pause)
        if is_last:
            return [Text(f"The messages of task {task} were sent.")]
        part = f"task {task} part {next(each for each in range(1, self.parts + 1) if each not in asked)}."
        return [Use("mcp__outbox__send_message", {"recipient": "team@desk.example", "text": part})]

    def _start(self, worker: Worker) -> None:
        worker.starts += 1
        folder = self.folder / worker.name
        user = psycopg.conninfo.conninfo_to_dict(worker.address)["user"]
        with (folder / "worker.log").open("ab") as log:
            worker.process = subprocess.Popen(
                [program(), "worker", "--from", worker.address, "--parallel", str(worker.parallel)],
                cwd=folder,
                env=self._environment_of(str(user)) | {"ANTHROPIC_API_KEY": f"sk-ant-{worker.process_name}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _environment_of(self, user: str) -> dict[str, str]:
        return self.environment | {"PGPASSWORD": user}


def _blocks(body: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == kind:
                yield block


def _asked(body: Mapping[str, Any], skipped: set[str]) -> set[int]:
    """The parts of its task that an agent has called the tool for, without the calls that are `skipped`."""
    calls = [each for each in _blocks(body, "tool_use") if each["id"] not in skipped]
    return {int(sent[2]) for each in calls if (sent := SENT.search(json.dumps(each["input"])))}


def _rejected(body: Mapping[str, Any]) -> set[str]:
    """The calls that the command line says a person has rejected: nobody has, their worker was stopped."""
    results = [each for each in _blocks(body, "tool_result") if each.get("is_error")]
    return {each["tool_use_id"] for each in results if _REJECTED.search(json.dumps(each["content"]))}


def _errors(body: Mapping[str, Any]) -> Iterator[str]:
    """The results of calls that did not run, or failed."""
    for block in _blocks(body, "tool_result"):
        if block.get("is_error"):
            yield json.dumps(block["content"])[:200]


@contextmanager
def desk(
    *,
    pause: float = 0.5,
    parts: int = 1,
    prices: str = "my-model=0/0",
    server: Sequence[str] = (),
    knowledge: str = "off",
) -> Iterator[Desk]:
    """Put a team together: each answer of the model takes `pause` seconds, and a task sends `parts` messages.

    `server` has settings of the database server, as `name=value`; `knowledge` is that setting of the program.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="ua-desk-", ignore_cleanup_errors=True)))
        cluster = Cluster.create(short_folder(), server)
        stack.callback(cluster.remove)
        for role in (OWNER, *MEMBERS):
            cluster.make_role(role)
        box = stack.enter_context(outbox())
        made = Desk(folder, cluster, "desk", box, pause, parts)
        with psycopg.connect(cluster.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {made.database} OWNER {OWNER}".encode())
        current = threading.local()

        def remember(headers: Mapping[str, str]) -> None:
            current.process = {name.lower(): value for name, value in headers.items()}.get("x-api-key", "")

        model = scripted_model(
            lambda body, _results: made.reply(body, current.process.removeprefix("sk-ant-")),
            requested=remember,
        )
        url = stack.enter_context(model)
        made.environment = model_environment(
            folder, url, UA_MODEL="my-model", UA_PRICES=prices, UA_KNOWLEDGE=knowledge
        )
        config = folder / ".config" / "ua-tui"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(
            f'[mcp_servers.outbox]\ntype = "http"\nurl = {json.dumps(box.url)}\n'
        )
        stack.callback(made.close)
        for words in (("migrate",), ("grant", *MEMBERS)):
            done = made.run("team", *words, "--to", made.address())
            assert done.returncode == 0, done.stderr
        yield made


def until(happened: Callable[[], bool], within: float, what: str, every: float = 0.1) -> float:
    """Wait until something has happened; returns the seconds that it took."""
    started = time.monotonic()
    while not happened():
        if time.monotonic() - started > within:
            raise AssertionError(f"{what} did not happen within {within:g} s")
        time.sleep(every)
    return time.monotonic() - started
