"""What a session without a full screen says of its events, played from `narrated.txt`.

`> Event …` is an event as in `tests/tui/panes/test_scenes.py`, `wait` moves the clock, and `typed` is what stands on
the line of the person already. The lines with `=` are all that was said since the ones before, `none` is nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.panes.test_scenes import event_of, scenes_of
from ua_tui.tui.plain.narrator import Narrator


class Narrated:
    """A narrator with a clock that only a test moves."""

    def __init__(self, *, read_aloud: bool = False) -> None:
        self.lines: list[str] = []
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self.narrator = Narrator(
            self.lines.append,
            lambda seconds, call: self._timers.append((seconds, call)),
            read_aloud=read_aloud,
        )

    def wait(self, seconds: float) -> None:
        due = [call for at, call in self._timers if at <= seconds]
        self._timers = [(at - seconds, call) for at, call in self._timers if at > seconds]
        for call in due:
            call()


@pytest.mark.parametrize("lines", scenes_of(Path(__file__).with_name("narrated.txt")))
def test_what_is_said(lines: list[str]) -> None:
    narrated, expected = Narrated(), list[str]()
    for line in (*lines, ">"):
        verb, _, given = line.partition(" ")
        if verb == "=":
            expected.append(given)
            continue
        if expected:
            assert "\n".join(narrated.lines).splitlines() == expected
            narrated.lines.clear()
            expected = []
        match verb:
            case ">" if given:
                narrated.narrator(event_of(given))
            case "wait":
                narrated.wait(float(given))
            case "typed":
                narrated.narrator.typed = given
            case "none":
                assert narrated.lines == []


@pytest.mark.parametrize(("read_aloud", "expected"), [
    (True, "Agent: It is Paris (https://a.example)."),
    (False, "Agent: It is **[Paris](https://a.example)**."),
])  # fmt: skip
def test_an_answer_is_read_aloud_without_its_markup(read_aloud: bool, expected: str) -> None:
    narrated = Narrated(read_aloud=read_aloud)
    narrated.narrator(event_of('wrote "It is **[Paris](https://a.example)**."'))
    narrated.narrator(event_of('end success text="It is **[Paris](https://a.example)**." duration_ms=1000'))
    assert narrated.lines == [expected, "Done in 1.0 s"]
