"""Composio's SDK: its import, which is slow, a client without its usage tracking, and what its errors mean."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ua_tui.core.errors import Advice, ConnectionFailed, advise, missing_extra
from ua_tui.core.log import log
from ua_tui.core.net.retries import retry_after
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest, reporting_client
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import httpx

    from ua_tui.core.settings.model import Settings


def advice_for(problem: str, settings: Settings | None = None, detail: str = "") -> Advice:
    """The advice for a problem of the service that the settings name; `detail` is a name, or ` (a reason)`."""
    has_address = settings is not None and bool(settings.composio_base_url)
    return advise(
        f"composio.{problem}",
        service=service_name(settings) if settings is not None else "Composio",
        network="check the network and COMPOSIO_BASE_URL" if has_address else "check the network",
        reconnect="reconnect Composio with r in /connections",
        detail=detail,
    )


def sdk_errors() -> tuple[type[Exception], ...]:
    """What the SDK raises when the service is at fault; call it once the SDK is imported."""
    from composio.exceptions import ComposioError
    from composio_client import ComposioError as ClientError

    # The SDK does not check the shape of an answer before it uses it.
    return (ComposioError, ClientError, ValueError, OSError, AttributeError, TypeError, KeyError)


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


def _classify(error: Exception) -> tuple[str, BaseException | str, str]:
    """The problem behind an error of the SDK, the detail to show or the exception that has it, and the code."""
    from composio_client import (
        APIConnectionError,
        APIResponseValidationError,
        APIStatusError,
        APITimeoutError,
        ComposioError,
    )

    response = getattr(error, "response", None)
    headers = {} if response is None else response.headers
    status = error.status_code if isinstance(error, APIStatusError) else 0
    if status in {401, 403}:
        return "credentials", "", f"http_{status}"
    if "html" in headers.get("content-type", ""):
        return "web_page", "", f"http_{status}" if status else "unreachable"
    if status:
        code = f"http_{status}"
        if status == 429:
            seconds = retry_after(headers)
            return "busy", f"it asks for a wait of {seconds:.0f} s" if seconds else "", code
        if status >= 500:
            return "server_error", error, code
        return "bad_toolkits" if status in {400, 422} else "refused", error, code
    if isinstance(error, APITimeoutError):
        return "timeout", "", "timeout"
    if isinstance(error, APIConnectionError):
        return "unreachable", error.__cause__ or error, "unreachable"
    if isinstance(error, APIResponseValidationError | AttributeError | TypeError | KeyError):
        return "not_composio", error, "unreachable"
    if isinstance(error, ComposioError) and "HTTPS" in str(error):
        return "not_encrypted", "", "unreachable"
    return "unreachable", error, "unreachable"


def _shown(detail: BaseException | str, settings: Settings) -> str:
    if isinstance(detail, BaseException):
        from ua_tui.core.settings.model import secrets

        # Redacted before it is cut: the redactor would not recognise half a secret.
        redactor = Redactor(secrets(settings, os.environ))
        message = clean_line(redactor.redact(str(detail)[:10_000]), 200)
        detail = message or type(detail).__name__
    return f" ({detail})" if detail else ""


_one_at_a_time = threading.Lock()


def import_sdk() -> Any:
    """Import the SDK; call it in a thread, as it takes seconds the first time.

    Raises:
        ConnectionFailed: it is not installed.
    """
    with _one_at_a_time, _built_on_first_use():
        try:
            import composio
            from composio.core.models import base
        except ModuleNotFoundError as error:
            missing = missing_extra("composio", "Composio")
            raise ConnectionFailed(missing, code="not_installed") from error

    # `allow_tracking` applies only in the context that made the client; this applies everywhere.
    vars(base)["push_event"] = lambda *_args, **_kwargs: None
    return composio


def sdk_client(settings: Settings, http: Any, **options: Any) -> Any:
    """Make a client of the SDK with the key of the settings and the httpx.Client `http`."""
    if settings.composio_base_url:
        options["base_url"] = settings.composio_base_url
    return import_sdk().Composio(
        api_key=settings.composio_api_key or "", allow_tracking=False, http_client=http, **options
    )


def sdk_http(timeout: float, on_request: OnRequest | None = None) -> Any:
    """Make the httpx.Client for a client of the SDK; `on_request` is called with its requests.

    The SDK would wait up to a minute if the service asks for it, which is too long for a person at a terminal.
    """

    def limit_wait(response: httpx.Response) -> None:
        if (retry_after(response.headers) or 0) > 10.0:
            response.headers["x-should-retry"] = "false"

    return reporting_client(on_request, timeout=timeout, event_hooks={"response": [limit_wait]})


@contextmanager
def sdk_calls(settings: Settings) -> Iterator[None]:
    """Import the SDK, and raise ConnectionFailed for its errors in the block."""
    import_sdk()
    try:
        yield
    except sdk_errors() as error:
        raise as_failure(error, settings) from None


def delete_session(session: Any) -> None:
    """Delete a session that was opened to ask something; a failure is only logged."""
    try:
        session.delete()
    except sdk_errors() as error:
        log.info("a session of Composio could not be deleted: %s", error)


@contextmanager
def _built_on_first_use() -> Iterator[None]:
    """Make pydantic build the validators of models on first use, if the models are defined in the block.

    The SDK defines thousands of models, of which a session uses a few: this saves a third of the time and 50 MB.
    """
    import pydantic

    config = pydantic.BaseModel.model_config
    before = config.get("defer_build", False)
    config["defer_build"] = True
    try:
        yield
    finally:
        config["defer_build"] = before
