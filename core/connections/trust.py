"""Trust in the servers of a folder: each is shown to the user, with its command, before it is ever started.

Trust belongs to a folder and one configuration, known by its fingerprint: the user is asked again about any change.
`ServerTrust` stores the decisions, and `UserConnections` opens what is trusted in a session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ua_tui.core.connections.base import Connection, Connector, Expiry
from ua_tui.core.connections.user_servers import UnusableServer, UserServer, connection_to
from ua_tui.core.errors import ConnectionFailed, WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.trust import Acts, Answer, TrustDecision, TrustStore

if TYPE_CHECKING:
    from ua_tui.core.connections.oauth.headers import LoginHeaders


class ServerTrust:
    """What the user decided about servers, in the trust store of a state folder."""

    def __init__(self, state: Path | None = None) -> None:
        self._store = TrustStore(state)

    def decision(self, server: UserServer, folder: Path) -> Answer | None:
        """The decision about a server, None if there is none yet; servers of the user's own settings are trusted."""
        if not server.in_folder:
            return "trusted"
        found = self._find(server, folder)
        return found.answer if found is not None else None

    def decide(
        self, server: UserServer, folder: Path, decision: Answer | None, acts: Acts | None = None
    ) -> None:
        """Store the decision about a server, and where it acts if that is given; None makes the program ask again.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        where = folder if server.in_folder else None
        if decision is None:
            self._store.forget(where, server.fingerprint)
            return
        earlier = self._find(server, folder)
        self._store.store(
            TrustDecision(
                str(where or ""),
                decision,
                server=server.fingerprint,
                name=server.name,
                target=server.target,
                acts=acts or (earlier.acts if earlier is not None else None),
            )
        )

    def acts(self, server: UserServer, folder: Path) -> Acts | None:
        """Where the tools of a server act: as its file says, else as the user said; None if neither does."""
        found = self._find(server, folder) if server.acts is None else None
        return server.acts or (found.acts if found is not None else None)

    def _find(self, server: UserServer, folder: Path) -> TrustDecision | None:
        # What is said of a server of the user's own settings holds in every folder.
        return self._store.read(folder if server.in_folder else None, server.fingerprint)


class UserConnections(msgspec.Struct, eq=False):
    """Opens the user's servers by name.

    Args:
        found: the servers of all files, each name once.
        folder: the folder whose files they are; trust belongs to it.
        trust: the decisions so far.
        environ: fills in variables.
        logins: gives the headers for servers that a person logs in to.
        all_trusted: whether servers without a decision are trusted, because the folder is, for this run.
    """

    found: Sequence[UserServer | UnusableServer]
    folder: Path
    trust: ServerTrust
    environ: Mapping[str, str]
    logins: LoginHeaders | None = None
    all_trusted: bool = False
    _by_name: dict[str, UserServer | UnusableServer] = {}
    _acts: dict[str, Acts | None] = {}

    def __post_init__(self) -> None:
        self._by_name = {each.name: each for each in self.found}

    @property
    def connectors(self) -> dict[str, Connector]:
        """The function that opens each server."""
        return {name: partial(self._open, name) for name in self._by_name}

    @property
    def in_folder(self) -> dict[str, str]:
        """The decision about each server that the folder names, `undecided` if there is none."""
        servers = (each for each in self._by_name.values() if isinstance(each, UserServer) and each.in_folder)
        return {each.name: self._decision(each) or "undecided" for each in servers}

    def acts(self, name: str) -> Acts | None:
        """Where the tools of a server act; None if it is one of the user's, and nobody has said."""
        return self._acts.get(name, "outside")

    def describe(self, name: str, acts: Acts) -> None:
        """Store what the user said of a server that is open: for this session, if it cannot be stored."""
        self._acts[name] = acts
        server = self._by_name[name]
        try:
            # A server that is trusted for this run alone is not trusted by an answer about it.
            if isinstance(server, UserServer) and self.trust.decision(server, self.folder) == "trusted":
                self.trust.decide(server, self.folder, "trusted", acts)
        except WorkspaceError as error:
            log.warning("where %s acts is known for this session only: %s", name, error)

    async def _open(self, name: str) -> Connection:
        server = self._by_name[name]
        if isinstance(server, UnusableServer):
            return Connection(note=server.problem, status="failed")
        self._acts[name] = self._acts.get(name) or self.trust.acts(server, self.folder)
        match self._decision(server):
            case "trusted":
                try:
                    return self._with_login(connection_to(server, self.environ, self.folder))
                except ConnectionFailed as error:
                    return Connection(note=str(error), status="failed")
            case "refused":
                again = f"to be asked again, run `ua-tui servers forget {name}`"
                return Connection(note=f"{server.shown_name} is not used because you refused it: {again}")
            case _:
                note = f"{server.shown_name} is not trusted yet: run `ua-tui servers trust {name}`"
                return Connection(note=note, status="untrusted")

    def _with_login(self, connection: Connection) -> Connection:
        if connection.login is None or self.logins is None:
            return connection
        helper = {"headersHelper": self.logins.command(connection.login)}
        servers = {name: {**config, **helper} for name, config in connection.servers.items()}
        # Over SSE the agent does not ask for another token when one has expired.
        is_asked_again = connection.login.transport != "sse"
        expiry = None if is_asked_again else Expiry(lambda error: "(HTTP 401)" in error, _never_over)
        headers = partial(self.logins.headers, connection.login.name)
        return replace(connection, servers=servers, expiry=expiry, headers=headers)

    def _decision(self, server: UserServer) -> Answer | None:
        decision = self.trust.decision(server, self.folder)
        return "trusted" if decision is None and self.all_trusted else decision


async def _never_over() -> bool:
    """Its configuration never has to change: connecting again is enough."""
    return False
