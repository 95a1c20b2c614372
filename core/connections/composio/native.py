"""Composio's tools as an MCP server in this process, where modifiers see every call and every schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

from ua_tui.core.concurrency.threads import apart
from ua_tui.core.json_values import JsonObject
from ua_tui.core.telemetry.http import CALL_ID, CURRENT_CALL, CallScope

_NOT_RUN = "This call did not run: the user has to approve it, or to answer a question, first."


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


class _Blocked(Exception):
    """A hook of the service blocked a call, or its result."""

    def __init__(self, response: Any) -> None:
        super().__init__(str(response.error))
        self.reason = response.block_reason


def native_provider() -> Any:
    """Make the provider with which Composio's SDK makes tools for the agent's SDK; imports both."""
    from composio.core.models import tools
    from composio.exceptions import ToolInputRequiredError
    from composio_claude_agent_sdk import provider

    # Its own threads would keep the program from ending until their calls return.
    vars(provider)["asyncio"] = SimpleNamespace(to_thread=lambda work, *args: apart(partial(work, *args)))
    # It would pass a blocked call on as one that failed.
    vars(tools)["require_execute_result"] = _require_result

    class Provider(provider.ClaudeAgentSDKProvider, name="claude_agent_sdk"):
        """Returns what a call waits for, and why one was blocked, in the form in which the service says it."""

        def wrap_tool(self, tool: Any, execute_tool: Callable[[str, Any], Any]) -> Any:
            def execute(slug: str, arguments: Any) -> Any:
                try:
                    return execute_tool(slug, arguments)
                except ToolInputRequiredError as error:
                    # Its `request_state` is not for the model, nor for a record.
                    return _held("input_required", _NOT_RUN, input_requests=error.input_requests)
                except _Blocked as error:
                    return _held("blocked", str(error), block_reason=error.reason)

            return super().wrap_tool(tool, execute)

    return Provider()


def _require_result(response: Any, slug: str) -> Any:
    from composio.core.models import session_context

    # That module has its own reference to the SDK's function.
    result: Any = vars(session_context)["require_execute_result"](response, slug)
    if result.result_type == "blocked":
        raise _Blocked(result)
    return result


def _held(result_type: str, error: str, **details: Any) -> JsonObject:
    return {"data": {}, "error": error, "successful": False, "result_type": result_type, **details}


def native_server(session: Any, provider: Any, modifiers: Sequence[Modifier]) -> JsonObject:
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
    server = dict(provider.create_mcp_server(session.tools(modifiers=wrapped)))
    server["instance"].middleware.append(_note_call)
    return server


async def _note_call(request: Any, handle: Callable[[Any], Awaitable[Any]]) -> Any:
    """Let the HTTP requests of a call know which call it is."""
    CURRENT_CALL.set(CallScope(str((request.meta or {}).get(CALL_ID, ""))))
    return await handle(request)
