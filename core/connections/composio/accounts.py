"""The user's accounts at Composio: which toolkits have one, and the links that connect one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import msgspec

from ua_tui.core.connections.composio.sdk import advice_for, delete_session, sdk_calls, sdk_client, sdk_http
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.model import Settings

FAILED = frozenset({"FAILED", "EXPIRED", "INACTIVE", "REVOKED"})
"""States of an account that following its link does not change."""


class Toolkit(msgspec.Struct, frozen=True):
    """A toolkit; `status` is the state of its account (`ACTIVE`, `INITIATED`, `EXPIRED`, ...), empty without one.

    `needs_account` is false for a toolkit that works without. `offered` says whether the settings give it to sessions.
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


class AccountLink(msgspec.Struct, frozen=True):
    """The page that connects an account, and the account's id."""

    account: str
    url: str


class Accounts(msgspec.Struct, eq=False):
    """A context manager that asks Composio for accounts, through a session that is deleted at the end.

    Use it in a thread: every method waits for the network, and raises ConnectionFailed.
    """

    settings: Settings
    _stack: ExitStack = msgspec.field(default_factory=ExitStack)
    _client: Any = None
    _session: Any = None

    def __enter__(self) -> Accounts:
        with ExitStack() as stack, sdk_calls(self.settings):
            http = stack.enter_context(sdk_http(20.0))
            self._client = sdk_client(self.settings, http, max_retries=1)
            user = self.settings.composio_user_id or self.settings.user_id
            # With every toolkit, also those that the settings disable.
            self._session = self._client.create(user_id=user)
            stack.callback(delete_session, self._session)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stack.close()

    def toolkits(self) -> list[Toolkit]:
        """All toolkits, the connected ones first."""
        found = {each.slug: each for each in self._pages()}
        return sorted(found.values(), key=lambda each: (each.status != "ACTIVE", not each.status, each.slug))

    def toolkit(self, slug: str) -> Toolkit | None:
        """One toolkit by its name."""
        # A service that ignores the filter returns every toolkit.
        return next((each for each in self._pages(toolkits=[slug]) if each.slug == slug), None)

    def link(self, slug: str) -> AccountLink:
        """Start connecting an account."""
        with sdk_calls(self.settings):
            request = self._session.authorize(slug)
            url = str(request.redirect_url or "")
        if not url:
            raise ConnectionFailed(advice_for("no_link", self.settings, slug))
        return AccountLink(str(request.id), url)

    def status(self, link: AccountLink) -> tuple[str, str]:
        """The state of an account, and the service's reason for it if there is one."""
        with sdk_calls(self.settings):
            account = self._client.connected_accounts.get(link.account)
            return str(account.status), str(getattr(account, "status_reason", None) or "")

    def _pages(self, **filters: Any) -> Iterator[Toolkit]:
        cursor: str | None = None
        for _ in range(60):
            with sdk_calls(self.settings):
                page = self._session.toolkits(limit=50, next_cursor=cursor, **filters)
                found = [self._read(item) for item in page.items]
            yield from found
            cursor = page.next_cursor
            if not cursor or not found:
                return

    def _read(self, item: Any) -> Toolkit:
        slug = str(item.slug).lower()
        account = item.connection.connected_account if item.connection is not None else None
        only = self.settings.composio_toolkits
        offered = slug in only if only else slug not in self.settings.composio_disabled_toolkits
        return Toolkit(
            slug=slug,
            name=str(item.name or item.slug),
            status=str(account.status) if account is not None else "",
            needs_account=not item.is_no_auth,
            offered=offered,
        )
