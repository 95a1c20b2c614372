"""The sites that a web reader cannot read: a strike lists a site for a day, three in thirty days for thirty days.

The list is one JSON file beside the sessions, shared by every program that runs there. Whoever changes it holds
a lock on a file of its own and replaces the whole; whoever reads it needs no lock.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.net.addresses import ascii_host
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader.errors import ReaderError

BLACKLIST = "webReader_blacklist.json"
STRIKES = 3
LIFETIME = timedelta(days=30)
FIRST_LIFETIME = timedelta(days=1)

_LOCK = ".webReader_blacklist.lock"
_MAX_FILE = 8 << 20
_MOST_HOSTS = 2_000
_WAIT = 10.0
_HOST = re.compile(r"[a-z0-9_.:-]{1,253}")
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]
_CACHE_KEY = tuple[int, int, int]

log = logging.getLogger(__name__)


class Strike(msgspec.Struct, frozen=True, kw_only=True):
    """One error that counts against a site: when, the reader's code, the page, and the call it came from."""

    at: _Moment
    code: str
    url: str
    tool_use_id: str


class _Site(msgspec.Struct):
    strikes: Annotated[list[Strike], msgspec.Meta(min_length=1)]
    listed_since: _Moment | None = None
    expires: _Moment | None = None


class _File(msgspec.Struct):
    hosts: dict[str, _Site]
    cleared: dict[str, _Moment] = {}


@dataclass(frozen=True, slots=True)
class Listing:
    """The state of a site: its strikes, oldest first, and from when until when it is listed, if it is."""

    host: str
    strikes: tuple[Strike, ...]
    since: datetime | None
    expires: datetime | None

    @property
    def listed(self) -> bool:
        """Whether the site is skipped."""
        return self.expires is not None

    @property
    def last_error(self) -> str:
        """The last error of the site in words, with its code."""
        code = clean_line(self.strikes[-1].code, 20)
        return f"{ReaderError(code, certain=True).meaning} ({code})"

    @property
    def reason(self) -> str:
        """Why a page of the site is not read, and how the user can change that: one line without foreign text."""
        until = f" until {self.expires:%Y-%m-%d}" if self.expires is not None else ""
        return (
            f"its site is on the web reader's blacklist{until}, after {quantity(len(self.strikes), 'error')}; "
            f"the user can take it off: ua-tui blacklist clear {self.host}"
        )


def host_of(url: str) -> str | None:
    """The site of a web address, normalised: lower case, ASCII, without `www.`.

    A bare host is taken, too. None when there is no host in it.
    """
    url = url.strip()
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    if parts.scheme.lower() not in {"http", "https"}:
        return None
    encoded = ascii_host(host)
    if encoded is None:
        return None
    bare = encoded.removeprefix("www.")
    site = bare if "." in bare else encoded
    return site if _HOST.fullmatch(site) else None


def _now() -> datetime:
    return datetime.now(UTC)


