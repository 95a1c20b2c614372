"""Composio's SDK: how it is read in, which is dear, and a client of it that tells nobody what it is used for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.settings import Settings

__all__ = ["import_sdk", "sdk_client"]

_one_at_a_time = threading.Lock()


def import_sdk() -> Any:
    """Import the SDK, which takes seconds the first time: call it in a thread."""
    with _one_at_a_time, _built_on_first_use():
        import composio
        from composio.core.models import base

    # `allow_tracking` holds only in the context that made the client; this holds everywhere.
    vars(base)["push_event"] = lambda _event: None
    return composio


def sdk_client(settings: Settings, http: Any, **more: Any) -> Any:
    """Make a client with the key of the settings that talks through `http`, an httpx.Client."""
    if settings.composio_base_url:
        more["base_url"] = settings.composio_base_url
    return import_sdk().Composio(
        api_key=settings.composio_api_key or "", allow_tracking=False, http_client=http, **more
    )


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
