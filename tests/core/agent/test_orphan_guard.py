from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.waiting import PATIENCE
from ua_tui.core.agent.client import OrphanGuard

DIES = """
import asyncio, os, sys
from ua_tui.core.agent.client import OrphanGuard

async def main():
    await OrphanGuard(int(sys.argv[1])).start()
    os._exit(0)

asyncio.run(main())
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_what_is_guarded_ends_with_whoever_guards_it(sleeper: subprocess.Popen[bytes]) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(sleeper.pid)], check=True)
    assert sleeper.wait(PATIENCE) == -15


def test_what_does_not_listen_is_ended_by_force() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        subprocess.run([sys.executable, "-c", DIES, str(process.pid)], check=True)
        assert process.wait(PATIENCE) == -9


async def test_what_is_released_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    guard = OrphanGuard(sleeper.pid)
    await guard.start()
    shell = guard._shell
    assert shell is not None
    await guard.close()
    assert shell.returncode == 0
    assert sleeper.poll() is None
    await guard.close()
    assert len(asyncio.all_tasks()) == 1
