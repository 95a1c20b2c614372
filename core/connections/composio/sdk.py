"""Composio's SDK: its import, which is slow, and a client without its usage tracking."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ua_tui.core.connections.composio.errors import as_failure, sdk_errors
from ua_tui.core.errors import ConnectionFailed, advise
from ua_tui.core.net.retries import retry_after
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest, reporting_client

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)


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
            missing = advise("extra.missing", extra="composio", what="Composio")
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
