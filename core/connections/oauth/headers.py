"""Gives the agent the header with a login's token when it connects to a server, and again when a token is refused.

The agent runs a small program for that, which asks this one through a socket in a folder that only the user can enter:
no token is on a command line, in a variable or in a file of the agent.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ua_tui.core.connections.oauth.store import LoginStore, StoredLogin
from ua_tui.core.connections.oauth.target import LoginTarget
from ua_tui.core.errors import UniversalAgentError, WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.redaction.sharing import bound_socket
from ua_tui.core.tasks import end_tasks

_SOCKET = "logins"
_SECONDS = 9.0
"""The agent waits ten."""

_ASK = """
import os, socket, sys
os.chdir(sys.argv[1])
with socket.socket(socket.AF_UNIX) as asked:
    asked.settimeout(9.5)
    asked.connect("logins")
    asked.sendall(f"{sys.argv[2]}\\n".encode())
    with asked.makefile("rb") as answer:
        sys.stdout.buffer.write(answer.read())
"""
"""Prints the headers for the server that it is given the name of."""

_NO_LOGIN = {"Authorization": ""}
"""Servers take an empty header for none. Without one the agent would try to log in by itself, and would remember for a
quarter of an hour that it cannot."""


class LoginHeaders:
    """The headers with the tokens of the servers of a session.

    Args:
        folder: where the socket is created; only the user can enter it.
        learn: called with each token before it is given, so that it is masked.
        store: has the logins.
    """

    def __init__(self, folder: Path, learn: Callable[[str], object], store: LoginStore | None = None) -> None:
        self._folder = folder
        self._learn = learn
        self._store = store or LoginStore()
        self._targets: dict[str, LoginTarget] = {}
        self._given: dict[str, str] = {}
        self._renewals: set[asyncio.Task[StoredLogin | None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to answer.

        Raises:
            OSError: the socket cannot be created.
        """
        listening = bound_socket(self._folder / _SOCKET)
        self._server = await asyncio.start_unix_server(self._answer, sock=listening)

    async def close(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.close()
        await end_tasks(*self._renewals)

    def command(self, target: LoginTarget) -> str:
        """The command that prints the headers for a server."""
        self._targets[target.name] = target
        return shlex.join([sys.executable, "-I", "-S", "-c", _ASK, str(self._folder), target.name])

    def made_at(self, name: str) -> str:
        """When the login to a server was stored, by whatever program; empty if there is no valid one."""
        target = self._targets.get(name)
        return self._store.made_at(target) if target is not None else ""

    def note_scope(self, name: str, scope: str) -> None:
        """Note the scope that the login to a server lacks: the next login asks for it, too."""
        if (target := self._targets.get(name)) is not None:
            try:
                self._store.note_scope(target, scope)
            except WorkspaceError as error:
                log.warning("the next login to %s asks for no more rights than before: %s", name, error)

    async def headers(self, name: str, *, by_agent: bool = False) -> dict[str, str]:
        """The headers for a server; none if there is no valid login.

        The agent asks again only when it connects again: the token that it has may have been refused.
        """
        target = self._targets.get(name)
        if target is None:
            return {}
        refused = self._given.get(name) if by_agent else None
        # It continues after the time limit: a renewal that is cancelled may lose the login.
        from ua_tui.core.connections.oauth.flow import current_login

        work = asyncio.create_task(current_login(target, self._store, refused=refused))
        self._renewals.add(work)
        work.add_done_callback(self._renewals.discard)
        try:
            async with asyncio.timeout(_SECONDS):
                login = await asyncio.shield(work)
        except (UniversalAgentError, TimeoutError) as error:
            log.info("there is no login for the server %s: %s", name, error or "it took too long")
            return {}
        except (OSError, ValueError) as error:
            # Its text may have what is stored, which is not masked yet.
            log.warning("the login to the server %s cannot be used: %s", name, type(error).__name__)
            return {}
        if login is None:
            return {}
        for secret in login.secrets:
            self._learn(secret)
        if by_agent:
            self._given[name] = login.access_token
        return {"Authorization": f"Bearer {login.access_token}"}

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):
            name = (await reader.readline()).decode().rstrip("\n")
            headers = await self.headers(name, by_agent=True)
            writer.write(json.dumps(headers or _NO_LOGIN).encode())
            await writer.drain()
        writer.close()
