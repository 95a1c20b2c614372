"""The password of a team's database, while a worker runs a job: in no process, no file, no row and no output."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.core.postgres.test_secrets import ProcessList, secret
from tests.e2e.running import DEADLINE, environment, program
from tests.postgres_server import Cluster, Database, binaries


def test_a_worker_shows_the_password_nowhere(
    tmp_path: Path, cluster: Cluster, team_database: Database
) -> None:
    word = secret()
    name = cluster.make_role(f"e{team_database.name}", word)
    team_database.execute(f'GRANT owner TO "{name}"')
    url = team_database.tcp.replace("owner@", f"{name}@")
    env = environment(tmp_path, PGPASSWORD=word)
    (tmp_path / "queries.txt").write_text("What is the capital of France?\n")
    with ProcessList(word) as processes, (tmp_path / "worker.log").open("w") as log:
        worker = subprocess.Popen(
            [program(), "worker", "--from", url], stdout=log, stderr=log, cwd=tmp_path, env=env
        )
        try:
            batch = [program(), "batch", "queries.txt", "--to", url, "--demo", "--demo-pace", "0"]
            done = subprocess.run(
                batch, capture_output=True, text=True, timeout=DEADLINE, check=False, cwd=tmp_path, env=env
            )
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(DEADLINE)
    assert done.returncode == 0, done.stderr
    assert "Paris" in done.stdout
    assert processes.seen
    assert not processes.found
    assert word not in done.stdout + done.stderr
    folder = binaries()
    assert folder is not None
    dump = [str(folder / "pg_dump"), "--data-only", "--inserts", team_database.url]
    rows = subprocess.run(dump, capture_output=True, check=True).stdout
    assert b"capital of France" in rows
    # What it found is the team's, too.
    assert team_database.execute("SELECT count(*) > 0 FROM k_document") == [(True,)]
    assert word.encode() not in rows
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "journal.jsonl" for path in files)
    assert [path for path in files if word.encode() in path.read_bytes()] == []
    team_database.execute(f'REVOKE owner FROM "{name}"')
    assert os.environ.get("PGPASSWORD") is None
