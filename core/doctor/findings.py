"""The finding of a check, and how a check is run: within a time limit, and with secrets masked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

import msgspec

from ua_tui.core.errors import Advice, UniversalAgentError
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean_line

Status = Literal["ok", "warning", "failed", "skipped"]

_LONGEST = 300


class Finding(msgspec.Struct, frozen=True):
    """The outcome of a check: what was found, and what to do about it."""

    status: Status
    found: str
    advice: str = ""


class PlannedCheck(msgspec.Struct, frozen=True):
    """A check that is not started yet, and how many seconds it may take."""

    name: str
    title: str
    work: Coroutine[Any, Any, Finding]
    within: float
    required: bool = False


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A finding to be shown: clean texts of one line each, without secrets.

    `name` is for programs, `title` for people; no session can start if a `required` check fails. `seconds` is its
    duration.
    """

    name: str
    title: str
    status: Status
    found: str
    advice: str = ""
    required: bool = False
    seconds: float = 0.0


OnCheck = Callable[[DoctorCheck], None]
"""Called with each check when it is done."""


def ok(found: str) -> Finding:
    """It works."""
    return Finding("ok", found)


def warning(found: str, advice: str) -> Finding:
    """It works, but perhaps not reliably or not for long."""
    return Finding("warning", found, advice)


def failed(found: str | Advice, advice: str = "") -> Finding:
    """It does not work; the remedy of an advice comes before what else there is to do."""
    if isinstance(found, Advice):
        return failed(found.problem, "; ".join(filter(None, (found.remedy, advice))))
    return Finding("failed", found, advice)


def skipped(found: str, advice: str = "") -> Finding:
    """There was nothing to check."""
    return Finding("skipped", found, advice)


def can_start(checks: Sequence[DoctorCheck]) -> bool:
    """Whether a session can start: no required check has failed."""
    return not any(check.required and check.status == "failed" for check in checks)


async def run_check(planned: PlannedCheck, redactor: Redactor) -> DoctorCheck:
    """Run one check; an exception becomes its finding."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(planned.within):
            finding = await planned.work
    except TimeoutError:
        finding = failed(f"no answer within {planned.within:g} s", "try again, and check the network")
    except UniversalAgentError as error:
        finding = failed(error.advice)
    except Exception as error:
        log.warning("the check %s failed", planned.name, exc_info=error)
        finding = failed(f"{type(error).__name__}: {error}", "this is a bug in ua-tui: please report it")
    return DoctorCheck(
        name=planned.name,
        title=planned.title,
        status=finding.status,
        found=_shown(finding.found, redactor),
        advice=_shown(finding.advice, redactor),
        required=planned.required,
        seconds=round(time.monotonic() - started, 3),
    )


def _shown(text: str, redactor: Redactor) -> str:
    # Redacted before it is cut: the redactor would not recognise half a secret.
    return clean_line(redactor.redact(text), _LONGEST)
