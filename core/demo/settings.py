"""The settings of a session that plays the demo: it talks to the demo's own servers alone."""

from __future__ import annotations

from dataclasses import replace

from core.demo.launch import DemoEndpoints
from core.settings.model import Settings

__all__ = ["demo_settings"]

_MODEL = "claude-sonnet-5"
_KEY = "demo-key-of-no-value"


def demo_settings(settings: Settings, endpoints: DemoEndpoints) -> Settings:
    """Point everything that leaves this process at the demo's servers, whatever else is configured."""
    return replace(
        settings,
        model=settings.model or _MODEL,
        simple_model=None,
        fallback_model=None,
        base_url=endpoints.model_url,
        api_key=_KEY,
        auth_token=None,
        composio_base_url=endpoints.composio_url,
        composio_api_key=endpoints.composio_api_key,
        web_reader_key=None,
        mcp_servers=(),
        logfire_token=None,
    )
