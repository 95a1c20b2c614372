"""The connection to the command-line agent: the only module that drives the Claude Agent SDK's client."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ua_tui.core.agent.attachments.blocks import Attachment
from ua_tui.core.agent.attachments.mentions import without_mentions
from ua_tui.core.agent.bounds import REPLY_SECONDS, START_SECONDS, STEP_SECONDS
from ua_tui.core.agent.mcp.elicitation import Ask
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.transport import CliTransport, StandardError
from ua_tui.core.agent.messages.usage import ContextUsage, read_context_usage
from ua_tui.core.concurrency.threads import Schedule, apart
from ua_tui.core.connections.base import ServerConfigs
from ua_tui.core.connections.toolkit_tools import PROGRAM
from ua_tui.core.errors import AgentUnavailable, ConnectionFailed
from ua_tui.core.json_values import JsonObject, list_in
from ua_tui.core.log import log
from ua_tui.core.text import clean

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

    from ua_tui.core.concurrency.process_tree import ProcessTree


# The agent continues to retry a request for minutes after its input has ended. Only its input shows it that we have
# ended, and only Linux can end a child with its parent: instead, a shell, which needs little memory, waits for the end
# of a pipe.
_SCRIPT = """
read -r _ && exit
exec "$2" -I -m ua_tui.core.concurrency.process_tree "$1"
"""


class OrphanGuard(msgspec.Struct, eq=False):
    """A small process that ends another one some seconds after this program has ended, unless it is released."""

    pid: int
    _shell: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the guard; without a shell there is none, which is logged."""
        try:
            self._shell = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _SCRIPT, "ua-tui-guard", str(self.pid), sys.executable,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                # A signal to everything at the terminal must not end it first.
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            log.warning("the agent has no guard: %s", error)

    def release(self) -> None:
        """End the guard's watch: the process has ended, or is about to."""
        if self._shell is not None and self._shell.stdin is not None and not self._shell.stdin.is_closing():
            with suppress(OSError):
                self._shell.stdin.write(b"\n")
            self._shell.stdin.close()

    async def close(self) -> None:
        """Release it and wait until it is gone; never raises."""
        self.release()
        shell, self._shell = self._shell, None
        if shell is None:
            return
        try:
            await asyncio.wait_for(shell.wait(), STEP_SECONDS)
        except TimeoutError:
            log.warning("the agent's guard process did not end, so it is killed")
            with suppress(ProcessLookupError):
                shell.kill()
            await shell.wait()


# Each time takes some milliseconds: it reads the state of every process of the machine.
_REMEMBERED_EVERY = 5.0
_PROMPT_OF_SERVER = "/mcp__"
_DID_NOT_STOP = "the agent's process did not respond when it was asked to stop, and was ended"


