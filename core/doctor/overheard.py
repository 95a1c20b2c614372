"""What a server says while it is tried that is none of the protocol: words on its output, or an answer in HTML."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["Overheard"]


class Overheard:
    """Listens to a server that is tried.

    Attributes:
        words: the first line that it printed and that is no message of the protocol; None while there is none.
        spoke: whether it has said anything that is one.
        status: the first HTTP status with which it refused; 0 while there is none.
        is_page: whether it answered with a web page.
    """

    def __init__(self, on_words: Callable[[], object] = lambda: None) -> None:
        self.words: str | None = None
        self.spoke = False
        self.status = 0
        self.is_page = False
        self._on_words = on_words

    async def look(self, response: Any) -> None:
        """Take an HTTP answer; the client's error does not say what it was."""
        # 405 is one without a stream of its own.
        if response.status_code >= 400 and response.status_code != 405 and not self.status:
            self.status = response.status_code
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self.is_page = self.is_page or (response.status_code < 400 and kind == "text/html")

    @asynccontextmanager
    async def of(self, transport: Any) -> AsyncIterator[tuple[Any, Any]]:
        """Listen to what a program prints; used in place of its transport."""
        import anyio

        async with transport as (read, write), anyio.create_task_group() as group:
            sender, receiver = anyio.create_memory_object_stream[Any](0)

            async def relay() -> None:
                async with sender:
                    try:
                        async for message in read:
                            self._note(message)
                            await sender.send(message)
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        return

            group.start_soon(relay)
            try:
                yield receiver, write
            finally:
                group.cancel_scope.cancel()
                receiver.close()

    def _note(self, message: Any) -> None:
        if not isinstance(message, Exception):
            self.spoke = True
            return
        line = _line_of(message)
        if self.words is None and line.strip():
            self.words = line.strip()
            self._on_words()


def _line_of(error: Exception) -> str:
    """The line that could not be read, as the error of the library that read it has it."""
    errors = getattr(error, "errors", None)
    found = errors() if callable(errors) else ()
    return next((given for each in found if isinstance(given := each.get("input"), str)), "")
