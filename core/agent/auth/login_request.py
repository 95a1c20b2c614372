"""Small requests to the model with the Claude login alone: each is a run of the command line, which has the login."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.agent.client import AgentClient
from ua_tui.core.agent.environment import cli_environment
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.options import own_environment
from ua_tui.core.agent.sdk_import import import_sdk
from ua_tui.core.errors import ConnectionFailed, UniversalAgentError
from ua_tui.core.provider.request import SmallReply
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

_MODEL = "haiku"


class LoginRequests:
    """Asks the model outside of the conversation, through a command line without tools, settings and history.

    `private` is the private folder of the session, and `environ` our own environment.
    """

    def __init__(self, settings: Settings, private: Path, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._private = private
        self._environ = environ
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, system: str, text: str) -> SmallReply:
        """Ask the model; the command line ends in the background, after the reply or when this is cancelled.

        Raises:
            ConnectionFailed: there is no reply.
        """
        reply: asyncio.Future[SmallReply] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(system, text, reply), name="agent:small request")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await reply
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def close(self) -> None:
        """End the requests that still run."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, system: str, text: str, reply: asyncio.Future[SmallReply]) -> None:
        try:
            client = AgentClient(await self._options(system), MalformedMessages())
            await client.connect()
            try:
                await client.query(text)
                result = await _result_of(client)
                if not reply.done():
                    reply.set_result(result)
            finally:
                await client.disconnect()
        except UniversalAgentError as error:
            if not reply.done():
                message = f"the model did not answer a small request: {clean_line(str(error))}"
                reply.set_exception(ConnectionFailed(message))
        finally:
            if not reply.done():
                reply.set_exception(ConnectionFailed("a small request to the model was ended"))

    async def _options(self, system: str) -> sdk.ClaudeAgentOptions:
        loaded = await asyncio.to_thread(import_sdk)
        options: sdk.ClaudeAgentOptions = loaded.ClaudeAgentOptions(
            system_prompt=system,
            tools=[],
            strict_mcp_config=True,
            setting_sources=[],
            max_turns=1,
            model=self._settings.simple_model or _MODEL,
            effort="low",
            cwd=self._private,
            cli_path=self._settings.cli_path,
            env=cli_environment(self._environ, own_environment(self._settings, None, self._private)),
            client_app=f"ua-tui/{VERSION}",
            extra_args={"no-session-persistence": None},
        )
        return options


async def _result_of(client: AgentClient) -> SmallReply:
    import claude_agent_sdk as sdk

    async with aclosing(client.messages()) as messages:
        async for message in messages:
            if isinstance(message, sdk.ResultMessage):
                if message.is_error:
                    raise ConnectionFailed(str(message.result or message.subtype))
                return SmallReply(message.result or "", message.total_cost_usd, usage=message.usage)
    raise ConnectionFailed("the command line ended without a reply")
