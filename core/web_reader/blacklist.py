"""The sites that a web reader cannot read: a strike lists a site for a day, three in thirty days for thirty days.

The list is one JSON file beside the sessions, shared by every program that runs there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.net.addresses import ascii_host
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader.errors import ReaderError

BLACKLIST = "webReader_blacklist.json"
STRIKES = 3
LIFETIME = timedelta(days=30)
FIRST_LIFETIME = timedelta(days=1)

_MOST_HOSTS = 2_000
_HOST = re.compile(r"[a-z0-9_.:-]{1,253}")
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]

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


class _File(msgspec.Struct, forbid_unknown_fields=True):
    hosts: dict[str, _Site] = {}
    cleared: dict[str, _Moment] = {}


class Listing(msgspec.Struct, frozen=True):
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
        lock = folder / ".webReader_blacklist.lock"
        self._store = JsonStore(self.path, _File, set_aside=True, lock=lock)
        self._redactor = redactor if redactor is not None else Redactor()
        self._now = now

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
        file = self._store.read()
        found = [_listing(host, site) for host, site in _counting(file, self._now()).items()]
        return sorted(found, key=lambda each: (not each.listed, -each.strikes[-1].at.timestamp(), each.host))

    def find(self, url: str) -> Listing | None:
        """The listing of a page's site, if it is listed; fast, and never raises.

        The file is read again only when it has changed.
        """
        host = host_of(url)
        if host is None:
            return None
        try:
            site = self._store.read().hosts.get(host)
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
        with self._store.changed() as file:
            _prune(file, now)
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
            if len(file.hosts) > _MOST_HOSTS:
                ranked = sorted(
                    file.hosts.items(), key=lambda each: (each[1].expires is not None, each[1].strikes[-1].at)
                )
                file.hosts = dict(ranked[-_MOST_HOSTS:])
            return _listing(host, site)

    def clear(self, host: str | None = None) -> list[str]:
        """Remove one site, or all, with their strikes; returns what was removed.

        Errors from before this moment do not count against them again.

        Raises:
            WorkspaceError: the list cannot be locked, read or written.
        """
        if not self.entries():
            return []
        wanted = host_of(host) if host is not None else None
        with self._store.changed() as file:
            now = self._now()
            _prune(file, now)
            gone = [each for each in sorted(file.hosts) if host is None or each == wanted]
            for each in gone:
                del file.hosts[each]
                file.cleared[each] = now
        return gone


def _prune(file: _File, now: datetime) -> None:
    """Remove expired strikes and listings."""
    file.hosts = _counting(file, now)
    file.cleared = {host: at for host, at in file.cleared.items() if now - at < LIFETIME}


def _counting(file: _File, now: datetime) -> dict[str, _Site]:
    hosts: dict[str, _Site] = {}
    for host, site in file.hosts.items():
        if site.expires is not None and site.expires > now:
            hosts[host] = site
        elif strikes := [strike for strike in site.strikes if now - strike.at < LIFETIME]:
            hosts[host] = _Site(strikes)
    return hosts


def _listing(host: str, site: _Site) -> Listing:
    return Listing(host, tuple(site.strikes), site.listed_since, site.expires)
