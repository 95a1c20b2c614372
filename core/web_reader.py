"""The web reader, a service that reads single pages: its errors, the policy for retries, and the sites it cannot read.

Its errors are recognised by their form, never by the text of a page. The real texts look like
`MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"..."}}"`, which is not JSON as a whole,
because the inner quotes are not escaped. With the code 1214 the reader rejected the address; with 1234 it lost its
network or ran out of time, and a retry may work.

Only the agent can call the reader, so a retry is advice that is added to the result. The advice is a fixed text without
any text of a tool or a page. A strike lists a site for a day, three in thirty days for thirty days. The list is one
JSON file beside the sessions, shared by every program that runs there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import WorkspaceError, advise
from ua_tui.core.events.units import quantity
from ua_tui.core.json_values import JsonMapping, text_in
from ua_tui.core.log import log
from ua_tui.core.net.addresses import ascii_host
from ua_tui.core.pipelines import AfterTool, BeforeTool, Pipelines, ToolErrored
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line, words_of

REFUSED = "1214"
TIMED_OUT = "1234"

MOST_RETRIES = 2

_MEANINGS = {TIMED_OUT: "timed out", REFUSED: "rejected the request"}
# For the agent: by code, for the first failure on a page, the second, and all others.
_ADVICE = {REFUSED: ("refused",), TIMED_OUT: ("late", "late_again", "always_late")}

# The prefixes that clients and servers add to the error of a tool.
_FAILING = r"\A(?:Error: )?(?:Error executing tool [A-Za-z0-9_-]{1,64}: )?"
_TRANSPORT = r"MCP error -?\d{1,6}: (?:[1-5]\d\d [A-Za-z][A-Za-z -]{0,40}: )?"
_ENVELOPE = r'\{\s*"error"\s*:\s*\{\s*"code"\s*:\s*"?(\d{3,5})"?\s*[,}]'


class ReaderError(msgspec.Struct, frozen=True):
    """An error of the reader: its code, and whether it certainly comes from the reader.

    Only a `certain` one may count against a site. Any other is a bare error document in a successful call, which could
    also be the text of a page.
    """

    code: str
    certain: bool

    @property
    def meaning(self) -> str:
        """What the code means, as a predicate of "the web reader"."""
        return _MEANINGS.get(self.code, "failed")


def is_web_reader(tool: str) -> bool:
    """Whether a tool is a web reader, by its name without the name of its server."""
    own = tool.rsplit("__", 1)[-1] if tool.startswith("mcp__") else tool
    return {"web", "reader"} <= set(words_of(re.sub(r"\d", "_", own)))


def page_of(arguments: JsonMapping) -> str | None:
    """The address in a call of a web reader."""
    return text_in(arguments, "url").strip() or None


def reader_error(text: str, *, failed: bool) -> ReaderError | None:
    """Parse an error of the reader; None when the text is anything other than one error.

    Args:
        text: the full result of the call.
        failed: whether the call itself failed.
    """
    text = text.strip()
    if failed:
        text = re.sub(_FAILING, "", text)
    if len(text) > 8_000:
        return None
    carried = re.match(_TRANSPORT, text)
    inner = _without_quotes(text[carried.end() :] if carried else text)
    code = _code_of(inner)
    return ReaderError(code, certain=failed or carried is not None) if code is not None else None


def _without_quotes(text: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text[1:-1].strip()
    return text_in(value).strip()


def _code_of(text: str) -> str | None:
    """The code at the beginning of an error; what follows it may be foreign text."""
    found = re.match(_ENVELOPE, text) if text.endswith("}") else None
    return found[1] if found else None


BLACKLIST = "webReader_blacklist.json"
STRIKES = 3
LIFETIME = timedelta(days=30)
FIRST_LIFETIME = timedelta(days=1)

_MOST_HOSTS = 2_000
_HOST = r"[a-z0-9_.:-]{1,253}"
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]


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
            f"the user can remove it with `ua-tui blacklist clear {self.host}`"
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
    return site if re.fullmatch(_HOST, site) else None


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


_PRIORITY = 50

_Ended = TypeVar("_Ended", AfterTool, ToolErrored)


class ReaderPolicy(msgspec.Struct, eq=False):
    """The rules of one session: at most two retries per page, and no call for a blacklisted site."""

    blacklist: Blacklist
    _timed_out: Counter[str] = msgspec.field(default_factory=Counter)

    def register(self, pipelines: Pipelines) -> None:
        """Register in a session's tool pipelines, for calls of web readers."""
        pipelines.register("tool.before_execute", self.before, _PRIORITY, tools=is_web_reader)
        pipelines.register("tool.after_execute", self.after, _PRIORITY, tools=is_web_reader)
        pipelines.register("tool.on_error", self.failed, _PRIORITY, tools=is_web_reader)

    def before(self, call: BeforeTool) -> BeforeTool:
        """Deny the call for a page whose site is on the blacklist."""
        url = page_of(call.input)
        listing = self.blacklist.find(url) if url is not None else None
        if listing is None or call.denied is not None:
            return call
        return replace(call, denied=f"This page was not read: {listing.reason}. Continue without it.")

    def after(self, call: AfterTool) -> AfterTool:
        """Add advice to an error in the text of a successful call."""
        text = call.observation.error or call.observation.output
        return self._with_advice(call, text, failed=call.observation.has_error)

    def failed(self, call: ToolErrored) -> ToolErrored:
        """Add advice to a failed call."""
        return self._with_advice(call, call.error, failed=True)

    def _with_advice(self, call: _Ended, text: str, *, failed: bool) -> _Ended:
        error = reader_error(text, failed=failed)
        if error is None or not error.certain:
            return call
        failures = 1
        if error.code == TIMED_OUT:
            url = page_of(call.input) or "a page"
            self._timed_out[url] += 1
            failures = self._timed_out[url]
            next_step = f"retry {failures} of {MOST_RETRIES}"
            if failures > MOST_RETRIES:
                next_step = f"gave up after {failures} attempts"
            log.warning("the web reader timed out (1234) on %s: %s", clean_line(url, 300), next_step)
        entries = _ADVICE.get(error.code)
        advice = advise(f"web_reader.{entries[min(failures, len(entries)) - 1]}") if entries else None
        if advice is None:
            return call
        texts = filter(None, (call.additional_context, advice.sentence))
        return replace(call, additional_context="\n".join(texts))
