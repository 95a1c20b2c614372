"""Which session of the team an ordinary session is: a record in its folder, so that it stays the same when resumed."""

from __future__ import annotations

import logging
from uuid import uuid4

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.workspace import TEAM, Workspace
from ua_tui.core.team.records import SessionId

log = logging.getLogger(__name__)

_LARGEST = 64 << 10


class _Record(msgspec.Struct):
    id: str
    attempt: int = 1


def next_identity(workspace: Workspace) -> SessionId:
    """The identity of a session that begins or is resumed: the recorded one with the next attempt, or a new one."""
    identity = new_identity()
    if workspace.exists(TEAM):
        try:
            found = msgspec.json.decode(workspace.read(TEAM, _LARGEST), type=_Record)
            identity = SessionId(id=found.id, attempt=found.attempt + 1)
        except (WorkspaceError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("the record %s cannot be read, the session gets another one: %s", TEAM, error)
    store_identity(workspace, identity)
    return identity


def new_identity() -> SessionId:
    """An identity that no session has."""
    return SessionId(id=uuid4().hex)


def store_identity(workspace: Workspace, identity: SessionId) -> None:
    """Record the identity in the session's folder; if that fails, a resumed session gets another one."""
    try:
        workspace.write_json(TEAM, {"id": identity.id, "attempt": identity.attempt})
    except WorkspaceError as error:
        log.warning("%s", error)
