"""What is said of an agent whose process ended."""

from __future__ import annotations

import pytest

from ua_tui.tui.render.agent_failures import known_causes

POINTER = (
    "ProcessError: Command failed with exit code {0} (exit code: {0})\n"
    "Error output: Check stderr output for details"
)


@pytest.mark.parametrize(("message", "code", "shown_text"), [
    ("the agent died (ended by SIGKILL)", -9, "lack of memory"),
    ("the agent died (ended by SIGTERM)", -15, "asked to end"),
    ("the agent died (ended by SIGSEGV)", -11, "crashed"),
    ("the agent died (ended by SIGXCPU)", -24, "signal SIGXCPU"),
    ("the agent died (exit code 3)", 3, "exit code 3 and gave no reason"),
])  # fmt: skip
def test_how_a_process_ended_is_shown_in_words(message: str, code: int, shown_text: str) -> None:
    (cause,) = known_causes(message, [POINTER.format(code)])
    assert shown_text in cause


def test_what_says_more_than_the_message_is_kept() -> None:
    assert known_causes("the agent died (exit code 1); it said: no disk", [POINTER.format(1)]) == ()
    assert known_causes("the agent is gone", ["OSError: gone", "OSError: gone"]) == ("OSError: gone",)
