"""Hostile content of the knowledge base, and hostile queries, end to end: `ua-tui find` as a program."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from core.knowledge.database import connect
from core.knowledge.schema import VERSION
from tests.e2e.running import DEADLINE, environment, program
from tests.e2e.test_hostile import ESCAPES, MARKUP
from tests.faults.test_machine import OBEYING_PERMISSIONS
from tests.observers.knowledge.recorded import Recorded, database_of

UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]")


def ua_tui(base: Path, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*before, program(), *arguments],
        cwd=base,
        env=environment(base),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert not UNSAFE.search(done.stdout + done.stderr)
    return done


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder whose knowledge base has a report with a hostile title, and one of fifty megabytes."""
    recorded = Recorded(tmp_path)
    recorded.write_report("quokka", f"# Quokka {ESCAPES} {MARKUP}\n\nQuokkas smile {ESCAPES} {MARKUP}")
    recorded.write_report("numbat", "Numbats eat termites. " * 2_300_000)
    assert ua_tui(tmp_path, "knowledge", "update").returncode == 0
    return tmp_path


def test_hostile_texts_and_queries_are_harmless(base: Path) -> None:
    assert "PWNED" in ua_tui(base, "find", "quokkas").stdout
    (hit,) = json.loads(ua_tui(base, "find", "numbats", "--json").stdout)["hits"]
    assert "numbat.md" in json.dumps(hit)
    assert database_of(base).stat().st_size < 20 << 20
    for query in (
        'NEAR("a" OR',
        '" AND * ^ {title}: (',
        "quokka " * 1_500,
        "x" * 10_000,
        "site:a " * 1_500,
        ESCAPES,
    ):
        assert ua_tui(base, "find", "--", query).returncode in (0, 1)


def test_a_later_version_is_found_in_but_not_changed(base: Path) -> None:
    with closing(connect(database_of(base), "rw")) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    assert ua_tui(base, "find", "quokkas").returncode == 0
    done = ua_tui(base, "knowledge", "update")
    assert done.returncode == 1
    assert "later version" in done.stderr


def test_a_folder_that_may_not_be_written_is_found_in(base: Path) -> None:
    folder = database_of(base).parent
    folder.chmod(0o500)
    try:
        assert ua_tui(base, "find", "quokkas", before=OBEYING_PERMISSIONS).returncode == 0
        done = ua_tui(base, "knowledge", "update", before=OBEYING_PERMISSIONS)
    finally:
        folder.chmod(0o700)
    assert done.returncode == 1
    assert "permission" in done.stderr
