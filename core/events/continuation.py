"""The message that the program itself sends to the agent: that an account is now connected."""

from __future__ import annotations

__all__ = ["AUTH_COMPLETE", "is_own"]

AUTH_COMPLETE = "The authentication is complete. Please go on from where you stopped."


def is_own(query: str) -> bool:
    """Whether a query is one that the program sends automatically."""
    return query.strip() == AUTH_COMPLETE
