"""Which knowledge base and which of its sessions the options of a command name."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from core.errors import SettingsError
from core.history.lookup import find_session
from core.knowledge.database import database_path, open_reader
from core.knowledge.folders import folder_key
from core.knowledge.problems import reporting
from core.settings.loading import load_settings
from core.settings.model import Settings
from core.text import clean_line

__all__ = ["find_database", "session_key", "settings_of"]


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings for the folder of the sessions that was given.

    Raises:
        SettingsError: a setting is wrong.
    """
    return load_settings({"workspace_base": Path(args.workspace) if args.workspace else None})


def find_database(settings: Settings, *, must_exist: bool = True) -> Path:
    """Return the file of the knowledge base.

    Raises:
        SettingsError: it is turned off, or missing although it must exist.
    """
    path = database_path(settings)
    if path is None:
        raise SettingsError("the knowledge base is off; `ua-tui config set knowledge on` turns it on")
    if must_exist and not path.exists():
        raise SettingsError(
            f"there is no knowledge base {clean_line(str(path), 700)}: `ua-tui knowledge update` makes it from the "
            "sessions there, as every session does by itself"
        )
    return path


def session_key(database: Path, base: Path, wanted: str) -> str:
    """Return the session that a person names, as the knowledge base does; its folder may be gone.

    Raises:
        SettingsError: there is no such session.
        KnowledgeError: the knowledge base cannot be read.
    """
    try:
        return folder_key(database, find_session(base, wanted))
    except SettingsError:
        known = _sessions(database)
        for key in (wanted, f"session_{wanted}", str(Path(wanted).absolute()), Path(wanted).name):
            if key in known:
                return key
        raise


def _sessions(database: Path) -> set[str]:
    with reporting(database, "read"), closing(open_reader(database)) as connection:
        return {folder for (folder,) in connection.execute("SELECT folder FROM session")}
