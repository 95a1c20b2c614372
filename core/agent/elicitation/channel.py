"""Answers the requests of the command line that servers make of the person; the SDK knows no answer to them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

log = logging.getLogger(__name__)

Ask = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Asks the person: the request of the command line -> the answer to the server. Cancelled if it is withdrawn."""


class ElicitationChannel:
    """Picks the requests out of the messages of the command line, and writes the answers.

    A request is withdrawn when its query is stopped, or when its server is gone or no longer waits.
    """

    def __init__(self, ask: Ask, write: Callable[[str], Awaitable[None]]) -> None:
        self._ask = ask
        self._write = write
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def handles(self, message: Mapping[str, Any]) -> bool:
        """Handle a message, if it is such a request or withdraws one; returns whether it is."""
        kind, request_id = message.get("type"), str(message.get("request_id"))
        if kind == "control_cancel_request" and request_id in self._waiting:
            self._waiting.pop(request_id).cancel()
            return True
        if kind != "control_request" or message["request"].get("subtype") != "elicitation":
            return False
        self._waiting[request_id] = asyncio.create_task(self._answer(request_id, message["request"]))
        return True

    def close(self) -> None:
        """Withdraw what waits: nobody reads an answer any more."""
        for task in self._waiting.values():
            task.cancel()
        self._waiting.clear()

    async def _answer(self, request_id: str, request: Mapping[str, Any]) -> None:
        try:
            answer = await self._ask(request)
        except Exception:
            log.exception("a request of an MCP server could not be answered")
            answer = {"action": "cancel"}
        self._waiting.pop(request_id, None)
        response = {"subtype": "success", "request_id": request_id, "response": answer}
        try:
            await self._write(json.dumps({"type": "control_response", "response": response}) + "\n")
        except Exception as error:
            # The command line is gone, and the server with it.
            log.info("the answer to an MCP server could not be sent: %s", error)
