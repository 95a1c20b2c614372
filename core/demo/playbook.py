"""The playbooks of the demo: the types of their data files, and the loader; and the pace at which they are played."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.resources import files
from typing import Literal

import msgspec

from ua_tui.core.json_values import JsonObject

FOLDER = "playbooks"
PLAYBOOK_SUFFIX = ".playbook.json"


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tool call; strings of `input` may hold `${name}`, and `{"$value": name}` is replaced whole.

    `{"$file": name}` stands for the text of a file beside the playbook.
    """

    tool: str
    input: JsonObject = {}


class PlaybookStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model: thinking, text, tool calls, in this order.

    `values` are taken from the conversation, so that text and calls use real data: expressions of Jinja. In them
    `result(tool)` is the newest result of a tool, or of a slug inside a MULTI_EXECUTE input, as JSON, and `text(tool)`
    its text, which may have been cut. `find(regex, text)` lists what its first group matches. `prompt` is the first
    message of the conversation, `workspace` the session's folder, and `tools` the names of the tools that the session
    offers. `rows | each("{n}. {title}")` writes a line for each row with its own fields.

    `when` lets a step stand among alternatives; the first whose expression is true is played. `failed` is played
    instead of the next step when a call of this one failed or was refused. `overloads` answers that many requests with
    "overloaded" first. `speed` multiplies how fast it streams.
    """

    thinking: str = ""
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    values: dict[str, str] = {}
    when: str = ""
    failed: PlaybookStep | None = None
    ignore_failures: bool = False
    overloads: int = 0
    speed: float = 1.0


Steps = tuple[PlaybookStep | tuple[PlaybookStep, ...], ...]


class ScriptedEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another way into a playbook: what a later message says, and the steps it starts."""

    match: tuple[str, ...]
    steps: Steps


class AgentPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of a sub-agent with `match` in its prompt; `sent_back` is for one that a hook sent back."""

    match: tuple[str, ...]
    steps: Steps
    sent_back: Steps = ()


class RecordedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a remote tool if its arguments, as JSON, match `match`."""

    slug: str
    match: str
    result: JsonObject


class ScriptedOpinion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The second opinion on claims in whose sentence `match` is found, and the words of the passage that decide."""

    match: str
    opinion: str
    words: str = ""


class Playbook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scene of the demo: the prompt that starts it, and everything that follows."""

    title: str
    prompt: str
    match: tuple[str, ...]
    classification: Literal["SIMPLE", "COMPLEX"]
    steps: Steps
    entries: tuple[ScriptedEntry, ...] = ()
    agents: dict[str, AgentPart] = {}
    recordings: tuple[RecordedAnswer, ...] = ()
    opinions: tuple[ScriptedOpinion, ...] = ()


class Library(msgspec.Struct, frozen=True):
    """All playbooks by name, in order, and the text files beside them."""

    playbooks: Mapping[str, Playbook]
    texts: Mapping[str, str]

    def named(self, query: str) -> Playbook | None:
        """Find the playbook whose opening words are in `query`."""
        return next((book for book in self.playbooks.values() if any_match(book.match, query)), None)

    def recordings(self, slug: str) -> Sequence[RecordedAnswer]:
        """List what is recorded for a remote tool, over all playbooks."""
        return [item for book in self.playbooks.values() for item in book.recordings if item.slug == slug]


def any_match(patterns: Sequence[str], text: str) -> bool:
    """Whether any of the regular expressions is found in `text`, whatever its case."""
    return any(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for pattern in patterns)


def load_library() -> Library:
    """Read all playbooks and the files next to them."""
    playbooks: dict[str, Playbook] = {}
    texts: dict[str, str] = {}
    folder = files("ua_tui.core.demo").joinpath(FOLDER)
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if not entry.is_file():
            continue
        text = entry.read_text("utf-8")
        if not entry.name.endswith(PLAYBOOK_SUFFIX):
            texts[entry.name] = text
            continue
        playbooks[entry.name.removesuffix(PLAYBOOK_SUFFIX)] = msgspec.json.decode(text, type=Playbook)
    return Library(playbooks, texts)


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
