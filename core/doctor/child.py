"""Runs the checks in a worker process, so that their slow imports do not delay a running session."""

from __future__ import annotations

import asyncio
import os
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.concurrency.threads import apart, in_loop
from ua_tui.core.concurrency.worker import WorkerCrashed, WorkerFailed, WorkerProcess, WorkerUnavailable
from ua_tui.core.doctor.findings import DoctorCheck, OnCheck
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings, secrets

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_WITHIN = 90.0


class DoctorFailed(UniversalAgentError):
    """The checks could not be started, or did not finish."""


async def run_checks_in_child(settings: Settings, on_check: OnCheck) -> None:
    """Run every check in a process of its own; `on_check` is called with each when it is done.

    The process, and what it started, ends with this, also if this is cancelled.

    Raises:
        DoctorFailed: the process could not be started, or ended too early.
    """
    worker = WorkerProcess()

    def handle_part(part: Any) -> None:
        on_check(msgspec.convert(part, DoctorCheck))

    asked = pickle.dumps((settings, dict(os.environ)))
    work = partial(worker.call, f"{__name__}:check_in_child", asked, on_part=in_loop(handle_part))
    try:
        await apart(work, _WITHIN)
    except TimeoutError as error:
        raise DoctorFailed(f"the checks did not end within {_WITHIN:g} s; try again") from error
    except (WorkerUnavailable, WorkerCrashed) as error:
        raise DoctorFailed(f"the checks ended too early ({type(error).__name__}): try again") from error
    except WorkerFailed as error:
        why = Redactor(secrets(settings, os.environ)).redact(str(error))
        raise DoctorFailed(f"the checks ended too early: {why}") from error
    finally:
        worker.kill()
        await asyncio.to_thread(worker.close)


def check_in_child(desk: TaskContext, asked: bytes) -> None:
    """Run every check in the worker process, with the environment of the caller."""
    settings, environ = pickle.loads(asked)  # noqa: S301 - from our own process
    os.environ.update(environ)
    from ua_tui.core.doctor.checks import run_checks

    asyncio.run(run_checks(settings, os.environ, lambda check: desk.say("part", msgspec.to_builtins(check))))
