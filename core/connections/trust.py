"""The user's own MCP servers in a session: opened when they are trusted, and asked about when a folder names them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from core.connections.base import Connection
from core.connections.server_trust import ServerTrust
from core.connections.user_servers import OwnServer, Unusable, connection_to
from core.errors import ConnectionFailed
from core.events.types import Event, ServerTrustAnswered, ServerTrustAsked
from core.text import clean

__all__ = ["OwnConnections"]


class OwnConnections:
    """Opens each server by its name, and keeps what the person says of those that are not theirs.

    Args:
        found: what the files say, in the order that names count in.
        folder: the folder whose files they are; trust belongs to it.
        trust: what was decided before.
        environ: fills in variables.
        publish: takes what is asked and answered.
        interactive: whether there is anybody to be asked.
    """

    def __init__(
        self,
        found: Sequence[OwnServer | Unusable],
        folder: Path,
        trust: ServerTrust,
        *,
        environ: Mapping[str, str],
        publish: Callable[[Event], object],
        interactive: bool,
    ) -> None:
        self._found = {each.name: each for each in reversed(found)}
        self._folder = folder
        self._trust = trust
        self._environ = environ
        self._publish = publish
        self._interactive = interactive
        self._waiting: dict[str, OwnServer] = {}
        self._begun = False

    @property
    def connectors(self) -> dict[str, Callable[[], Awaitable[Connection]]]:
        """What opens each."""
        return {name: partial(self._open, name) for name in reversed(self._found)}

    def ask(self) -> None:
        """Ask about each server that nobody has decided on, and from now on about one that is wanted again."""
        self._begun = True
        for server in reversed(self._found.values()):
            if isinstance(server, OwnServer) and self._interactive and self._decision(server) is None:
                self._ask(server)

    def answer(self, name: str, decision: Literal["trusted", "refused", "not_now"]) -> bool:
        """Keep what the person says of a server that was asked about; True when it may be opened now.

        Raises:
            WorkspaceError: it cannot be kept; then it is as if nothing had been said.
        """
        server = self._waiting.get(name)
        if server is None:
            return False
        if decision != "not_now":
            self._trust.decide(server, self._folder, decision)
        del self._waiting[name]
        self._publish(ServerTrustAnswered(server=name, decision=decision))
        return decision == "trusted"

    async def _open(self, name: str) -> Connection:
        server = self._found[name]
        if isinstance(server, Unusable):
            return Connection(note=server.problem, status="failed")
        match self._decision(server):
            case "trusted":
                try:
                    return connection_to(server, self._environ, self._folder)
                except ConnectionFailed as error:
                    return Connection(note=str(error), status="failed")
            case "refused":
                note = f"{self._named(server)} is not used, as you refused it: ua-tui servers forget {name}"
                return Connection(note=note)
            case None:
                if self._begun and self._interactive and name not in self._waiting:
                    self._ask(server)
                note = f"{self._named(server)} is used only once you have trusted it: ua-tui servers trust {name}"
                return Connection(note=note, status="untrusted")

    @staticmethod
    def _named(server: OwnServer) -> str:
        return f"{server.name} of {server.source}"

    def _decision(self, server: OwnServer) -> Literal["trusted", "refused"] | None:
        return self._trust.decision(server, self._folder)

    def _ask(self, server: OwnServer) -> None:
        self._waiting[server.name] = server
        self._publish(
            ServerTrustAsked(
                server=server.name,
                transport=server.transport,
                target=clean(server.target),
                given=[clean(each) for each in server.shown],
                source=clean(server.source),
            )
        )
