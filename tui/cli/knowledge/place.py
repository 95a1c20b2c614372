"""Which knowledge base and which of its sessions the options of a command name."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.units import quantity
from ua_tui.core.history.lookup import find_session
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key, place_of, version_of
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line


def find_database(settings: Settings, *, must_exist: bool = True) -> KnowledgePlace:
    """Return where the knowledge base is.

    Raises:
        SettingsError: it is turned off, or missing although it must exist.
    """
    path = place_of(settings)
    if path is None:
        raise SettingsError("the knowledge base is off; `ua-tui config set knowledge on` turns it on")
    if must_exist and version_of(path) is None:
        if not settings.workspace_base.is_dir():
            raise SettingsError(f"there is no folder {clean_line(str(settings.workspace_base), 700)}")
        raise SettingsError(
            f"there is no knowledge base {clean_line(str(path), 700)}: the next session makes it, "
            "or `ua-tui knowledge update` from the sessions that are there"
            + (f"; {of_team}" if (of_team := team_advice(settings)) else "")
        )
    return path


def team_advice(settings: Settings) -> str:
    """How to search what a team found; empty if there is no team, or its knowledge base is searched already."""
    if not settings.team or isinstance(settings.knowledge, Address):
        return ""
    return f"`ua-tui config set knowledge {clean_line(settings.team, 700)}` searches that of the team"


def unread_sessions(place: KnowledgePlace, base: Path) -> str:
    """A sentence on sessions that may have more than was found; empty if all are indexed."""
    unread = len(read_status(place, base).lagging)
    of = quantity(unread, "session")
    return f"{of} may have more, not indexed yet: `ua-tui knowledge update` does it" if unread else ""


def session_key(database: KnowledgePlace, base: Path, wanted: str) -> str:
    """Return the session that a person names, as the knowledge base does; its folder may be gone.

    Raises:
        SettingsError: there is no such session.
        KnowledgeError: the knowledge base cannot be read.
    """
    try:
        return folder_key(database, find_session(base, wanted))
    except SettingsError:
        with closing(open_store(database, read_only=True)) as reader, reader.reading():
            known: set[str] = {folder for folder, *_ in reader.rows("cursors")}
        for key in (wanted, f"session_{wanted}", str(Path(wanted).absolute()), Path(wanted).name):
            if key in known:
                return key
        # Those of a team have the names of their machines.
        named = [key for key in known if key.rpartition("/")[2] in (wanted, f"session_{wanted}")]
        if len(named) == 1:
            return named[0]
        raise
