"""What one check of the doctor says, and how it is run: within a time, and without a secret in what it says."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.errors import UniversalAgentError
from core.redaction.redactor import Redactor
from core.text import clean_line

__all__ = ["Check", "Finding", "Status", "could_start", "failed", "ok", "run", "skipped", "warning"]

log = logging.getLogger(__name__)

Status = Literal["ok", "warning", "failed", "skipped"]

_LONGEST = 300


@dataclass(frozen=True)
class Finding:
    """How a check went: what was found, and what to do about it."""

    status: Status
    found: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A finding with its name, fit to be shown: clean, on one line each, without secrets.

    `name` is for programs, `title` for people; without a `required` one no session could start. `seconds` is how
    long it took.
    """

    name: str
    title: str
    status: Status
    found: str
    advice: str = ""
    required: bool = False
    seconds: float = 0.0


def ok(found: str) -> Finding:
    """All is well."""
    return Finding("ok", found)


def warning(found: str, advice: str) -> Finding:
    """It works, but not for sure or not for long."""
    return Finding("warning", found, advice)


def failed(found: str, advice: str) -> Finding:
    """It does not work."""
    return Finding("failed", found, advice)


def skipped(found: str, advice: str = "") -> Finding:
    """There was nothing to be tried."""
    return Finding("skipped", found, advice)


def could_start(checks: Sequence[Check]) -> bool:
    """Whether a session could start: nothing that it cannot be without has failed."""
    return not any(check.required and check.status == "failed" for check in checks)


async def run(
    name: str,
    title: str,
    work: Awaitable[Finding],
    *,
    within: float,
    redactor: Redactor,
    required: bool = False,
) -> Check:
    """Run one check to its end, or until `within` seconds are over; whatever goes wrong is its finding."""
    begun = time.monotonic()
    try:
        async with asyncio.timeout(within):
            finding = await work
    except TimeoutError:
        finding = failed(f"no answer within {within:g} s", "try again; look at the network and its load")
    except UniversalAgentError as error:
        finding = failed(str(error), "")
    except Exception as error:
        log.warning("the check %s failed", name, exc_info=error)
        finding = failed(f"{type(error).__name__}: {error}", "this is a fault of ua-tui: please report it")
    return Check(
        name=name,
        title=title,
        status=finding.status,
        found=_shown(finding.found, redactor),
        advice=_shown(finding.advice, redactor),
        required=required,
        seconds=round(time.monotonic() - begun, 3),
    )


def _shown(text: str, redactor: Redactor) -> str:
    # Masked before it is cut, so that no half of a secret is left.
    return clean_line(redactor.redact(text), _LONGEST)
