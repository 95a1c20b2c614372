"""The connected accounts of the stand-in: their links, their states, and the answers of the tools about them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

LINK = "https://connect.composio.example/link/"
CONNECTABLE = {"gmail": "Gmail", "slack": "Slack"}
NO_AUTH = {"composio_search": "Composio Search"}


class Account(msgspec.Struct):
    """A connected account; it becomes ACTIVE when its link is opened."""

    id: str
    toolkit: str
    user_id: str
    link_token: str
    created_at: datetime
    status: str = "INITIATED"

    @property
    def redirect_url(self) -> str:
        """The page where a person would give consent."""
        return LINK + self.link_token


class Connections(msgspec.Struct, eq=False):
    """The accounts of all users; like real ones, they outlive sessions."""

    accounts: dict[str, Account] = {}

    def account(self, user_id: str, toolkit: str) -> Account | None:
        """The newest account of a user in a toolkit."""
        mine = [a for a in self.accounts.values() if a.user_id == user_id and a.toolkit == toolkit]
        return mine[-1] if mine else None

    def initiate(self, user_id: str, toolkit: str) -> Account:
        """Start a connection, or return the pending or active one."""
        account = self.account(user_id, toolkit)
        if account is None:
            account = Account(
                id=f"ca_{secrets.token_urlsafe(9)}",
                toolkit=toolkit,
                user_id=user_id,
                link_token=f"lk_{secrets.token_urlsafe(9)}",
                created_at=datetime.now(UTC),
            )
            self.accounts[account.id] = account
        return account

    def open_link(self, token: str) -> Account | None:
        """Give the consent that a person gives at a link."""
        account = next((a for a in self.accounts.values() if a.link_token == token), None)
        if account is not None:
            account.status = "ACTIVE"
        return account

    def manage(self, user_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer COMPOSIO_MANAGE_CONNECTIONS: a link for every toolkit that is not connected yet."""
        results: dict[str, Any] = {}
        for toolkit in _toolkits(arguments):
            if toolkit not in CONNECTABLE:
                results[toolkit] = {
                    "toolkit": toolkit,
                    "status": "failed",
                    "error": f"Unknown toolkit {toolkit}",
                }
                continue
            account = self.initiate(user_id, toolkit)
            results[toolkit] = _active(account) if account.status == "ACTIVE" else _initiated(account)
        active = sum(result["status"] == "active" for result in results.values())
        initiated = sum(result["status"] == "initiated" for result in results.values())
        return {
            "message": f"{active} active, {initiated} initiated and pending completion",
            "results": results,
            "summary": {
                "total_toolkits": len(results),
                "active_connections": active,
                "initiated_connections": initiated,
                "failed_connections": len(results) - active - initiated,
            },
        }

    def wait(self, user_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer COMPOSIO_WAIT_FOR_CONNECTIONS; raises nothing, and every pending link counts as opened.

        No browser can open a link of the stand-in, so the answer is that the person agreed.
        """
        results: dict[str, Any] = {}
        for toolkit in _toolkits(arguments):
            account = self.account(user_id, toolkit)
            if account is not None:
                self.open_link(account.link_token)
            results[toolkit] = (
                _active(account) if account is not None else {"toolkit": toolkit, "status": "not_initiated"}
            )
        return {"message": "All connections are settled", "results": results}

    def status(self, user_id: str, toolkit: str) -> dict[str, Any]:
        """The state of a toolkit's connection in the answer of a search for tools."""
        account = self.account(user_id, toolkit)
        active = toolkit in NO_AUTH or (account is not None and account.status == "ACTIVE")
        return {
            "toolkit": toolkit,
            "has_active_connection": active,
            "description": CONNECTABLE.get(toolkit) or NO_AUTH.get(toolkit) or toolkit,
            "connection_details": {},
            "status_message": "Connection is active and ready to use" if active else "No active connection",
        }


def _toolkits(arguments: Mapping[str, Any]) -> list[str]:
    """The requested toolkits, given as names or as objects with a name."""
    value = arguments.get("toolkits")
    items = value if isinstance(value, list) else [value] if value else []
    return [str(item.get("name") if isinstance(item, dict) else item).lower() for item in items]


def _initiated(account: Account) -> dict[str, Any]:
    name = CONNECTABLE[account.toolkit]
    return {
        "toolkit": account.toolkit,
        "status": "initiated",
        "redirect_url": account.redirect_url,
        "instruction": (
            f"Action required: share this link with the user to connect {name}: {account.redirect_url}\n\n"
            f"- DO NOT execute any {account.toolkit} tools until an Active connection is confirmed.\n"
            f"- Render as clickable link: [Connect {account.toolkit}]({account.redirect_url}).\n"
            "- The above link expires in 10 minutes.\n"
        ),
        "was_reinitiated": False,
    }


def _active(account: Account) -> dict[str, Any]:
    return {
        "toolkit": account.toolkit,
        "status": "active",
        "has_active_connection": True,
        "connected_account_id": account.id,
        "current_user_info": {"email": "you@mail.example"},
    }
