"""Exports a session from a screen, in a thread, and reports where the file is."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App

from ua_tui.core.concurrency.cancellation import NEVER, Stop, in_thread
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import size
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.secrets import secrets
from ua_tui.core.text import clean_line
from ua_tui.tui.workers import start_job

_NAME = 120


def export_session(app: App[Any], folder: Path, report: str = "") -> None:
    """Export the session in `folder` as an HTML page into its exports; `report` names one, empty for the newest.

    The work goes on when the screen is closed, and notifications say how it ends. While it runs, the same is not begun
    again.
    """
    name = f"export {folder} {report}"
    if not any(worker.name == name and not worker.is_finished for worker in app.workers):
        start_job(app, partial(_export, app, folder, report), "export", name=name, replacing=False)


async def _export(app: App[Any], folder: Path, report: str) -> None:
    app.notify(f"Exporting {clean_line(folder.name, _NAME)}…", markup=False, timeout=3)
    # A session of this program has learned further secrets.
    workspace = getattr(getattr(app, "session", None), "workspace", None)
    known: frozenset[str] = getattr(getattr(workspace, "redactor", None), "values", frozenset())
    work = partial(_write, folder, report, getattr(app, "settings", None), known)
    try:
        path, length = await in_thread(work)
    except UniversalAgentError as error:
        app.notify(f"Not exported: {error}", markup=False, severity="error")
    except OSError as error:
        why = error.strerror or type(error).__name__
        app.notify(f"The export could not be written into {folder}: {why}.", markup=False, severity="error")
    else:
        app.notify(f"Exported to {path} ({size(length)}).", markup=False, timeout=10)


def _write(
    folder: Path, report: str, settings: Any, known: frozenset[str], stop: Stop = NEVER
) -> tuple[Path, int]:
    # Its parts are needed only here.
    from ua_tui.core.knowledge.place import place_of
    from ua_tui.tui.export.formats import write_export

    settings = settings if settings is not None else load_settings({"workspace_base": folder.parent.parent})
    redactor = Redactor((*secrets(settings, os.environ), *known))
    path = write_export(folder, redactor, report=report, knowledge=place_of(settings), stop=stop)
    return path, path.stat().st_size
