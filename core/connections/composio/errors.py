"""What goes wrong with Composio, in words: which thing failed, and what to do about it."""

from __future__ import annotations

import logging
import math
import os
from typing import Any
from urllib.parse import urlsplit

from core.errors import ConnectionFailed
from core.redaction.redactor import Redactor
from core.settings.model import Settings
from core.settings.secrets import secrets
from core.text import clean_line

__all__ = ["WITHOUT", "ComposioFailed", "as_failure", "failures", "retry_after", "service"]

WITHOUT = "the session goes on without its tools"
log = logging.getLogger(__name__)

_LONGEST = 200
_AGAIN = "try again in a while"


class ComposioFailed(ConnectionFailed):
    """Composio refused, could not be reached or gave nonsense: what happened, and the remedy."""

    def __init__(self, what: str, remedy: str, *, code: str, without: str = "") -> None:
        super().__init__(f"{what}: {f'{without}; ' if without else ''}{remedy}", code=code)
        self.what = what
        self.remedy = remedy


def failures() -> tuple[type[Exception], ...]:
    """What the SDK raises when the service is at fault; to be asked once the SDK is imported."""
    from composio.exceptions import ComposioError
    from composio_client import APIError

    # It does not look at the shape of an answer before it uses it.
    return (ComposioError, APIError, ValueError, OSError, AttributeError, TypeError, KeyError)


def as_failure(error: Exception, settings: Settings, without: str = "") -> ComposioFailed:
    """Make an error of ours of one of the SDK's, to be raised from nothing, as it says all that the SDK does.

    `without` says what goes on all the same. The code is `http_NNN`, `timeout`, or `unreachable`, also for answers
    that are not Composio's.
    """
    what, remedy, code = _read(error, settings)
    log.info("%s (%s)", what, type(error).__name__)
    return ComposioFailed(what, remedy, code=code, without=without)


def service(settings: Settings) -> str:
    """Name the service, with its address where that is a person's choice."""
    if not settings.composio_base_url:
        return "Composio"
    parts = urlsplit(settings.composio_base_url)
    return clean_line(f"Composio at {parts.scheme}://{parts.netloc.rpartition('@')[2]}", 120)


def retry_after(headers: Any) -> float | None:
    """How many seconds a service asks to wait, when it says so in seconds."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _read(error: Exception, settings: Settings) -> tuple[str, str, str]:
    from composio_client import (
        APIConnectionError,
        APIResponseValidationError,
        APIStatusError,
        APITimeoutError,
    )

    where = service(settings)
    response = getattr(error, "response", None)
    headers = {} if response is None else response.headers
    check = "check the network" + (", and COMPOSIO_BASE_URL" if settings.composio_base_url else "")
    if isinstance(error, APIStatusError) and error.status_code in {401, 403}:
        return f"{where} refused the key", "set a valid COMPOSIO_API_KEY", f"http_{error.status_code}"
    if "html" in headers.get("content-type", ""):
        status = error.status_code if isinstance(error, APIStatusError) else 0
        return (
            f"{where} answered with a web page instead of JSON",
            "check COMPOSIO_BASE_URL, and whether a proxy or a page to sign in stands between",
            f"http_{status}" if status else "unreachable",
        )
    if isinstance(error, APIStatusError):
        return _by_status(error, where, headers, settings)
    if isinstance(error, APITimeoutError):
        return f"{where} did not answer in time", check, "timeout"
    if isinstance(error, APIConnectionError):
        return (
            f"{where} could not be reached ({_told(error.__cause__ or error, settings)})",
            check,
            "unreachable",
        )
    if isinstance(error, APIResponseValidationError | AttributeError | TypeError | KeyError):
        return (
            f"{where} gave an answer that is not Composio's ({_told(error, settings)})",
            "check COMPOSIO_BASE_URL",
            "unreachable",
        )
    return f"{where} could not be reached ({_told(error, settings)})", check, "unreachable"


def _by_status(error: Any, where: str, headers: Any, settings: Settings) -> tuple[str, str, str]:
    status: int = error.status_code
    code = f"http_{status}"
    if status == 429:
        wait = retry_after(headers)
        asked = f" (it asks to wait {wait:.0f} s)" if wait else ""
        return f"{where} takes no more requests for now{asked}", _AGAIN, code
    if status >= 500:
        return f"{where} is out of order (it answers {_told(error, settings)})", _AGAIN, code
    advice = "check composio_toolkits and composio_disabled_toolkits" if status in {400, 422} else ""
    return (
        f"{where} refused what was asked ({_told(error, settings)})",
        advice or "check COMPOSIO_BASE_URL",
        code,
    )


def _told(error: BaseException, settings: Settings) -> str:
    # Masked before it is cut: of a secret that is cut in two nothing would be recognised.
    redactor = Redactor(secrets(settings, os.environ))
    return clean_line(redactor.redact(str(error)[:10_000]), _LONGEST) or type(error).__name__
