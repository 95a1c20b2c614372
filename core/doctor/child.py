"""Runs the checks in a child process, so that their slow imports do not delay a running session.

The child is this module as a program: it reads settings, and prints each check when it is done.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

from ua_tui.core.doctor.findings import Check
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.tasks import end_tasks
from ua_tui.core.text import clean_line

_WITHIN = 90.0
_LONGEST_LINE = 64 << 10


class DoctorFailed(UniversalAgentError):
    """The checks could not be started, or did not finish."""


async def run_checks_in_child(settings: Settings) -> AsyncGenerator[Check, None]:
    """Run every check in a child process and give each when it is done; closing the generator ends the child.

    Raises:
        DoctorFailed: the child could not be started, or ended too early.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "ua_tui.core.doctor.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise DoctorFailed(f"the checks cannot be started: {error.strerror}; try again") from error
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    try:
        async with asyncio.timeout(_WITHIN):
            with suppress(ConnectionError):
                process.stdin.write(pickle.dumps(settings))
                process.stdin.close()
            async for line in process.stdout:
                yield msgspec.json.decode(line, type=Check)
            code = await process.wait()
        if code:
            redact = Redactor(secrets(settings, os.environ)).redact
            last = clean_line(redact((await errors).decode("utf-8", "replace").strip().rpartition("\n")[2]))
            raise DoctorFailed(f"the checks ended too early ({code}): {last or 'without a message'}")
    except TimeoutError as error:
        raise DoctorFailed(f"the checks did not end within {_WITHIN:g} s; try again") from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise DoctorFailed("the checks could not be read: this is a bug in ua-tui") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        await end_tasks(errors)


def main() -> None:
    """Print a line of JSON for each check of the settings on standard input."""
    from ua_tui.core.doctor.checks import run_checks

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    settings = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
    asyncio.run(run_checks(settings, os.environ, _print_check))


def _print_check(check: Check) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(check) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
