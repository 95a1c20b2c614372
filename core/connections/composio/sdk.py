"""Composio's SDK: how it is read in, which is dear, and a client of it that tells nobody what it is used for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.connections.composio.errors import retry_after
from core.settings.model import Settings
from core.telemetry.http import Tell

if TYPE_CHECKING:
    import httpx

__all__ = ["import_sdk", "sdk_client", "sdk_http"]

_LONGEST_WAIT = 10.0

_one_at_a_time = threading.Lock()


def import_sdk() -> Any:
    """Import the SDK, which takes seconds the first time: call it in a thread."""
    with _one_at_a_time, _built_on_first_use():
        import composio
        from composio.core.models import base

    # `allow_tracking` holds only in the context that made the client; this holds everywhere.
    vars(base)["push_event"] = lambda *_given, **_named: None
    return composio


def sdk_client(settings: Settings, http: Any, **more: Any) -> Any:
    """Make a client with the key of the settings that talks through `http`, an httpx.Client."""
    if settings.composio_base_url:
        more["base_url"] = settings.composio_base_url
    return import_sdk().Composio(
        api_key=settings.composio_api_key or "", allow_tracking=False, http_client=http, **more
    )


def sdk_http(timeout: float, tell: Tell | None = None) -> Any:
    """Make the httpx.Client for a client of the SDK; `tell` is told of its requests.

    The SDK waits up to a minute where a service asks for it; nobody at a terminal waits that long unasked.
    """
    from core.telemetry.told_client import ToldClient

    def hasten(response: httpx.Response) -> None:
        if (retry_after(response.headers) or 0) > _LONGEST_WAIT:
            response.headers["x-should-retry"] = "false"

    return ToldClient(tell, timeout=timeout, event_hooks={"response": [hasten]})


@contextmanager
def _built_on_first_use() -> Iterator[None]:
    """Let pydantic put off the validators of models that are defined meanwhile.

    The SDK defines thousands of which a session uses a handful: without them it costs a third less time and 50 MB less.
    """
    import pydantic

    config = pydantic.BaseModel.model_config
    before = config.get("defer_build", False)
    config["defer_build"] = True
    try:
        yield
    finally:
        config["defer_build"] = before
