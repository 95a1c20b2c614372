"""Results that wait for an observer: the first in memory, the others in an unnamed file."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import weakref
from contextlib import suppress
from queue import SimpleQueue

import msgspec

from ua_tui.core.concurrency.threads import in_context
from ua_tui.core.observation import ToolResult

_log = logging.getLogger(__name__)
_SMALLEST_SPOOLED = 4_096
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ToolResult)


class WaitingResult(msgspec.Struct):
    """A waiting result, shared by the observers that want it, in memory or in the file."""

    result: ToolResult | None
    spool: SpoolFile | None = None
    offset: int = 0
    length: int = 0

    def load(self) -> ToolResult:
        """The result, read back from the file if necessary; for worker threads."""
        result = self.result
        if result is not None:
            return result
        assert self.spool is not None
        return self.spool.read(self.offset, self.length)


class SpoolFile:
    """Moves results out of memory, in its own thread; the file is removed with the process."""

    def __init__(self) -> None:
        self._file, name = tempfile.mkstemp(prefix="ua-results-")
        os.unlink(name)
        weakref.finalize(self, os.close, self._file)
        self._end = 0
        self._queue: SimpleQueue[WaitingResult | None] = SimpleQueue()
        threading.Thread(target=in_context(self._work), name="observer-spool", daemon=True).start()

    def put(self, waiting: WaitingResult) -> None:
        """Schedule moving a result to the file."""
        self._queue.put(waiting)

    def read(self, offset: int, length: int) -> ToolResult:
        """Read a result back."""
        return _DECODER.decode(os.pread(self._file, length, offset))

    def close(self) -> None:
        """Stop moving results; those in the file can still be read."""
        self._queue.put(None)

    def _work(self) -> None:
        while (waiting := self._queue.get()) is not None:
            result = waiting.result
            if result is None:
                continue
            # A result that cannot be encoded (a lone surrogate) or a full disk leaves it where it is.
            with suppress(OSError, ValueError, TypeError, RecursionError):
                data = _ENCODER.encode(result)
                if len(data) < _SMALLEST_SPOOLED:
                    continue
                self._write(data)
                waiting.spool, waiting.offset, waiting.length = self, self._end, len(data)
                self._end += len(data)
                waiting.result = None
            del result

    def _write(self, data: bytes) -> None:
        rest, place = memoryview(data), self._end
        while rest:
            count = os.pwrite(self._file, rest, place)
            rest, place = rest[count:], place + count
