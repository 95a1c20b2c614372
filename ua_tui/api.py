"""The Python API: `core.api`, imported after a check that `core` is ours."""

from __future__ import annotations

from ua_tui.guard import check_packages

check_packages()

from core.api import (  # noqa: E402
    Modifier,
    Session,
    Settings,
    UniversalAgentError,
    events,
    open_session,
)

__all__ = ["Modifier", "Session", "Settings", "UniversalAgentError", "events", "open_session"]
