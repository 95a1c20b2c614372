"""The accounts of a person at Composio: which toolkits have one, and the links by which one is connected."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from core.connections.composio.errors import as_failure, failures
from core.connections.composio.sdk import import_sdk, sdk_client, sdk_http
from core.errors import ConnectionFailed
from core.settings.model import Settings

__all__ = ["FAILED", "Accounts", "Link", "Toolkit"]

log = logging.getLogger(__name__)

FAILED = frozenset({"FAILED", "EXPIRED", "INACTIVE", "REVOKED"})
"""States of an account that a link will not get out of."""

_TIMEOUT = 20.0
_PAGE = 50
_MOST_PAGES = 60
_MOST_CLOSE = 5


@dataclass(frozen=True)
class Toolkit:
    """A toolkit; `status` is that of its account (`ACTIVE`, `INITIATED`, `EXPIRED`, ...), empty without one.

    `needs_account` is false for those that work without. `offered` says whether sessions have it by the settings.
    """

    slug: str
    name: str
    status: str = ""
    needs_account: bool = True
    offered: bool = True

    @property
    def is_connected(self) -> bool:
        """Whether its tools can be used."""
        return not self.needs_account or self.status == "ACTIVE"


@dataclass(frozen=True)
class Link:
    """The page where a person connects an account, and the account's id."""

    account: str
    url: str


class Accounts:
    """Asks Composio for accounts, through a session of its own that is deleted at the end; a context manager.

    Every method waits for the network and raises ConnectionFailed, so all of this is for a thread.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = ExitStack()
        self._client: Any = None
        self._session: Any = None

    def __enter__(self) -> Accounts:
        import_sdk()
        try:
            http = self._stack.enter_context(sdk_http(_TIMEOUT))
            self._client = sdk_client(self._settings, http, max_retries=1)
            user = self._settings.composio_user_id or self._settings.user_id
            # Of every toolkit, also of those that sessions are to do without.
            self._session = self._client.create(user_id=user)
        except failures() as error:
            self._stack.close()
            raise as_failure(error, self._settings) from None
        return self

    def __exit__(self, *_raised: object) -> None:
        try:
            self._session.delete()
        except failures() as error:
            log.info("the session that was opened to ask for accounts could not be deleted: %s", error)
        finally:
            self._stack.close()

    def toolkits(self) -> list[Toolkit]:
        """Every toolkit there is, the connected ones first."""
        found = {each.slug: each for each in self._pages()}
        return sorted(found.values(), key=lambda each: (each.status != "ACTIVE", not each.status, each.slug))

    def toolkit(self, slug: str) -> Toolkit | None:
        """One toolkit by its name."""
        # A service that does not heed the filter gives every toolkit.
        return next((each for each in self._pages(toolkits=[slug]) if each.slug == slug), None)

    def like(self, slug: str) -> list[str]:
        """Names of toolkits that may have been meant."""
        for part in dict.fromkeys((slug, slug[:4], slug[:2])):
            names = [each.slug for each in self._pages(search=part, most=4)]
            if close := get_close_matches(slug, names, _MOST_CLOSE, 0.5) or names[:_MOST_CLOSE]:
                return close
        return []

    def link(self, slug: str) -> Link:
        """Begin to connect an account."""
        try:
            request = self._session.authorize(slug)
            url = str(request.redirect_url or "")
        except failures() as error:
            raise as_failure(error, self._settings) from None
        if not url:
            raise ConnectionFailed(
                f"Composio gives no link for {slug}: connect it at composio.dev, as it wants a key rather than a login"
            )
        return Link(str(request.id), url)

    def status(self, link: Link) -> tuple[str, str]:
        """The state of an account, and what the service says of it, if it does."""
        try:
            account = self._client.connected_accounts.get(link.account)
            return str(account.status), str(getattr(account, "status_reason", None) or "")
        except failures() as error:
            raise as_failure(error, self._settings) from None

    def _pages(self, most: int = _MOST_PAGES, **asked: Any) -> Iterator[Toolkit]:
        cursor: str | None = None
        for _ in range(most):
            try:
                page = self._session.toolkits(limit=_PAGE, next_cursor=cursor, **asked)
                found = [self._read(item) for item in page.items]
            except failures() as error:
                raise as_failure(error, self._settings) from None
            yield from found
            cursor = page.next_cursor
            if not cursor or not found:
                return

    def _read(self, item: Any) -> Toolkit:
        slug = str(item.slug).lower()
        account = item.connection.connected_account if item.connection is not None else None
        only = self._settings.composio_toolkits
        offered = slug in only if only else slug not in self._settings.composio_disabled_toolkits
        return Toolkit(
            slug=slug,
            name=str(item.name or item.slug),
            status=str(account.status) if account is not None else "",
            needs_account=not item.is_no_auth,
            offered=offered,
        )
