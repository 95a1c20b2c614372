"""An httpx.Client that tells the trace of a session of its requests; imported where one is made, as httpx is dear."""

from __future__ import annotations

from typing import Any

import httpx

from core.telemetry.http import Tell, telling

__all__ = ["ToldClient"]


class ToldClient(httpx.Client):
    """Tells of each request, and puts nothing of the trace into it."""

    def __init__(self, tell: Tell | None, **options: Any) -> None:
        super().__init__(**options)
        self._tell = tell

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request, and tell of it."""
        with telling(self._tell, request.method, str(request.url)) as answered:
            response = super().send(request, **options)
            answered(response.status_code)
            return response
