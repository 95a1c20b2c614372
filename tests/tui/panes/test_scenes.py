"""Scenes of the panes: what events and keys put on the screen, played from the texts in `scenes/<pane>.txt`.

A scene begins with `# its name [width x height]`; then each line is one step:

    > Event field=value …        an event, or a short form of `SHORT`; lines without a blank between come at once
    press, type, click, double, reveal, reading, resize, clock   what somebody does, or the time
    + text      - text           it is on the screen, or is not
    2x text                      it is there that often
    3 + text    3 - text         the same of one row (0 is the first; blank rows do not count)
    3 ^ text    3 $ text         what the row begins or ends with, without the blanks around it
    3 ~ text                     the whole row, its columns one blank apart
    order a | b                  these follow each other
    rows, title, keys, cursor …  the facts of `FACTS`, each with what it must be
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.events import Paste
from textual.pilot import Pilot

from tests.tui.pane_host import PaneHost, at, finished, handle_events, note_events, rows, started
from tests.waiting import until
from ua_tui.core import observation
from ua_tui.core.events import types
from ua_tui.core.events.types import UNSTAMPED, Event
from ua_tui.core.observation import TextContent
from ua_tui.core.settings.model import Settings
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.observers.pane import ObserversPane
from ua_tui.tui.panes.status.facts import StatusFacts
from ua_tui.tui.panes.status.layout import lay_out
from ua_tui.tui.panes.trace.pane import TracePane

SCENES = Path(__file__).with_name("scenes")
SHORT = {
    "asked": ("QueryReceived", "text"), "complex": ("QueryClassified",), "delta": ("TextDelta", "text"),
    "wrote": ("MessageFinished", "text"), "thought": ("ThinkingDelta", "text"), "end": ("QueryFinished", "status"),
    "agent": ("SubagentStarted", "tool_use_id", "name"), "back": ("SubagentFinished", "tool_use_id", "name"),
    "retry": ("ApiRetry", "attempt"), "began": ("ObserverStarted", "run_id"),
    "observed": ("ObserverFinished", "run_id", "status"), "saved": ("ArtifactSaved", "path"),
}  # fmt: skip
"""Short names of events, each with the fields that are given by their places."""
GIVEN: dict[str, Any] = {
    "query_id": "q", "message_id": "m", "request_id": "p", "task_id": "k", "decision": "COMPLEX", "source": "rule",
    "max_attempts": 10, "delay_ms": 1000, "observer": "search", "tool_use_id": "t", "kind": "k", "size": 1,
    "sha256": "", "session_id": "s", "workspace": "/w", "cwd": "/c", "version": "1", "usage": {},
}  # fmt: skip
"""What an event has where a scene does not say it."""


@dataclass
class Stage:
    """A pane that plays one scene."""

    pane: Any
    host: PaneHost
    pilot: Pilot[None]
    clock: list[float]
    waiting: list[Event] = field(default_factory=list)

    @property
    def rows(self) -> list[str]:
        """The rows that are not blank, without the column of the cursor."""
        return [row[self.pane.GUTTER :] for row in rows(self.pane) if row.strip(" ▌")]

    def flush(self) -> None:
        events, self.waiting = self.waiting, []
        # The clock of the trace is that of the events.
        stale = (UNSTAMPED, at(0)) if isinstance(self.pane, TracePane) else (UNSTAMPED,)
        now = at(self.clock[0])
        events = [msgspec.structs.replace(each, at=now) if each.at in stale else each for each in events]
        if events:
            handle_events(self.pane, events)

    async def act(self, verb: str, given: str) -> None:
        """Take one step that is no event."""
        match verb:
            case "press":
                await self.pilot.press(*given.split())
            case "type":
                await self.pilot.press(*given)
            case "click" | "double":
                column, row = map(int, given.split())
                await self.pilot.click(self.pane, offset=(column, row), times=1 if verb == "click" else 2)
            case "paste":
                self.pane.post_message(Paste(f"{given}\x1b[2J"))
            case "reading":
                self.pane.show_reading(float(given))
            case "reveal":
                assert self.pane.reveal(given)
            case "resize":
                await self.pilot.resize_terminal(*size_of(given))
            case "clock":
                self.clock[0] = float(given)
                self.pane._advance()
                return
            case _:
                expect(self, verb, given)
                return
        await self.pilot.pause()
        await until(lambda: not (search := getattr(self.pane, "search", None)) or not search.busy)

    def parts(self, name: str) -> list[str]:
        """The texts in the style of this name, from above."""
        style = self.pane.palette[f"lines--{name}"]
        drawn = [part for y in range(self.pane.size.height) for part in self.pane.render_line(y)]
        return [text for text, own, _ in drawn if own and own.bgcolor == style.bgcolor and text.strip()]


FACTS: dict[str, Callable[[Any], object]] = {
    "rows": lambda stage: len(stage.rows),
    "title": lambda stage: stage.pane._border_title.plain,
    "indents": lambda stage: " ".join(str(len(row) - len(row.lstrip())) for row in stage.rows),
    "subtitle": lambda stage: stage.pane.border_subtitle,
    "harmless": lambda stage: "".join((*stage.rows, stage.pane._border_title.plain)).isprintable(),
    "marked": lambda stage: "|".join(stage.parts("found-current")),
    "keys": lambda stage: " ".join(str(entry.key) for entry in stage.pane.entries),
    "cursor": lambda stage: stage.pane.cursor.key,
    "opened": lambda stage: ", ".join(stage.host.opened),
    "following": lambda stage: stage.pane.following,
    "ticking": lambda stage: stage.pane._timer._active.is_set(),
}
TEXT: dict[str, Callable[[str, str], bool]] = {
    "+": lambda seen, text: text in seen,
    "-": lambda seen, text: text not in seen,
    "^": lambda seen, text: seen.strip(" ▌").startswith(text),
    "$": lambda seen, text: seen.endswith(text),
    "~": lambda seen, text: " ".join(seen.strip(" ▌").split()) == text,
}


def expect(stage: Any, verb: str, given: str) -> None:
    """Check one line of a scene against what the pane shows."""
    seen = "\n".join(stage.rows)
    if verb in FACTS:
        assert str(FACTS[verb](stage)) == given, seen
    elif verb in TEXT:
        assert TEXT[verb](seen, given), (verb, given, seen)
    elif verb == "titled":
        assert given in stage.pane._border_title.plain
    elif verb == "found":
        (part, *_) = stage.parts("found-current")
        assert given in [row.strip() for row in stage.rows if part in row], (part, seen)
    elif verb == "order":
        found = re.search(".*?".join(map(re.escape, given.split(" | "))), seen, re.DOTALL)
        assert found, (given, seen)
    elif verb.endswith("x"):
        assert seen.count(given) == int(verb[:-1]), (given, seen)
    else:
        how, _, text = given.partition(" ")
        assert TEXT[how](stage.rows[int(verb)], text), (verb, given, seen)


def size_of(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)


def value_of(text: str) -> Any:
    """A number, a list or a text in JSON; anything else is a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def event_of(line: str) -> Event:
    """Read `Name word … field=value …`."""
    found = re.findall(r'(?:([a-z_0-9]+)=)?("(?:[^"\\]|\\.)*"|[\[{].*?[\]}](?= |$)|\S+)', line)
    (_, name), *pairs = found
    words = [value_of(text) for key, text in pairs if not key]
    fields = {key: value_of(text) for key, text in pairs if key}
    parent = fields.pop("parent", None)
    if name == "call":
        return started(words[0], words[1], parent, fields.pop("query", "q"), **fields)
    if name == "done":
        return finished(*words, **fields)
    if name == "observing":
        return seen(*words, **fields)
    kind, *places = SHORT.get(name, (name,))
    cls = getattr(types, kind)
    needed = {each.name for each in msgspec.structs.fields(cls) if each.required}
    if parent:
        fields["parent_tool_use_id"] = parent
    fields |= {"at": at(fields.pop("at", 0)), **dict(zip(places, words, strict=False))}
    event: Event = msgspec.convert({key: GIVEN[key] for key in needed & set(GIVEN)} | fields, cls)
    return event


