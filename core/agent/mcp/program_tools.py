"""The functions that a program gives to its session, as tools of an MCP server in this process."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, get_type_hints

import msgspec

from ua_tui.core.agent.sdk_import import import_sdk
from ua_tui.core.connections.base import PROGRAM, Connection, Connector
from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.text import clean_line
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def program_connector(
    tools: Sequence[Callable[..., Any] | sdk.SdkMcpTool[Any]],
) -> Connector:
    """What opens the server with the tools of a program; imports the agent's SDK: call it in a thread.

    Raises:
        SettingsError: a function cannot be a tool, or two tools have the same name.
    """
    loaded = import_sdk()
    made = [_as_tool(each, loaded) for each in tools]
    names = [each.name for each in made]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"tools: two have the name {clean_line(name, 60)}; rename one of them")
    server = dict(loaded.create_sdk_mcp_server(PROGRAM, VERSION, made))

    async def connect() -> Connection:
        return Connection(servers={PROGRAM: server})

    return connect


def _as_tool(function: Any, loaded: Any) -> Any:
    """A function as a tool: with its name, its docstring, and its parameters by their annotations."""
    if isinstance(function, loaded.SdkMcpTool):
        return function
    name, about = getattr(function, "__name__", ""), inspect.getdoc(function)
    if not inspect.isroutine(function) or not _NAME.fullmatch(name) or not about:
        shown = clean_line(repr(function), 100)
        raise SettingsError(
            f"tools: {shown} cannot be a tool; give functions that have a name and a docstring"
        )
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        reason = clean_line(str(error), 200)
        raise SettingsError(
            f"tools: the annotations of {name} cannot be read ({reason}); correct them"
        ) from error
    for each in parameters:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise SettingsError(f"tools: {name} has the parameter {each}; give it only named parameters")
    fields = {
        each.name: hint if each.default is each.empty else NotRequired[hint]
        for each in parameters
        for hint in [hints.get(each.name, str)]
    }

    async def call(given: JsonObject) -> JsonObject:
        try:
            if inspect.iscoroutinefunction(function):
                result = await function(**given)
            else:
                result = await asyncio.to_thread(function, **given)
        except Exception as error:
            log.warning("the tool %s of this program failed", name, exc_info=error)
            # Its own words may be no more than the name of a missing key.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
        return {"content": [{"type": "text", "text": text}]}

    return loaded.tool(name, about, TypedDict(name, fields))(call)  # type: ignore[operator]  # fields known at run time
