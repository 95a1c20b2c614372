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
    """A function of Composio's kind: it is given tool, toolkit, and what it may change, and gives that back.

    `before` gets a call as `{"arguments": {...}}`, `after` its answer as a dict of data, error and successful, and
    `schema` the tool as it is offered, an object with description and input_parameters. It sees the tools that
    are named, or all; COMPOSIO_MULTI_EXECUTE_TOOL is one call, whatever it runs.
    Calls are seen in a thread, and what the function raises fails the call.
    """

    when: Literal["before", "after", "schema"]
    function: Callable[[str, str, Any], Any]
    tools: Sequence[str] = ()


def native_provider() -> Any:
    """Make what Composio's SDK needs to make tools for the agent's; it brings in both."""
    from composio_claude_agent_sdk import provider

    # The threads it would take for calls keep a program from ending for as long as a call takes.
    vars(provider)["asyncio"] = SimpleNamespace(to_thread=_to_thread)
    return provider.ClaudeAgentSDKProvider()


async def _to_thread(work: Callable[..., Any], *given: Any) -> Any:
    return await apart(partial(work, *given))


def native_server(session: Any, provider: Any, modifiers: Sequence[Modifier]) -> dict[str, Any]:
    """Make the configuration of a server with the tools of a session, as the agent's SDK takes it.

    `provider` is the one the session was made with. Asks the service for the tools.
    """
    import composio

    made = {
        "before": composio.before_execute,
        "after": composio.after_execute,
        "schema": composio.schema_modifier,
    }
    wrapped: list[Any] = []
    for each in modifiers:
        make: Any = made[each.when]
        wrapped.append(make(tools=list(each.tools))(each.function) if each.tools else make(each.function))
    return dict(provider.create_mcp_server(session.tools(modifiers=wrapped)))
