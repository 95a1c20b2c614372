"""What can go wrong with Composio, and what to do about it: `_ADVICE` is the one table."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ua_tui.core.errors import Advice, ConnectionFailed
from ua_tui.core.net.retries import retry_after
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings

log = logging.getLogger(__name__)

_LONGEST = 200

_Problem = Literal[
    "credentials", "web_page", "busy", "server_error", "bad_toolkits", "refused", "timeout", "deadline", "unreachable",
    "not_composio", "no_link", "no_key", "no_session", "rejected_session", "session_over", "no_file",
]  # fmt: skip
_ADVICE: Mapping[_Problem, Advice] = {
    "no_key": Advice(
        "Composio is off",
        "set COMPOSIO_API_KEY to use its tools (email, web search and a remote workbench)",
    ),
    "credentials": Advice("{service} rejected the key", "set COMPOSIO_API_KEY to a valid key"),
    "web_page": Advice(
        "{service} answered with a web page instead of JSON",
        "check COMPOSIO_BASE_URL, and whether a proxy or a login page is in between",
    ),
    "busy": Advice("{service} accepts no more requests for now{detail}", "try again later"),
    "server_error": Advice("{service} failed{detail}", "try again later"),
    "bad_toolkits": Advice(
        "{service} rejected the request{detail}", "check composio_toolkits and composio_disabled_toolkits"
    ),
    "refused": Advice("{service} rejected the request{detail}", "check COMPOSIO_BASE_URL"),
    "timeout": Advice("{service} did not answer in time", "{network}"),
    "deadline": Advice("{service} did not answer within {detail}", "{network}"),
    "unreachable": Advice("{service} could not be reached{detail}", "{network}"),
    "not_composio": Advice(
        "{service} gave an answer that is not Composio's{detail}", "check COMPOSIO_BASE_URL"
    ),
    "rejected_session": Advice(
        "{service} rejected the key", "set COMPOSIO_API_KEY to a valid key, then {reconnect}"
    ),
    "no_session": Advice("{service} is not connected, so there is no remote sandbox", "{reconnect}"),
    "session_over": Advice("the session at {service} is over, and its sandbox with it", "{reconnect}"),
    "no_file": Advice(
        "there is no file {detail} in the remote sandbox", "write it there first, or check the name"
    ),
    "no_link": Advice("{service} gives no link for {detail}", "connect it at composio.dev: it needs a key"),
}


def advice_for(problem: _Problem, settings: Settings | None = None, detail: str = "") -> Advice:
    """The advice for a problem of the service that the settings name; `detail` is a name, or ` (a reason)`."""
    has_address = settings is not None and bool(settings.composio_base_url)
    return _ADVICE[problem].format(
        service=service_name(settings) if settings is not None else "Composio",
        network="check the network and COMPOSIO_BASE_URL" if has_address else "check the network",
        reconnect="connect composio again, with /connections and r",
        detail=detail,
    )


def sdk_errors() -> tuple[type[Exception], ...]:
    """What the SDK raises when the service is at fault; call it once the SDK is imported."""
    from composio.exceptions import ComposioError
    from composio_client import APIError

    # The SDK does not check the shape of an answer before it uses it.
    return (ComposioError, APIError, ValueError, OSError, AttributeError, TypeError, KeyError)


def as_failure(error: Exception, settings: Settings) -> ConnectionFailed:
    """Turn an error of the SDK into one of ours; raise it `from None`, as it says everything that the SDK does.

    The code is `http_NNN`, `timeout`, or `unreachable`, also for answers that are not Composio's.
    """
    problem, detail, code = _classify(error)
    advice = advice_for(problem, settings, _shown(detail, settings))
    log.info("%s (%s)", advice.problem, type(error).__name__)
    return ConnectionFailed(advice, code=code)


def late_failure(settings: Settings, seconds: float) -> ConnectionFailed:
    """The error for an answer that did not come within so many seconds."""
    return ConnectionFailed(advice_for("deadline", settings, f"{seconds:g} s"), code="timeout")


def service_name(settings: Settings) -> str:
    """Name the service, with its address where the settings have one."""
    if not settings.composio_base_url:
        return "Composio"
    parts = urlsplit(settings.composio_base_url)
    return clean_line(f"Composio at {parts.scheme}://{parts.netloc.rpartition('@')[2]}", 120)


def _classify(error: Exception) -> tuple[_Problem, BaseException | str, str]:
    """The problem behind an error of the SDK, the detail to show or the exception that has it, and the code."""
    from composio_client import (
        APIConnectionError,
        APIResponseValidationError,
        APIStatusError,
        APITimeoutError,
    )

    response = getattr(error, "response", None)
    headers = {} if response is None else response.headers
    status = error.status_code if isinstance(error, APIStatusError) else 0
    if status in {401, 403}:
        return "credentials", "", f"http_{status}"
    if "html" in headers.get("content-type", ""):
        return "web_page", "", f"http_{status}" if status else "unreachable"
    if status:
        return _classify_status(error, status, headers)
    if isinstance(error, APITimeoutError):
        return "timeout", "", "timeout"
    if isinstance(error, APIConnectionError):
        return "unreachable", error.__cause__ or error, "unreachable"
    if isinstance(error, APIResponseValidationError | AttributeError | TypeError | KeyError):
        return "not_composio", error, "unreachable"
    return "unreachable", error, "unreachable"


def _classify_status(
    error: Exception, status: int, headers: Any
) -> tuple[_Problem, BaseException | str, str]:
    code = f"http_{status}"
    if status == 429:
        seconds = retry_after(headers)
        return "busy", f"it asks to wait {seconds:.0f} s" if seconds else "", code
    if status >= 500:
        return "server_error", error, code
    return "bad_toolkits" if status in {400, 422} else "refused", error, code


def _shown(detail: BaseException | str, settings: Settings) -> str:
    if isinstance(detail, BaseException):
        from ua_tui.core.settings.secrets import secrets

        # Redacted before it is cut: the redactor would not recognise half a secret.
        redactor = Redactor(secrets(settings, os.environ))
        message = clean_line(redactor.redact(str(detail)[:10_000]), _LONGEST)
        detail = message or type(detail).__name__
    return f" ({detail})" if detail else ""
