"""Small requests to the model, each a run of the Claude Code CLI, which has the login and the prices."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.agent.client import AgentClient
from ua_tui.core.agent.environment import cli_environment
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.usage import Prices, Spending, model_reports
from ua_tui.core.agent.options import own_environment
from ua_tui.core.agent.sdk_import import import_sdk
from ua_tui.core.errors import ConnectionFailed, UniversalAgentError
from ua_tui.core.provider.request import SmallReply
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.parsers import read_prices
from ua_tui.core.tasks import end_tasks
from ua_tui.core.text import clean_line
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

_MODEL = "haiku"
_ENDING_SECONDS = 3.0
# A person waits for the reply: the default retries for minutes.
_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "2"}


class LoginRequests:
    """Asks the model outside of the conversation, through a command line without tools, settings and history.

    `private` is the private folder of the session, and `environ` our own environment. `home` is where the command line
    keeps its state, if that is not where it finds a login; `model` is asked, by default the simple one.
    """

    def __init__(
        self,
        settings: Settings,
        private: Path,
        environ: Mapping[str, str],
        *,
        home: Path | None = None,
        model: str | None = None,
    ) -> None:
        self.model = model or settings.simple_model or _MODEL
        self.prices = Prices(read_prices(settings.prices))
        self._settings = settings
        self._private = private
        self._environ = environ
        self._home = home
        self._running: dict[asyncio.Task[None], asyncio.Future[SmallReply]] = {}

    async def ask(self, system: str, text: str) -> SmallReply:
        """Ask the model; the command line ends in the background, after the reply or when this is cancelled.

        Raises:
            ConnectionFailed: there is no reply.
        """
        reply: asyncio.Future[SmallReply] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(system, text, reply), name="agent:small request")
        self._running[task] = reply
        task.add_done_callback(self._running.pop)
        try:
            return await reply
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def read_price_list(self) -> None:
        """Have the command line list the prices of its models, for `prices`; the model is not asked.

        Raises:
            UniversalAgentError: it cannot be started.
        """
        client = AgentClient(await self._options(""), MalformedMessages())
        await client.connect()
        try:
            self.prices.read_list(await client.listed("models"))
        finally:
            await client.disconnect()

    async def close(self) -> None:
        """End the requests that still run; where the reply has come the command line may end by itself."""
        running = dict(self._running)
        for task, reply in running.items():
            if not reply.done():
                task.cancel()
        if running:
            await asyncio.wait(running, timeout=_ENDING_SECONDS)
        await end_tasks(*running)

    async def _run(self, system: str, text: str, reply: asyncio.Future[SmallReply]) -> None:
        try:
            client = AgentClient(await self._options(system), MalformedMessages())
            await client.connect()
            try:
                await client.query(text)
                result = await self._result_of(client)
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
                reply.set_exception(ConnectionFailed("a small request to the model was cancelled"))

    async def _options(self, system: str) -> sdk.ClaudeAgentOptions:
        loaded = await asyncio.to_thread(import_sdk)
        given = own_environment(self._settings, self._home, self._private)
        options: sdk.ClaudeAgentOptions = loaded.ClaudeAgentOptions(
            system_prompt=system,
            tools=[],
            strict_mcp_config=True,
            setting_sources=[],
            max_turns=1,
            model=self.model,
            effort="low",
            cwd=self._private,
            cli_path=self._settings.cli_path,
            env=cli_environment(self._environ, _RETRIES | given, self._settings.cloud),
            client_app=f"ua-tui/{VERSION}",
            extra_args={"no-session-persistence": None},
        )
        return options

    async def _result_of(self, client: AgentClient) -> SmallReply:
        import claude_agent_sdk as sdk

        async with aclosing(client.messages()) as messages:
            async for message in messages:
                if isinstance(message, sdk.ResultMessage):
                    if message.is_error:
                        raise ConnectionFailed(str(message.result or message.subtype))
                    spending = Spending(message.total_cost_usd or 0.0, model_reports(message.model_usage))
                    self.prices.measure(spending.models)
                    cost, _ = self.prices.cost_between(Spending(), spending)
                    answered = next(iter(spending.models), self.model)
                    return SmallReply(message.result or "", cost, answered, message.usage)
        raise ConnectionFailed("the command line ended without a reply")
