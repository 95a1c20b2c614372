"""The HTTP session of the SDK's exporters, which says how each request went; slow to import."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import requests

from ua_tui.core.telemetry.export_errors import ExportMonitor
from ua_tui.core.text import clean_line


class ExportSession(requests.Session):
    """Makes the requests of an exporter, and reports them to the monitor.

    Args:
        on_outcome: called after each request with the status of its answer; 0 without one.
    """

    def __init__(
        self, monitor: ExportMonitor, on_outcome: Callable[[int], object] = lambda _status: None
    ) -> None:
        super().__init__()
        self._monitor = monitor
        self._on_outcome = on_outcome

    def request(self, *args: Any, **named: Any) -> requests.Response:
        """Make a request."""
        status, self._monitor.sent = 0, time.monotonic()
        try:
            answer = super().request(*args, **named)
            status = answer.status_code
            self._monitor.on_answer(answer)
        except Exception as error:
            self._on_error(error)
            raise
        finally:
            self._monitor.sent = None
            self._on_outcome(status)
        return answer

    def _on_error(self, error: Exception) -> None:
        if isinstance(error, requests.Timeout):
            self._monitor.on_failure("timeout")
        elif isinstance(error, ValueError):
            # So is that of an address or a header, and the error repeats the value that could not be sent.
            self._monitor.on_failure("bad_value")
        elif found := re.search(r"\[Errno -?\d+\] ([^'\")]+)", str(error)):
            self._monitor.on_failure("not_running", found[1])
        elif isinstance(error, requests.ConnectionError):
            self._monitor.on_failure("no_connection", "no connection")
        else:
            self._monitor.on_failure("unknown", clean_line(str(error), 120))
