"""One small request to the model, outside the conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.json_values import text_in
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest, reporting_request
from ua_tui.core.text import clean_line

DEFAULT_URL = "https://api.anthropic.com"
DEFAULT_MODEL = "claude-haiku-4-5"


class SmallReply(msgspec.Struct, frozen=True):
    """The model's reply to a small request, and what it cost in US dollars, if that is known.

    `model` answered, and `usage` has the tokens, as the service reports them.
    """

    text: str
    cost_usd: float | None = None
    model: str = ""
    usage: Any = None


AskModel = Callable[[str, str], Awaitable[SmallReply]]
"""Asks the model outside of the conversation: (system prompt, text) -> its reply. It may raise any exception."""


def endpoint(settings: Settings) -> tuple[str, dict[str, str]]:
    """The address of the Messages API, and the headers for it, including the credentials."""
    lines = (line.partition(":") for line in (settings.custom_headers or "").splitlines())
    headers = {
        "anthropic-version": "2023-06-01",
        **{name.strip().lower(): value.strip() for name, _, value in lines},
    }
    if settings.api_key:
        headers["x-api-key"] = settings.api_key
    if settings.auth_token:
        headers["authorization"] = f"Bearer {settings.auth_token}"
    return (settings.base_url or DEFAULT_URL).rstrip("/") + "/v1/messages", headers


def small_request(settings: Settings, on_request: OnRequest | None = None) -> AskModel | None:
    """Make the function that asks the model for a word; None when no key or no model is known, or it is in a cloud.

    The function takes a system prompt and a text, and returns the reply. It speaks the Messages API
    (POST /v1/messages) and does not retry. `on_request` is called with its requests.
    """
    model = settings.simple_model or settings.model or (None if settings.base_url else DEFAULT_MODEL)
    if settings.cloud or model is None or not (settings.api_key or settings.auth_token or settings.base_url):
        return None
    url, headers = endpoint(settings)

    async def ask(system: str, text: str) -> SmallReply:
        import httpx

        body = {
            "model": model,
            "max_tokens": 8,
            "system": system,
            "messages": [{"role": "user", "content": text}],
        }
        try:
            with reporting_request("POST", url, on_request) as set_status:
                async with httpx.AsyncClient(timeout=5.0) as client:
                    response = await client.post(url, headers=headers, json=body)
                set_status(response.status_code)
            response.raise_for_status()
            reply = response.json()
            blocks = reply.get("content") or []
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise ConnectionFailed(
                f"the model did not answer a small request: {clean_line(str(error))}"
            ) from error
        return SmallReply(
            "".join(text_in(block, "text") for block in blocks),
            model=str(reply.get("model") or model),
            usage=reply.get("usage"),
        )

    return ask
