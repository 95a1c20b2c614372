"""What holds for every test: how many run at once, which run by default, and nothing of the person's machine."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from tests.paths import PROJECT
from tests.postgres_server import MISSING, Cluster, Database, ReusedDatabase, binaries, shared_cluster
from ua_tui.core.concurrency.garbage_collection import deferred

WORKERS_PER_CORE = 3
"""Tests wait more than they compute."""
BY_DEFAULT = "smoke or not e2e and not faults and not slow"
"""What `pyproject.toml` selects."""
PRIVATE = ("ANTHROPIC_", "CLAUDE_", "COMPOSIO_", "LOGFIRE_", "OTEL_", "PG", "UA_", "XDG_")
"""Beginnings of variables with somebody's keys, servers and folders."""
LONGEST_ID = 60
"""Characters of a parameter in the name of a test."""
WHOLE_PROGRAMS = {
    PROJECT / "tests" / "e2e": pytest.mark.e2e,
    PROJECT / "tests" / "faults": pytest.mark.faults,
}
"""The folders of tests of whole programs, and their marks."""

set_hypothesis_home_dir(PROJECT / ".hypothesis")
# How long an example takes says more about the machine than about the code.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in every run: who runs the tests sees their own faults. `.ci/run` looks for new ones, and a failure
# there prints the line that repeats it.
settings.register_profile("default", UNTIMED, max_examples=50, derandomize=True)
settings.register_profile("thorough", UNTIMED, max_examples=200, print_blob=True)
settings.load_profile("default")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run the tests of a single file in this process, which is faster, and others in several ones."""
    if len(config.args) == 1 and ".py" in config.args[0]:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores * WORKERS_PER_CORE


def pytest_configure(config: pytest.Config) -> None:
    """Run every test of the files, and of the whole programs, that are named on the command line."""
    names = [each.partition("::")[0] for each in config.args]
    named = all(
        name.endswith(".py") or _mark_of(Path(config.invocation_params.dir, name)) is not None
        for name in names
    )
    if config.option.markexpr == BY_DEFAULT and named:
        config.option.markexpr = ""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector examine no test and no imported module: they are many, and all of them stay."""
    with deferred():
        return (yield)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten the names of tests of long texts: every process sends all of its names to the first one."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_ID:
        return f"{val[:LONGEST_ID]!a}... of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of whole programs, which may take longer than others, and mix the files of all tests.

    Each process runs one part of the list; in the order of the folders, all of them would wait for screens at the end.
    """
    items.sort(key=lambda item: sha256(str(item.path.relative_to(PROJECT)).encode()).digest())
    for item in items:
        if (mark := _mark_of(item.path)) is not None:
            item.add_marker(mark)
            item.add_marker(pytest.mark.timeout(600))


def _mark_of(path: Path) -> pytest.MarkDecorator | None:
    """The mark of the tests of whole programs at a path."""
    return next((mark for folder, mark in WHOLE_PROGRAMS.items() if path.is_relative_to(folder)), None)


@pytest.fixture(scope="session", autouse=True)
def current_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty current folder, an empty home, no keys, and one kind of terminal, for all tests of a process."""
    folder = tmp_path_factory.mktemp("current")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(PRIVATE):
                patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        # The pictures of screens have 24-bit colours, whatever the terminal of whoever runs the tests can show.
        patch.setenv("COLORTERM", "truecolor")
        patch.delenv("NO_COLOR", raising=False)
        # Nothing in the keyring of whoever runs the tests.
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        patch.chdir(folder)
        yield folder


@pytest.fixture(autouse=True)
def nothing_left_behind(current_folder: Path) -> Iterator[None]:
    """Fail a test that writes into the current folder instead of one of its own."""
    yield
    left = sorted(path.name for path in current_folder.iterdir())
    assert left == [], "the test wrote into the current folder"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running PostgreSQL server, which the test processes share: each has databases of its own."""
    if binaries() is None:
        pytest.skip(MISSING)
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with shared_cluster(run / "postgres") as shared:
        yield shared


@pytest.fixture(scope="session")
def reused_database(cluster: Cluster) -> Iterator[ReusedDatabase]:
    """The database of a team that the tests of this process use one after the other."""
    reused = ReusedDatabase(cluster)
    yield reused
    reused.drop()


@pytest.fixture
def team_database(reused_database: ReusedDatabase) -> Database:
    """A database with the tables of a team, and without rows."""
    return reused_database.empty()
