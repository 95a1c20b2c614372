"""The pace of the demo: text in pieces that a person can follow, or all at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import msgspec

PROSE = 34.0
LONG_INPUT = 92.0
THINKING = 55.0
TICK = 0.06
HURRIED_WORDS = 24
WORD = re.compile(r"\S+\s*|\s+")


class Pace(msgspec.Struct, frozen=True):
    """With `factor` 1.0 a person can follow, 2.0 is twice as slow, and 0 does not wait at all."""

    factor: float

    async def wait(self, seconds: float) -> None:
        """Wait for `seconds` at this pace."""
        if self.factor > 0:
            await asyncio.sleep(seconds * self.factor)

    async def pieces(self, text: str, words_per_second: float) -> AsyncIterator[str]:
        """Give `text` in pieces that join to it exactly, waiting between them."""
        words = WORD.findall(text)
        if self.factor <= 0:
            for start in range(0, len(words), HURRIED_WORDS):
                yield "".join(words[start : start + HURRIED_WORDS])
            return
        per_tick = max(1, round(words_per_second * TICK))
        for start in range(0, len(words), per_tick):
            piece = words[start : start + per_tick]
            yield "".join(piece)
            await self.wait(len(piece) / words_per_second)
