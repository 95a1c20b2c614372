"""Composio's tools as an MCP server in this process, where modifiers see every call and every schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

from core.concurrency.threads import apart

__all__ = ["Modifier", "native_provider", "native_server"]


@dataclass(frozen=True)
class Modifier:
    """A modifier as Composio's SDK defines it: called with the tool, the toolkit and the value to change or return.

    `before` gets a call as `{"arguments": {...}}`, `after` its answer as a dict of data, error and successful, and
    `schema` the tool as it is offered, an object with description and input_parameters. It applies to the named
    tools, or to all; COMPOSIO_MULTI_EXECUTE_TOOL is one call, whatever it runs. It is called in a thread, and an
    exception fails the tool call.
    """

    when: Literal["before", "after", "schema"]
    function: Callable[[str, str, Any], Any]
    tools: Sequence[str] = ()


def native_provider() -> Any:
    """Make the provider with which Composio's SDK makes tools for the agent's SDK; imports both."""
    from composio_claude_agent_sdk import provider

    # Its own threads would keep the program from ending until their calls return.
    vars(provider)["asyncio"] = SimpleNamespace(to_thread=_to_thread)
    return provider.ClaudeAgentSDKProvider()


async def _to_thread(work: Callable[..., Any], *args: Any) -> Any:
    return await apart(partial(work, *args))


def native_server(session: Any, provider: Any, modifiers: Sequence[Modifier]) -> dict[str, Any]:
    """Make the configuration of a server with the tools of a session, for the agent's SDK.

    Requests the tools from the service. `provider` is the one that the session was made with.
    """
    import composio

    decorators = {
        "before": composio.before_execute,
        "after": composio.after_execute,
        "schema": composio.schema_modifier,
    }
    wrapped: list[Any] = []
    for each in modifiers:
        decorator: Any = decorators[each.when]
        decorate = decorator(tools=list(each.tools)) if each.tools else decorator
        wrapped.append(decorate(each.function))
    return dict(provider.create_mcp_server(session.tools(modifiers=wrapped)))
