"""The messages that the program itself sends to the agent: an account is connected, or a lost session is resumed."""

from __future__ import annotations

from collections.abc import Sequence

AUTH_COMPLETE = "The authentication is complete. Please go on from where you stopped."
RESUMED = "The program that ran this session ended before the query was finished; another one resumes it."
"""How the message begins with which a query is resumed."""
_MOST_NAMED = 50


def resumption(unknown: Sequence[str]) -> str:
    """The message with which a query is resumed; `unknown` are the tools of calls whose success is not known."""
    text = (
        f"{RESUMED} Continue with the query from where you stopped. Calls whose results you have seen are not to be "
        "repeated. Calls that the conversation shows as rejected or interrupted at that point did not run, and nobody "
        f"refused them: make them again{', except those named next' if unknown else ''}."
    )
    if unknown:
        text += f" {_unknown(unknown)}"
    return text


def _unknown(tools: Sequence[str]) -> str:
    named = ", ".join(dict.fromkeys(tools[:_MOST_NAMED]))
    return (
        f"It is not known whether these calls succeeded: {named}. They are not run again with the same "
        "arguments: say in the answer which of them somebody has to check."
    )


def is_own(query: str) -> bool:
    """Whether a query is one that the program sends automatically."""
    return bool(occasion_of(query))


def occasion_of(query: str) -> str:
    """Why the program sent a query automatically; empty for any other query."""
    if query.strip() == AUTH_COMPLETE:
        return "an account is connected"
    return "the session is resumed" if query.lstrip().startswith(RESUMED) else ""
