"""Where logins are stored: in the system's keyring, or else in a file that only the user can read."""

from __future__ import annotations

import fcntl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ua_tui.core.concurrency.threads import apart
from ua_tui.core.connections.oauth.target import LoginTarget
from ua_tui.core.errors import ConnectionFailed, WorkspaceError, missing_extra
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import JsonStore, open_lock

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend


_SERVICE = "ua-tui"
_SECONDS = 8.0
"""Seconds that a keyring may take: one that is locked may wait for its owner."""

LoginState = Literal["logged in", "expired", "no login"]


class StoredLogin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login: its tokens, and what renewing it takes.

    `client` is the registration of this program, `server` the metadata of the authorization server, and `resource` that
    of the MCP server, each as the `mcp` package reads them. `expires_at` is in seconds since 1970.
    """

    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None
    scope: str | None = None
    client: JsonObject = {}
    server: JsonObject | None = None
    resource: JsonObject | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that are masked everywhere."""
        values = (self.access_token, self.refresh_token, self.client.get("client_secret"))
        return tuple(value for value in values if value)

    def is_over(self, within: float = 0.0) -> bool:
        """Whether the access token has expired, or expires within so many seconds."""
        return self.expires_at is not None and time.time() + within >= self.expires_at


class _Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the file has of a login; without `login` that is in the keyring. `lacks` is the scope that it lacks."""

    host: str
    at: str
    until: float | None = None
    renewed: bool = False
    lacks: str = ""
    login: StoredLogin | None = None


def system_keyring() -> KeyringBackend | None:
    """The keyring of this desktop; None if there is none, or only one that would ask on the terminal or is a file.

    Raises:
        ModuleNotFoundError: the extra `keyring` is not installed.
    """
    import keyring

    found = keyring.get_keyring()
    for backend in getattr(found, "backends", (found,)):
        if type(backend).__module__ in _TRUSTED_KEYRINGS:
            return backend
    return None


_TRUSTED_KEYRINGS = frozenset(
    f"keyring.backends.{name}" for name in ("SecretService", "kwallet", "libsecret", "macOS")
)


class LoginStore:
    """The logins of the user, for all folders and sessions.

    Args:
        state: the folder of the file, by default the state folder of the program.
        find_keyring: finds the keyring.
    """

    def __init__(
        self, state: Path | None = None, find_keyring: Callable[[], KeyringBackend | None] = system_keyring
    ) -> None:
        self._store = JsonStore((state or state_folder()) / "logins.json", dict[str, _Entry])
        self._find_keyring = find_keyring

    def state_of(self, target: LoginTarget) -> LoginState:
        """Whether there is a login, as the file says; the keyring is not opened."""
        entry = self._read().get(target.key)
        if entry is None:
            return "no login"
        over = not entry.renewed and entry.until is not None and entry.until <= time.time()
        return "expired" if over else "logged in"

    def made_at(self, target: LoginTarget) -> str:
        """When the login was stored; empty if there is no valid one."""
        entry = self._read().get(target.key)
        return entry.at if entry is not None and self.state_of(target) == "logged in" else ""

    def note_scope(self, target: LoginTarget, scope: str) -> None:
        """Note the scope that the login to a server lacks, until the next one is stored.

        Raises:
            WorkspaceError: the file cannot be read or written.
        """
        with self._store.changed() as entries:
            if (entry := entries.get(target.key)) is not None:
                entries[target.key] = msgspec.structs.replace(entry, lacks=scope)

    def lacks(self, target: LoginTarget) -> str:
        """The scope that the login to a server lacks."""
        entry = self._read().get(target.key)
        return entry.lacks if entry is not None else ""

    async def load(self, target: LoginTarget) -> StoredLogin | None:
        """The login for a server, None if there is none.

        Raises:
            ConnectionFailed: it is in a keyring that does not answer or has lost it.
            WorkspaceError: the file cannot be read.
        """
        entry = self._store.read().get(target.key)
        if entry is None or entry.login is not None:
            return entry.login if entry is not None else None
        try:
            text = await apart(partial(self._from_keyring, target.key), _SECONDS)
            return msgspec.json.decode(text, type=StoredLogin)
        except ModuleNotFoundError as error:
            missing = missing_extra("keyring", "reading its login from the keyring")
            raise ConnectionFailed(missing, code="keyring") from error
        except TimeoutError as error:
            raise ConnectionFailed(
                "the keyring with its login did not answer: unlock it", code="keyring"
            ) from error
        except Exception as error:
            log.warning("the keyring gave no login for %s: %s", entry.host, type(error).__name__)
            raise ConnectionFailed(
                "the keyring no longer has its login: log in again", code="keyring"
            ) from error

    async def save(self, target: LoginTarget, login: StoredLogin) -> Literal["keyring", "file"]:
        """Store a login in place of an earlier one; returns where it is.

        Raises:
            WorkspaceError: it cannot be stored, or the file cannot be read and would be overwritten.
        """
        in_keyring = await self._to_keyring(target.key, login)
        entry = _Entry(
            host=target.host,
            at=datetime.now(UTC).isoformat(),
            until=login.expires_at,
            renewed=login.refresh_token is not None,
            login=None if in_keyring else login,
        )
        with self._store.changed() as entries:
            entries[target.key] = entry
        return "keyring" if in_keyring else "file"

    async def forget(self, target: LoginTarget) -> bool:
        """Delete the login for a server; returns whether there was one.

        Raises:
            WorkspaceError: the file cannot be read or written.
        """
        with self._store.changed() as entries:
            entry = entries.pop(target.key, None)
        if entry is not None and entry.login is None:
            try:
                await apart(partial(self._remove_from_keyring, target.key), _SECONDS)
            except Exception as error:
                log.warning("the keyring kept the login for %s: %s", entry.host, type(error).__name__)
        return entry is not None

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[None]:
        """Wait until no other session renews a login: a refresh token may be valid only once.

        Raises:
            ConnectionFailed: one takes too long.
            WorkspaceError: the lock cannot be made.
        """
        with open_lock(self._store.path.with_name("logins-renewal.lock")) as descriptor:
            try:
                await apart(partial(fcntl.flock, descriptor, fcntl.LOCK_EX), _SECONDS)
            except TimeoutError as error:
                raise ConnectionFailed("another session is renewing the login: try again") from error
            yield

    def _from_keyring(self, key: str) -> str:
        keyring = self._find_keyring()
        text = keyring.get_password(_SERVICE, key) if keyring is not None else None
        if text is None:
            raise LookupError(key)
        return text

    def _remove_from_keyring(self, key: str) -> None:
        if (keyring := self._find_keyring()) is not None:
            keyring.delete_password(_SERVICE, key)

    async def _to_keyring(self, key: str, login: StoredLogin) -> bool:
        def store() -> bool:
            keyring = self._find_keyring()
            if keyring is None:
                return False
            keyring.set_password(_SERVICE, key, msgspec.json.encode(login).decode())
            return True

        try:
            return await apart(store, _SECONDS)
        except Exception as error:
            # The libraries of keyrings raise what they like; the file is there in any case.
            log.info("the keyring is not used: %s", type(error).__name__)
            return False

    def _read(self) -> Mapping[str, _Entry]:
        """What the file has; nothing if it cannot be read."""
        try:
            return self._store.read()
        except WorkspaceError as error:
            log.warning("%s", error)
            return {}