class AgentClient:
    """One connected SDK client; read it with `messages()`, once, until it ends.

    `malformed` counts bad messages; `ask` asks the person what an MCP server wants to know. `while_starting` is called
    when the agent's process was started, which then needs a while.
    """

    def __init__(
        self,
        options: sdk.ClaudeAgentOptions,
        malformed: MalformedMessages,
        ask: Ask | None = None,
        while_starting: Callable[[], None] = lambda: None,
    ) -> None:
        import claude_agent_sdk as sdk

        self._stderr = StandardError()
        self._transport = CliTransport(options, malformed, self._stderr, self._on_start, ask)
        self._client = sdk.ClaudeSDKClient(options, self._transport)  # type: ignore[arg-type]  # by its methods
        self._while_starting = while_starting
        self._added: ServerConfigs = {}
        self._hidden: list[str] = []
        self._cli = str(options.cli_path or "the bundled Claude Code CLI")
        self._guard: OrphanGuard | None = None
        self._descendants: ProcessTree | None = None
        self._remembering = Schedule("remembering the agent's processes", _REMEMBERED_EVERY)

    @property
    def was_killed(self) -> bool:
        """Whether it was killed because it did not stop when asked."""
        return self._transport.was_killed

    async def connect(self) -> None:
        """Start the agent and wait for its handshake.

        Raises:
            AgentUnavailable: it is not installed, died or did not answer in time.
        """
        import claude_agent_sdk as sdk

        try:
            await asyncio.wait_for(self._client.connect(), START_SECONDS)
        except sdk.CLINotFoundError as error:
            raise AgentUnavailable(
                f"{self._cli} was not found: reinstall claude-agent-sdk, or set cli_path to an installed `claude`"
            ) from error
        except TimeoutError as error:
            await self.disconnect()
            raise AgentUnavailable(
                f"{self._cli} did not answer within {START_SECONDS:g} s{self._last_words()}: try again"
            ) from error
        except Exception as error:
            await self.disconnect()
            raise AgentUnavailable(
                f"{self._cli} could not be started: {clean(str(error))}{self._last_words()}"
            ) from error
        except asyncio.CancelledError:
            await self.disconnect()
            raise

    async def _on_start(self, pid: int) -> None:
        self._guard = OrphanGuard(pid)
        await self._guard.start()
        self._while_starting()
        self._descendants = await apart(partial(_tree_of, pid))

    async def messages(self) -> AsyncGenerator[sdk.Message]:
        """Every message until the agent ends.

        Raises:
            AgentUnavailable: the agent died; the message has its exit code and its last line.
        """
        import claude_agent_sdk as sdk

        try:
            async for message in self._client.receive_messages():
                yield message
        except sdk.ProcessError as error:
            if self.was_killed:
                raise AgentUnavailable(_DID_NOT_STOP) from error
            raise AgentUnavailable(
                f"the agent died ({_exit_of(error.exit_code)}){self._last_words()}"
            ) from error
        except sdk.ClaudeSDKError as error:
            raise AgentUnavailable(
                f"the connection to the agent broke: {clean(str(error))}{self._last_words()}"
            ) from error
        finally:
            if self._guard is not None and self._transport.pid is None:
                # Its pid may be reused by another process.
                self._guard.release()

    async def query(self, text: str, message_id: str | None = None, files: Sequence[Attachment] = ()) -> None:
        """Send a person's message with its files.

        The agent reports `message_id` when it accepts the message.

        Raises:
            AgentUnavailable: the agent is gone.
        """
        import claude_agent_sdk as sdk

        try:
            await self._client.query(_one(text, message_id, files))
        except (sdk.ClaudeSDKError, OSError) as error:
            raise AgentUnavailable(
                f"the agent has stopped: {clean(str(error))}{self._last_words()}"
            ) from error

    async def interrupt(self) -> None:
        """Ask the agent to stop what it is doing; its result still comes through `messages()`."""
        try:
            await self._client.interrupt()
        except Exception as error:
            # The SDK raises bare exceptions for late answers and for errors.
            log.info("the interrupt did not reach the agent: %s", error)

    async def set_model(self, model: str | None) -> None:
        """Switch the model for the queries that follow; None is the default one.

        Raises:
            ConnectionFailed: it could not be done; the message is the agent's.
        """
        await _await_control(self._client.set_model(model))

    async def set_plan_mode(self, *, on: bool) -> None:
        """Tell the agent whether it only plans, of which it reminds the model; the hooks decide what may run."""
        try:
            await _await_control(self._client.set_permission_mode("plan" if on else "default"))
        except ConnectionFailed as error:
            log.warning("the agent was not told the permission mode: %s", error)

    async def stop_task(self, task_id: str) -> None:
        """Stop one sub-agent; the call that started it fails, and the query continues.

        Raises:
            ConnectionFailed: the agent is gone, or refused.
        """
        await _await_control(self._client.stop_task(task_id))

    async def servers(self) -> list[JsonObject]:
        """The current state of every MCP server, as the agent reports it."""
        if self._descendants is not None:
            self._remembering.plan(self._descendants.refresh)
        status = await self._client.get_mcp_status()
        return [dict(raw) for raw in status.get("mcpServers", [])]

    async def context_usage(self) -> ContextUsage:
        """What fills the context now, as the agent counts it.

        Raises:
            ConnectionFailed: it did not answer.
        """
        try:
            return read_context_usage(await asyncio.wait_for(self._client.get_context_usage(), REPLY_SECONDS))
        except Exception as error:
            # The SDK raises bare exceptions for refusals and for late answers.
            raise ConnectionFailed(clean(str(error)) or "it did not answer in time") from error

    async def listed(self, what: Literal["models", "commands"]) -> list[Any]:
        """What the agent listed when it was connected: its models, or its slash commands."""
        return list_in(await self._client.get_server_info(), what)

    async def reconnect_server(self, name: str) -> None:
        """Reconnect an MCP server.

        Raises:
            ConnectionFailed: it could not be connected; the message is the agent's.
        """
        query = getattr(self._client, "_query", None)
        if query is not None and name in query.sdk_mcp_servers:
            # The command line refuses to reconnect servers in this process.
            await self.add_servers(
                {**self._added, name: {"type": "sdk", "instance": query.sdk_mcp_servers[name]}}
            )
            return
        await _await_control(self._client.reconnect_mcp_server(name))

    async def switch_server(self, name: str, *, on: bool) -> None:
        """Give the agent the tools of an MCP server, or take them away and end it.

        Raises:
            ConnectionFailed: it could not be done; the message is the agent's.
        """
        await _await_control(self._client.toggle_mcp_server(name, on))

    async def add_servers(self, servers: ServerConfigs) -> None:
        """Connect MCP servers that the agent was not started with.

        Raises:
            ConnectionFailed: it could not be done.
        """
        # The command line supports this, but the SDK has no method for it yet.
        query = getattr(self._client, "_query", None)
        if query is None:
            raise ConnectionFailed("the agent has stopped: restart it with Ctrl+R")
        here = {name: config for name, config in servers.items() if config.get("type") == "sdk"}
        self._added = {name: config for name, config in servers.items() if name not in here}
        # It makes a handshake with a server in this process only if the server is new to it.
        await self._set_servers(query, without=here)
        for name, config in here.items():
            await _serve_here(query, name, config["instance"])
        if here:
            await self._set_servers(query)

    async def hide_tools(self, names: Sequence[str]) -> None:
        """Take these tools of MCP servers away from the model.

        Raises:
            ConnectionFailed: it could not be done.
        """
        self._hidden = list(names)
        if (query := getattr(self._client, "_query", None)) is not None:
            await self._set_servers(query)

    async def _set_servers(self, query: Any, without: Collection[str] = ()) -> None:
        # The command line drops servers that are not named, except those of its file.
        here = {name: {"type": "sdk", "name": name} for name in query.sdk_mcp_servers if name not in without}
        request = {
            "subtype": "mcp_set_servers",
            "servers": {**self._added, **here},
            "denied_tools": self._hidden,
        }
        await _await_control(query._send_control_request(request))

    async def kill(self) -> None:
        """Kill an agent that does not stop when asked, and what it has started; `messages()` then raises."""
        if self._descendants is not None:
            await apart(self._descendants.refresh)
        self._transport.kill()
        await self._end_descendants()

    async def end_orphans(self) -> None:
        """End the processes that an agent that has ended left behind; never raises."""
        if self._transport.pid is None:
            await self._end_descendants()

    async def disconnect(self) -> None:
        """Disconnect the agent, and end it and what it has started; never raises."""
        try:
            if self._descendants is not None:
                self._remembering.plan(self._descendants.refresh)
                await apart(self._remembering.finish)
                # The command line asks only every 50 ms whether a server that it has interrupted has ended.
                await apart(partial(self._descendants.interrupt, PROGRAM))
            await asyncio.wait_for(self._client.disconnect(), 9.0)
        except Exception as error:
            log.info("the agent did not end cleanly: %s", error)
        finally:
            self._transport.kill()
            await self._end_descendants()
            # Not before: without this program, it ends what is left.
            if self._guard is not None:
                await self._guard.close()

    async def _end_descendants(self) -> None:
        if self._descendants is not None and (ended := await apart(self._descendants.end)):
            log.info("processes that the agent had left behind were ended: %s", ", ".join(map(clean, ended)))

    @property
    def last_line(self) -> str:
        """The last line of its standard error."""
        return self._stderr.last_line

    def _last_words(self) -> str:
        return f"; it said: {self.last_line}" if self.last_line else ""


