"""The commands of a session that are sent to the agent as queries: its own, and the custom ones."""

from __future__ import annotations

from ua_tui.core.session.session import Session
from ua_tui.core.text import clean_line
from ua_tui.tui.widgets.command import Command, command_problem

_OF_AGENT = (
    ("compact", "summarises the conversation, to free context; add what to keep"),
    ("clear", "the agent forgets the conversation; files stay"),
)


def problem_of_query(session: Session, query: str) -> str:
    """What is wrong with the only query of a session, if it looks like a command but is not one; else empty."""
    if not session.commands or session.references.prompt_call(query) is not None:
        return ""
    return command_problem(
        query, sent_commands(session), session.commands, listed_by="`ua-tui agents` lists those of your own"
    )


def sent_commands(session: Session) -> list[Command]:
    """The commands that are sent as queries."""
    return [
        *(
            Command(name, title, "", list, arguments="")
            for name, title in _OF_AGENT
            if name in session.commands
        ),
        *(
            Command(each.name, clean_line(each.description, 300), "", list, arguments=each.hint)
            for each in session.custom_commands
        ),
    ]
