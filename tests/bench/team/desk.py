"""A team on this machine: a database, workers, a model that sends one message for each query, and what they did."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.team import outbox_server
from tests.e2e.running import model_environment, program
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.postgres_server import Cluster, Database, short_folder

_PASSWORD = "desk-password-93"
_TASK = re.compile(r"task (\d+)\.")
_RULE = "send_message(recipient=*@desk.example)"


@dataclass
class Desk:
    """What runs, and what was seen.

    Attributes:
        answered: how often the model gave the last answer to a task, by its number.
    """

    folder: Path
    cluster: Cluster
    database: Database
    environment: dict[str, str]
    answered: Counter[int] = field(default_factory=Counter)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def outbox(self) -> Path:
        """The file that has every message that was sent."""
        return self.folder / "outbox.txt"

    def sent(self) -> Counter[int]:
        """How often a message was sent for each task."""
        lines = self.outbox.read_text().splitlines() if self.outbox.exists() else []
        return Counter(int(found[1]) for line in lines if (found := _TASK.search(line)))

    def start_worker(
        self, name: str, address: str | None = None, *, parallel: int = 2
    ) -> subprocess.Popen[bytes]:
        """Start a worker with a folder of its own."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        with (folder / "worker.log").open("ab") as log:
            worker = subprocess.Popen(
                [program(), "worker", "--from", address or self.database.tcp, "--parallel", str(parallel)],
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers.append(worker)
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill a worker as the kernel does."""
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def batch(
        self, tasks: Sequence[int], *options: str, within: float
    ) -> tuple[int, list[dict[str, Any]], str]:
        """Hand in a batch and wait for its end; returns the exit code, the results and standard error."""
        file = self.folder / "tasks.txt"
        file.write_text("".join(f"Send the message of task {number}.\n" for number in tasks))
        done = subprocess.run(
            [program(), "batch", str(file), "--to", self.database.tcp, "--json", "--allow", _RULE, *options],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def count(self, *states: str) -> int:
        """How many jobs are in one of these states."""
        return int(
            self.database.execute("SELECT count(*) FROM job WHERE state = ANY(%s)", list(states))[0][0]
        )


@contextmanager
def desk(*, pause: float = 0.5, prices: str = "my-model=0/0", turns: int = 1) -> Iterator[Desk]:
    """Put a team together; each answer of the model takes `pause` seconds, and a task `turns` calls."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ua-desk-")))
        cluster = Cluster.create(short_folder())
        stack.callback(cluster.remove)
        database = cluster.make_team_database()
        database.execute(f"ALTER ROLE owner PASSWORD '{_PASSWORD}'")
        made = Desk(folder, cluster, database, {})
        url = stack.enter_context(scripted_model(_replies(made, pause, turns)))
        made.environment = model_environment(
            folder, url, UA_MODEL="my-model", UA_PRICES=prices, PGPASSWORD=_PASSWORD, UA_KNOWLEDGE="off"
        )
        config = folder / ".config" / "ua-tui"
        config.mkdir(parents=True)
        server = {"command": sys.executable, "args": [str(outbox_server.__file__), str(made.outbox)]}
        (config / "config.toml").write_text(
            f"[mcp_servers.outbox]\ncommand = {json.dumps(server['command'])}\nargs = {json.dumps(server['args'])}\n"
        )
        stack.callback(_end, made)
        yield made


def until(happened: Callable[[], bool], within: float, what: str, every: float = 0.1) -> float:
    """Wait until something has happened; returns the seconds that it took."""
    started = time.monotonic()
    while not happened():
        if time.monotonic() - started > within:
            raise AssertionError(f"{what} did not happen within {within:g} s")
        time.sleep(every)
    return time.monotonic() - started


def _replies(made: Desk, pause: float, turns: int) -> Callable[[dict[str, Any], int], Sequence[Block]]:
    lock = threading.Lock()

    def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
        found = _TASK.search(json.dumps(body["messages"]))
        if found is None or not body.get("tools"):
            return [Text("yes")]
        time.sleep(pause)
        number = int(found[1])
        if results < turns:
            text = f"task {number}." if turns == 1 else f"task {number}. part {results + 1}"
            return [Use("mcp__outbox__send_message", {"recipient": "team@desk.example", "text": text})]
        with lock:
            made.answered[number] += 1
        return [Text(f"The message of task {number} was sent.")]

    return reply


def _end(made: Desk) -> None:
    for worker in made.workers:
        if worker.poll() is None:
            # Its agents are in its group.
            os.killpg(worker.pid, signal.SIGTERM)
    for worker in made.workers:
        try:
            worker.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
