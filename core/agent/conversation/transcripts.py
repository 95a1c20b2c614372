"""The transcripts of the command-line agent: whether it still knows a conversation, and what that has cost."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from string import hexdigits
from typing import Any, BinaryIO

import msgspec

from ua_tui.core.agent.bounds import LONGEST_NAME, PIECE
from ua_tui.core.agent.messages.usage import Spending

_COST_STATE = b'"type":"cost-state"'


class _CostState(msgspec.Struct):
    type: str
    total: float = msgspec.field(default=0.0, name="totalCostUSD")
    models: dict[str, Any] = msgspec.field(default_factory=dict, name="modelUsage")


def transcript_of(conversation: str, *, worked_in: Path, agent_home: Path) -> Path | None:
    """The agent's file of a conversation; None if it no longer exists.

    The agent stores them below its state, in a folder named after its working folder, and removes each some weeks
    after its last use.
    """
    if len(conversation) != 36 or not set(conversation) <= {*hexdigits, "-"}:
        return None
    projects = agent_home / "projects"
    key = re.sub(r"[^a-zA-Z0-9]", "-", unicodedata.normalize("NFC", os.path.realpath(worked_in)))
    # The agent truncates a long path, and appends a digest.
    names = [key] if len(key) <= LONGEST_NAME else _beginning_with(projects, key[:LONGEST_NAME])
    paths = (projects / name / f"{conversation}.jsonl" for name in names)
    return next((path for path in paths if path.is_file()), None)


def spending_so_far(transcript: Path) -> Spending:
    """What the agent has counted for a conversation.

    It records that at its end, and adds to the last record when the conversation is resumed. The file is read from the
    end: call this in a thread.
    """
    try:
        with open(transcript, "rb") as file:
            for _, line in lines_backwards(file):
                if _COST_STATE in line and (found := _spending_in(line)) is not None:
                    return found
    except OSError:
        return Spending()
    return Spending()


def lines_backwards(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from the last to the first, each with the offset at which it ends."""
    at, rest = file.seek(0, os.SEEK_END), b""
    end = at
    while at:
        size = min(at, PIECE)
        at -= size
        file.seek(at)
        block = file.read(size) + rest
        # The first line may have begun before this block.
        rest, *lines = block.split(b"\n") if at else (b"", *block.split(b"\n"))
        for line in reversed(lines):
            yield end, line
            end -= len(line) + 1


def _spending_in(line: bytes) -> Spending | None:
    try:
        state = msgspec.json.decode(line, type=_CostState)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return Spending(state.total, state.models) if state.type == "cost-state" else None


def _beginning_with(folder: Path, beginning: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(each.name for each in found if each.name.startswith(beginning))
    except OSError:
        return []