def _tree_of(pid: int) -> ProcessTree:
    from ua_tui.core.concurrency.process_tree import ProcessTree

    return ProcessTree(pid)


async def _serve_here(query: Any, name: str, instance: Any) -> None:
    """Have the SDK serve an in-process server, in place of an earlier one of that name."""
    from claude_agent_sdk._internal.sdk_mcp_bridge import SdkMcpBridge

    old = query._sdk_mcp_bridges.get(name)
    query.sdk_mcp_servers[name] = instance
    query._sdk_mcp_bridges[name] = SdkMcpBridge(name, instance)
    if old is not None:
        await old.aclose()


async def _await_control(request: Awaitable[object]) -> None:
    try:
        await request
    except Exception as error:
        # The SDK raises bare exceptions for refusals and for late answers.
        raise ConnectionFailed(clean(str(error)) or type(error).__name__) from error


async def _one(text: str, message_id: str | None, files: Sequence[Attachment]) -> AsyncIterator[JsonObject]:
    # The agent's own commands are its command line's to read; everything else reaches the model as it is written.
    is_command = text.startswith("/") and not text.startswith(_PROMPT_OF_SERVER)
    text = without_mentions(text) if is_command else text
    message = {
        "type": "user",
        "message": {
            "role": "user",
            "content": [*(each.block for each in files), {"type": "text", "text": text}],
        },
        "parent_tool_use_id": None,
        "client_composed": not is_command,
    }
    yield message if message_id is None else message | {"uuid": message_id}


def _exit_of(code: int | None) -> str:
    if code is None:
        return "no exit code"
    if code < 0:
        try:
            return f"ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