class Blacklist:
    """The list in one folder. Safe to use from several threads and processes.

    A damaged file is set aside under a name that begins with the list's own and goes on with `.corrupt-`, and
    the list begins anew.
    """

    def __init__(
        self, folder: Path, redactor: Redactor | None = None, now: Callable[[], datetime] = _now
    ) -> None:
        self.path = folder / BLACKLIST
        self._folder = folder
        self._redactor = redactor if redactor is not None else Redactor()
        self._now = now
        self._cache: tuple[_CACHE_KEY | None, _File] = (None, _File({}))
        self._caching = threading.Lock()

    @classmethod
    def for_session(cls, workspace: Workspace, now: Callable[[], datetime] = _now) -> Blacklist:
        """The list of a session: next to the folders of sessions, or inside any other folder."""
        parent = workspace.path.parent
        return cls(parent if parent.name == WORKSPACES else workspace.path, workspace.redactor, now)

    def entries(self) -> list[Listing]:
        """Every site with a strike that still counts: the listed ones first, the newest of each first.

        Raises:
            WorkspaceError: the file is there and cannot be read.
        """
        file = self._read(_WAIT)
        found = [_listing(host, site) for host, site in _pruned(file, self._now()).hosts.items()]
        return sorted(found, key=lambda each: (not each.listed, -each.strikes[-1].at.timestamp(), each.host))

    def find(self, url: str) -> Listing | None:
        """The listing of a page's site, if it is listed; fast, and never raises.

        The file is read again only when it has changed.
        """
        host = host_of(url)
        if host is None:
            return None
        try:
            site = self._cached().hosts.get(host)
        except WorkspaceError as error:
            log.warning("the web reader's blacklist is not used: %s", error)
            return None
        if site is None or site.expires is None or site.expires <= self._now():
            return None
        return _listing(host, site)

    def strike(self, url: str, code: str, tool_use_id: str, at: datetime | None = None) -> Listing | None:
        """Count an error against the site of `url`; returns the new state of the site.

        None when it does not count: the address has no host, the call was counted before, or the error is
        older than the strikes that count or than the moment the user cleared the site.

        Raises:
            WorkspaceError: the list cannot be locked, read or written.
        """
        host, now = host_of(url), self._now()
        at = min(at or now, now).astimezone(UTC)
        if host is None or now - at >= LIFETIME:
            return None
        root = Root(self._folder, create=True)
        with self._locked(_WAIT):
            file = _pruned(self._load(root), now)
            cleared = file.cleared.get(host)
            site = file.hosts.get(host) or _Site([])
            tool_use_id = clean_line(tool_use_id, 100)
            if (cleared is not None and at <= cleared) or any(
                strike.tool_use_id == tool_use_id for strike in site.strikes
            ):
                return None
            shown = clean_line(self._redactor.redact(url), 1_000)
            site.strikes.append(Strike(at=at, code=clean_line(code, 20), url=shown, tool_use_id=tool_use_id))
            site.strikes = sorted(site.strikes, key=lambda strike: strike.at)[-20:]
            latest = site.strikes[-1].at
            expires = latest + (LIFETIME if len(site.strikes) >= STRIKES else FIRST_LIFETIME)
            if expires > max(now, site.expires or now):
                site.listed_since, site.expires = latest, expires
            file.hosts[host] = site
            self._write(root, file)
            return _listing(host, site)

    def clear(self, host: str | None = None) -> list[str]:
        """Remove one site, or all, with their strikes; returns what was removed.

        Errors from before this moment do not count against them again.

        Raises:
            WorkspaceError: the list cannot be locked, read or written.
        """
        if not self._folder.is_dir():
            return []
        wanted = host_of(host) if host is not None else None
        with self._locked(_WAIT):
            root = Root(self._folder)
            now = self._now()
            file = _pruned(self._load(root), now)
            gone = [each for each in sorted(file.hosts) if host is None or each == wanted]
            for each in gone:
                del file.hosts[each]
                file.cleared[each] = now
            if gone:
                self._write(root, file)
        return gone

    def _cached(self) -> _File:
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return _File({})
        key = (found.st_mtime_ns, found.st_size, found.st_ino)
        with self._caching:
            if self._cache[0] != key:
                self._cache = (key, self._read(0.0))
            return self._cache[1]

    def _read(self, wait: float) -> _File:
        if not self._folder.is_dir():
            return _File({})
        root = Root(self._folder)
        try:
            return _decode(root)
        except _Corrupt:
            with self._locked(wait):
                return self._load(root)

    def _load(self, root: Root) -> _File:
        """Read the list, and rename a damaged file; the lock is held."""
        try:
            return _decode(root)
        except _Corrupt as error:
            aside = f"{BLACKLIST}.corrupt-{self._now():%Y%m%d%H%M%S%f}"
            try:
                os.rename(root.path / BLACKLIST, root.path / aside)
            except OSError as failure:
                raise WorkspaceError(
                    f"the blacklist {self.path} is damaged and cannot be set aside: {failure.strerror}; remove it"
                ) from failure
            log.warning("the web reader's blacklist was damaged (%s): it is now %s, and empty", error, aside)
            return _File({})

    def _write(self, root: Root, file: _File) -> None:
        if len(file.hosts) > _MOST_HOSTS:
            ranked = sorted(
                file.hosts.items(), key=lambda each: (each[1].expires is not None, each[1].strikes[-1].at)
            )
            file.hosts = dict(ranked[-_MOST_HOSTS:])
        root.write(
            BLACKLIST, msgspec.json.format(msgspec.json.encode(file, order="sorted"), indent=2) + b"\n"
        )

    @contextmanager
    def _locked(self, wait: float) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = -1
        try:
            descriptor = os.open(self._folder / _LOCK, flags, 0o600)
            _lock(descriptor, wait)
            yield
        except OSError as error:
            raise WorkspaceError(
                f"cannot lock the blacklist {self.path}: {error.strerror or error}; "
                "check the folder's permissions, or end the program that holds the lock"
            ) from error
        finally:
            if descriptor >= 0:
                os.close(descriptor)


class _Corrupt(Exception):
    """The file is not a valid list; the message says why."""


def _decode(root: Root) -> _File:
    try:
        data = root.read(BLACKLIST, _MAX_FILE + 1)
    except PathRefused as error:
        raise _Corrupt("it is not a regular file") from error
    except WorkspaceError as error:
        match error.__cause__:
            case FileNotFoundError():
                return _File({})
            case IsADirectoryError():
                raise _Corrupt("it is a folder") from error
            case _:
                raise
    if len(data) > _MAX_FILE:
        raise _Corrupt(f"it is larger than {_MAX_FILE:,} bytes")
    try:
        return msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _Corrupt(clean_line(str(error), 200)) from error


def _lock(descriptor: int, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _pruned(file: _File, now: datetime) -> _File:
    """The list without expired strikes and listings."""
    hosts: dict[str, _Site] = {}
    for host, site in file.hosts.items():
        if site.expires is not None and site.expires > now:
            hosts[host] = site
        elif strikes := [strike for strike in site.strikes if now - strike.at < LIFETIME]:
            hosts[host] = _Site(strikes)
    return _File(hosts, {host: at for host, at in file.cleared.items() if now - at < LIFETIME})


def _listing(host: str, site: _Site) -> Listing:
    return Listing(host, tuple(site.strikes), site.listed_since, site.expires)