def seen(
    call: str, kind: str, status: Any = "success", seconds: float = 0.4, text: str = "ok", **fields: Any
) -> Event:
    """A call has ended with an observation of this class."""
    content = (TextContent(text),)
    made = getattr(observation, kind)(tool_name="x", tool_use_id=call, server="s", content=content, **fields)
    return finished(call, status, seconds, observation=made)


@dataclass
class StatusStage:
    """The status line, which needs no application to play a scene."""

    pane: StatusFacts
    clock: list[float]
    width: int
    state: str = "idle"
    waiting: list[Event] = field(default_factory=list)

    @property
    def rows(self) -> list[str]:
        line = lay_out(self.pane.cells(self.state, 0, self.width), [["F1 keys"]], self.width)
        assert line.cell_length <= self.width
        return [line.plain]

    def flush(self) -> None:
        while self.waiting:
            note_events(self.pane, self.waiting.pop(0))

    async def act(self, verb: str, given: str) -> None:
        """Take one step that is no event."""
        match verb:
            case "clock":
                self.clock[0] = float(given)
            case "resize":
                self.width, _ = size_of(given)
            case "state":
                self.state = given
            case "limit":
                view = self.pane.view
                view.costs = msgspec.structs.replace(view.costs, limit=float(given))
            case "says":
                told = [f"{label}: {text}" for label, text in self.pane.describe()]
                assert any(given in each for each in told), (given, told)
            case _:
                expect(self, verb, given)


def scenes(*panes: str) -> Iterator[Any]:
    """Each scene of these panes, with the name of the pane, the size and the steps."""
    for pane in panes:
        for scene in scenes_of(SCENES / f"{pane}.txt"):
            name, _, size = str(scene.id).removesuffix("]").partition(" [")
            yield pytest.param(pane, size_of(size), *scene.values, id=f"{pane}: {name}")


def scenes_of(path: Path) -> Iterator[Any]:
    """The steps of each scene of a file."""
    for text in path.read_text(encoding="utf-8").split("\n# ")[1:]:
        head, *lines = text.splitlines()
        yield pytest.param(lines, id=head)


def pane_of(kind: str, clock: list[float]) -> Any:
    match kind:
        case "conversation":
            pane = ConversationPane(clock=lambda: at(clock[0]).timestamp())
            pane.suggestions.offer(Settings())
            return pane
        case "trace":
            return TracePane(clock=lambda: at(clock[0]).timestamp())
        case _:
            return ObserversPane()


@pytest.mark.parametrize(("kind", "size", "lines"), scenes("conversation", "observers", "status", "trace"))
async def test_the_scene_is_shown(kind: str, size: tuple[int, int], lines: list[str]) -> None:
    clock = [0.0]
    if kind == "status":
        await play(StatusStage(StatusFacts(clock=lambda: at(clock[0]).timestamp()), clock, size[0]), lines)
        return
    host = PaneHost(pane_of(kind, clock))
    async with host.run_test(size=size) as pilot:
        await pilot.pause()
        await play(Stage(host.pane, host, pilot, clock), lines)


async def play(stage: Stage | StatusStage, lines: list[str]) -> None:
    for line in lines:
        verb, _, given = line.partition(" ")
        if verb == ">":
            stage.waiting.append(event_of(given))
            continue
        stage.flush()
        if verb:
            await stage.act(verb, given.replace("\\n", "\n"))
