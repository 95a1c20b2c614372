"""What the program itself tells the agent in the place of a person: that an account is connected by now."""

from __future__ import annotations

__all__ = ["GO_ON", "is_own"]

GO_ON = "The authentication is complete. Please go on from where you stopped."


def is_own(query: str) -> bool:
    """Whether a query is one that the program sends by itself."""
    return query.strip() == GO_ON
