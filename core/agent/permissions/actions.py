"""What a tool call would really run: one action, or those inside a wrapper, each with its own arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.permissions.arguments import Arguments
from ua_tui.core.connections.base import BUILT_IN_SERVERS, PROGRAM
from ua_tui.core.events.types import READ_RESOURCE
from ua_tui.core.json_values import JsonMapping, JsonObject, list_in, object_in, table_of, text_in
from ua_tui.core.text import words_of
from ua_tui.core.trust import Acts

if TYPE_CHECKING:
    from ua_tui.core.connections.trust import UserConnections

TOOLS: JsonMapping = table_of(__file__, "tools.toml")
"""What is known of tools by their names; the file describes each list."""


OfTool = Callable[[str, str], bool]
"""Says something of a tool: (server, tool) -> bool."""


class Action(msgspec.Struct, frozen=True):
    """One tool that a call runs.

    Attributes:
        tool: the full name: `Bash`, or `mcp__composio__GMAIL_SEND_EMAIL` also for a tool inside a wrapper.
        arguments: those of this tool; None if they cannot be read.
        wrapped: whether another tool runs it.
        here: whether it is a tool of an own MCP server that, as a person said, reaches nothing outside this machine.
        reads: whether the own server of the tool declares that it only reads.
        named: whether a rule that allows it names each of its arguments.
    """

    tool: str
    arguments: Arguments | None
    wrapped: bool = False
    here: bool = False
    reads: bool = False
    named: bool = False

    @property
    def name(self) -> str:
        """The tool's own name, without its MCP server."""
        return short_name(self.tool)

    @property
    def server(self) -> str:
        """The MCP server of the tool, empty for the built-in ones."""
        return server_of(self.tool)

    @property
    def is_own(self) -> bool:
        """Whether it is a tool or resource of an MCP server of the user, or of the program that runs the session."""
        return bool(self.server) and (self.server == PROGRAM or self.server not in BUILT_IN_SERVERS)


def short_name(tool_name: str) -> str:
    """The tool's own name without its MCP server: `mcp__composio__X` is `X`."""
    if tool_name.startswith("mcp__"):
        return tool_name.split("__", 2)[-1]
    return tool_name


def server_of(tool_name: str) -> str:
    """The MCP server of a tool: `composio` for `mcp__composio__X`."""
    parts = tool_name.split("__", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "mcp" else ""


def actions_of(tool_name: str, tool_input: Arguments) -> tuple[Action, ...]:
    """What a call would really run: the tools inside a wrapper, else the tool itself.

    The agent's tool that reads a resource is one of the server that has the resource.

    A wrapper whose content cannot be read is an action itself, which no rule allows.
    """
    if (
        tool_name == READ_RESOURCE
        and isinstance(server := tool_input.get("server"), str)
        and "__" not in server
    ):
        # It acts on that server, as a tool of the server does.
        return (Action(f"mcp__{server}__{tool_name}", {"uri": tool_input.get("uri")}),)
    call = Action(tool_name, tool_input)
    if not is_wrapper(call.name):
        return (call,)
    found: list[Action] = []
    for item in list_in(tool_input, "tools"):
        slug = text_in(item, "tool_slug")
        if not slug or is_wrapper(slug):
            return (call,)
        given = item.get("arguments", {})
        arguments = given if isinstance(given, dict) else None
        found.append(Action(f"mcp__{call.server}__{slug}", arguments, wrapped=True))
    return tuple(found) or (call,)


def subjects_of(tool_name: str, tool_input: Arguments) -> tuple[str, ...]:
    """The names of the tools that a call would really run, each once."""
    return tuple(dict.fromkeys(action.name for action in actions_of(tool_name, tool_input)))


def is_wrapper(name: str) -> bool:
    """Whether a tool runs other tools that its arguments name."""
    return any(word in _upper(name) for word in TOOLS["wrappers"])


def is_outbound(name: str) -> bool:
    """Whether a tool changes something outside the workspace or sends something to somebody."""
    return any(word.upper() in TOOLS["outbound_words"] for word in words_of(name))


def is_open_ended(name: str) -> bool:
    """Whether a tool can do anything."""
    return any(word in _upper(name) for word in TOOLS["anything"])


def can_be_remembered(name: str) -> bool:
    """Whether a rule from a dialog may name only the tool: not for tools that act outside, or can do anything."""
    return not is_outbound(name) and not any(word in _upper(name) for word in TOOLS["open_ended"])


def _upper(name: str) -> str:
    """A name in capitals: as it is, and with `_` between its words, however they are joined."""
    return f"{name} {'_'.join(words_of(name))}".upper()


_ANSWERS: Mapping[str, Acts] = {"Yes, or I do not know": "outside", "No, only on this machine": "here"}
_MEANINGS = {
    "here": "Rules such as mcp__NAME__* apply to all its tools, whatever the agent has read.",
    "outside": "Once the agent has read untrusted text, calls that may send or change something need your permission.",
}


class OwnServers(msgspec.Struct):
    """Adds to actions what is known of the servers of their tools, and has the question about a server.

    Attributes:
        described: what was said of the servers; None if the user has none.
        reads: whether a server declares that a tool only reads.
        asks: whether who answers may say it: not in a job, whose questions other people may answer.
    """

    described: UserConnections | None = None
    reads: OfTool = lambda _server, _tool: False
    asks: bool = True
    _asked: set[str] = set()

    def acts(self, name: str) -> Acts | None:
        """Where the tools of a server act; None if it is one of the user's, and nobody has said."""
        if name == PROGRAM:
            # Its functions are part of what the user runs.
            return "here"
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

    def questions(self, actions: Iterable[Action]) -> dict[str, JsonObject]:
        """The question about each server that is undecided and was not asked about in this session, by its name."""
        names = [name for name in self.undecided(actions) if self.asks and name not in self._asked]
        self._asked.update(names)
        return {name: _question(name) for name in names}

    def note_answer(self, name: str, given: Arguments | None) -> None:
        """Store an answer to the question about a server; any other answer leaves it undecided."""
        for answer in object_in(given, "answers").values():
            if self.described is not None and (acts := _ANSWERS.get(str(answer))) is not None:
                self.described.describe(name, acts)


def _question(name: str) -> JsonObject:
    asked = f"Do tools of the MCP server {name} reach anything outside this machine?"
    options = [{"label": label, "description": _MEANINGS[acts]} for label, acts in _ANSWERS.items()]
    row = {"question": asked, "header": "MCP server", "options": options, "multiSelect": False}
    return {"questions": [row]}
