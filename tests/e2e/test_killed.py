"""What the program started ends with it, also when it is killed and can see to nothing any more."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

from tests.e2e.running import environment, program
from tests.e2e.serving import free_port
from tests.e2e.terminal import terminal


def processes() -> dict[int, tuple[int, str]]:
    """What runs: pid -> the parent's pid, and the command; what has ended and was not noticed is left out."""
    listed = subprocess.run(
        ["ps", "-ww", "-A", "-o", "pid=,ppid=,stat=,command="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 3) for line in listed.stdout.splitlines())
    return {
        int(row[0]): (int(row[1]), row[3]) for row in rows if len(row) == 4 and not row[2].startswith("Z")
    }


def below(top: int) -> dict[int, str]:
    """All that descends from a process."""
    found: dict[int, str] = {}
    running = processes()
    for _ in range(4):
        found |= {pid: what for pid, (parent, what) in running.items() if parent in {top, *found}}
    return found


def test_the_agent_and_its_servers_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    # Nobody answers there, so that the agent tries again and again.
    given = environment(
        tmp_path,
        ANTHROPIC_BASE_URL=f"http://127.0.0.1:{free_port()}",
        ANTHROPIC_API_KEY="sk-ant-test-0123456789",
        UA_CLASSIFIER="off",
    )
    # Under a shell that stays: the end of what a terminal was opened for ends everything there by itself.
    line = f"{shlex.quote(program())} --workspace {shlex.quote(str(tmp_path))}; sleep 600"
    with terminal(tmp_path, "-c", line, env=given, command="/bin/sh") as screen:
        screen.wait_for("ready")
        screen.type("Look at the folder\r")
        screen.wait_for("Esc stops", "did not answer:", "attempt ")
        shell = int(screen.child.pid or 0)
        (top,) = (pid for pid, (parent, _) in processes().items() if parent == shell)
        started = below(top)
        assert any("--output-format stream-json" in what for what in started.values())
        assert any("core.toolkit" in what for what in started.values())
        os.kill(top, signal.SIGKILL)
        # By themselves they go on for minutes.
        screen.wait_until(lambda: not started.keys() & processes().keys())
