"""Which knowledge base and which of its sessions the options of a command name."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ua_tui.core.errors import SettingsError
from ua_tui.core.history.lookup import find_session
from ua_tui.core.knowledge.index.database import open_reader, reporting
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key, is_made, place_of, shown_place
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
    if must_exist and not is_made(path):
        if not settings.workspace_base.is_dir():
            raise SettingsError(f"there is no folder {clean_line(str(settings.workspace_base), 700)}")
        raise SettingsError(
            f"there is no knowledge base {clean_line(shown_place(path), 700)}: `ua-tui knowledge update` makes it "
            "from the sessions there, as every session does by itself"
        )
    return path


def session_key(database: KnowledgePlace, base: Path, wanted: str) -> str:
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
        # Those of a team have the names of their machines.
        named = [key for key in known if key.rpartition("/")[2] in (wanted, f"session_{wanted}")]
        if len(named) == 1:
            return named[0]
        raise


def _sessions(database: KnowledgePlace) -> set[str]:
    if isinstance(database, Address):
        with KnowledgeStore(database) as store:
            return {*store.cursors()}
    with reporting(database, "read"), closing(open_reader(database)) as connection:
        return {folder for (folder,) in connection.execute("SELECT folder FROM session")}
