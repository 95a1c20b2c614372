"""What is known of the user's own MCP servers: where their tools act, as a person said, and which only read.

A person is asked once about each server. What a server declares of its tools is only the answer that is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.connections.user_servers import Acts
from ua_tui.core.events.types import READ_RESOURCE

_ANSWERS: Mapping[str, Acts] = {"No, only on this machine": "here", "Yes, or I do not know": "outside"}
_MEANINGS = {
    "here": "Rules by name hold for all its tools, whatever the agent has read.",
    "outside": "Once the agent has read text of others, calls that may send or change something ask.",
}


class Described(Protocol):
    """Keeps what a person said of the servers."""

    def acts(self, name: str) -> Acts | None:
        """Where the tools of a server act; None if it is one of the user's, and nobody has said."""
        ...

    def describe(self, name: str, acts: Acts) -> None:
        """Store what a person said of a server; never raises."""
        ...


@dataclass
class OwnServers:
    """Adds to actions what is known of the servers of their tools, and has the question about a server.

    Attributes:
        described: what was said of the servers; None if the user has none.
        reads: whether a server declares that a tool only reads: (server, tool) -> bool.
        stays: whether a server declares of all its tools that they reach nothing outside.
        asks: whether who answers may say it: not in a job, whose questions other people may answer.
    """

    described: Described | None = None
    reads: Callable[[str, str], bool] = lambda _server, _tool: False
    stays: Callable[[str], bool] = lambda _server: False
    asks: bool = True
    _asked: set[str] = field(default_factory=set)

    def acts(self, name: str) -> Acts | None:
        """Where the tools of a server act; None if it is one of the user's, and nobody has said."""
        return "outside" if self.described is None else self.described.acts(name)

    def describe(self, action: Action) -> Action:
        """An action with what is known of the server of its tool."""
        if not action.is_own:
            return action
        # Reading a resource changes nothing.
        reads = action.name == READ_RESOURCE or self.reads(action.server, action.name)
        return replace(action, here=self.acts(action.server) == "here", reads=reads)

    def undecided(self, actions: Iterable[Action]) -> list[str]:
        """The servers of actions of which nobody has said where they act."""
        own = (action.server for action in actions if action.is_own)
        return [name for name in dict.fromkeys(own) if self.acts(name) is None]

    def questions(self, actions: Iterable[Action]) -> dict[str, dict[str, Any]]:
        """The question about each server that is undecided and was not asked about in this session, by its name."""
        names = [name for name in self.undecided(actions) if self.asks and name not in self._asked]
        self._asked.update(names)
        return {name: self._question(name) for name in names}

    def note_answer(self, name: str, given: Mapping[str, Any] | None) -> None:
        """Store an answer to the question about a server; any other answer leaves it undecided."""
        answers = (given or {}).get("answers")
        for answer in answers.values() if isinstance(answers, Mapping) else ():
            if self.described is not None and (acts := _ANSWERS.get(str(answer))) is not None:
                self.described.describe(name, acts)

    def _question(self, name: str) -> dict[str, Any]:
        stays = self.stays(name)
        declares = " It declares that none does." if stays else ""
        options = [{"label": label, "description": _MEANINGS[acts]} for label, acts in _ANSWERS.items()]
        asked = f"Do tools of the MCP server {name} reach anything outside this machine?{declares}"
        row = {"question": asked, "header": "MCP server", "options": options if stays else options[::-1]}
        return {"questions": [row | {"multiSelect": False}]}
