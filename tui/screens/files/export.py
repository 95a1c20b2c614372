"""Exports a session or a table from a screen, in a thread, and reports where the file is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widgets.option_list import Option

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import UniversalAgentError, WorkspaceError
from ua_tui.core.events.units import size
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import secrets
from ua_tui.core.storage.files import Root, Written
from ua_tui.core.storage.folders import SAVED_REPORTS
from ua_tui.core.storage.paths import safe_name
from ua_tui.tui.screens.files.headings import ChoiceScreen
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.export.formats import ExportFormat

_SLOW_SECONDS = 1.0
"""The time after which one is told that an export is running."""
_FORMATS: Mapping[ExportFormat, str] = {
    "html": "HTML: one page with report, evidence and conversation",
    "pdf": "PDF: the report with its references",
    "docx": "DOCX: the same for Word or LibreOffice",
    "md": "Markdown: report, evidence and conversation",
    "json": "JSON: all of it as data",
}


async def save_csv(app: App[Any], name: str, text: Callable[[], str], *, is_whole: bool = True) -> None:
    """Write a table into the saved reports, and say where it is, and whether the file of it has more rows."""

    def write() -> Written:
        masked = redactor_of(app).redact(text())
        folder = Root(settings_of(app).workspace_base / SAVED_REPORTS, create=True)
        return folder.write_new(safe_name(f"{name}.csv"), masked.encode("utf-8", "replace"))

    try:
        written = await in_thread(write)
    except WorkspaceError as error:
        app.notify(f"Not exported: {error}", severity="error")
    else:
        path = f"{SAVED_REPORTS}/{written.path}"
        rest = "" if is_whole else ", only the rows that are loaded"
        app.notify(f"Exported to {path} ({size(written.size)}{rest}).", timeout=10)


def export_session(app: App[Any], folder: Path, report: str = "") -> None:
    """Ask for a format, and export the session in `folder`; `report` names one, empty for the newest.

    The work goes on when the screen is closed, and notifications say how it ends. While it runs, the same is not begun
    again.
    """

    def chosen(form: ExportFormat | None) -> None:
        if form is None:
            return
        name = f"export {folder} {report} {form}"
        if not any(worker.name == name and not worker.is_finished for worker in app.workers):
            start_job(app, _export, "export", app, folder, report, form, name=name, replacing=False)

    rows = LetterKeyList(*map(Option, _FORMATS.values()), id="formats")
    app.push_screen(ChoiceScreen("Export as", rows, list(_FORMATS), "export"), chosen)


async def _export(app: App[Any], folder: Path, report: str, form: ExportFormat) -> None:
    work = partial(_write, app, folder, report, form)
    notify = partial(app.notify, "Exporting…", timeout=3)
    slow = asyncio.get_running_loop().call_later(_SLOW_SECONDS, notify)
    try:
        path, length = await in_thread(work)
    except UniversalAgentError as error:
        app.notify(f"Not exported: {error}", severity="error", timeout=20)
    except OSError as error:
        why = error.strerror or type(error).__name__
        app.notify(f"The export could not be written into {folder}: {why}.", severity="error")
    else:
        app.notify(f"Exported to {path.parent.name}/{path.name} ({size(length)}).", timeout=10)
    finally:
        slow.cancel()


def settings_of(app: App[Any]) -> Settings:
    """The settings of an application of this program."""
    settings: Settings = app.settings  # type: ignore[attr-defined]  # each of them has some
    return settings


def redactor_of(app: App[Any]) -> Redactor:
    """What masks the secrets of the settings, and those that the session of this program has learned."""
    workspace = getattr(getattr(app, "session", None), "workspace", None)
    known: frozenset[str] = getattr(getattr(workspace, "redactor", None), "values", frozenset())
    return Redactor((*secrets(settings_of(app), os.environ), *known))


def _write(app: App[Any], folder: Path, report: str, form: ExportFormat) -> tuple[Path, int]:
    # Its parts are needed only here.
    from ua_tui.core.knowledge.place import place_of
    from ua_tui.tui.export.formats import read_export

    knowledge = place_of(settings_of(app))
    path = read_export(folder, redactor_of(app), report, knowledge=knowledge).save(form)
    return path, path.stat().st_size
