"""What a session without a full screen says of its events, played from `narrated.txt`.

`> Event …` is an event as in `tests/tui/panes/test_scenes.py`, and `typed` is what stands on the line of the person
already. The lines with `=` are all that was said since the ones before, `none` is nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.panes.test_scenes import event_of, scenes_of
from ua_tui.tui.plain.narrator import Narrator


@pytest.mark.parametrize("lines", scenes_of(Path(__file__).with_name("narrated.txt")))
def test_what_is_said(lines: list[str]) -> None:
    said, expected = list[str](), list[str]()
    narrator = Narrator(said.append)
    for line in (*lines, ">"):
        verb, _, given = line.partition(" ")
        if verb == "=":
            expected.append(given)
            continue
        if expected:
            assert "\n".join(said).splitlines() == expected
            said.clear()
            expected = []
        match verb:
            case ">" if given:
                narrator(event_of(given))
            case "typed":
                narrator.typed = given
            case "none":
                assert said == []


@pytest.mark.parametrize(("read_aloud", "expected"), [
    (True, "Agent: It is Paris (https://a.example)."),
    (False, "Agent: It is **[Paris](https://a.example)**."),
])  # fmt: skip
def test_an_answer_is_read_aloud_without_its_markup(read_aloud: bool, expected: str) -> None:
    said = list[str]()
    narrator = Narrator(said.append, read_aloud=read_aloud)
    narrator(event_of('wrote "It is **[Paris](https://a.example)**."'))
    narrator(event_of('end success text="It is **[Paris](https://a.example)**." duration_ms=1000'))
    assert said == [expected, "Done in 1.0 s"]
