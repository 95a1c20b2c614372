"""A terminal that changes its size while the answer comes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.e2e.running import environment
from tests.e2e.scripted_model import PIECES, Block, Text, scripted_model
from tests.e2e.terminal import CONVERSATION, Terminal, terminal

WORDS = [f"word-{number:03}" for number in range(240)]
SIZES = [(60, 20), (200, 50), (20, 5), (1, 1), (3, 30), (1, 1), (120, 40)]
PAGE_DOWN, HOME = "\x1b[6~", "\x1b[H"


def long_answer(body: dict[str, Any], results: int) -> Sequence[Block]:
    return [Text("\n".join(f"- {word} and what there is to say of it" for word in WORDS) + "\n\nThe end.")]


def differs(screen: Terminal, shown: str) -> bool:
    return screen.text != shown


def test_an_answer_is_whole_whatever_size_it_came_in(tmp_path: Path) -> None:
    pieces = threading.Semaphore(40)
    with scripted_model(long_answer, before_piece=pieces.acquire) as url:
        env = environment(
            tmp_path, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="sk-ant-1", UA_CLASSIFIER="rules"
        )
        with terminal(tmp_path, env=env) as screen:
            screen.wait_for("ready")
            screen.type("Research this\r")
            screen.wait_for(WORDS[9])
            for columns, rows in SIZES:
                screen.resize(columns, rows)
                pieces.release(20)
                # It never rests while an answer comes.
                screen.settle(within=1.0)
                if columns == 3:
                    screen.type("draft")
            assert "The end." not in screen.text
            pieces.release(PIECES)
            screen.wait_for("The end.", "● ready", "draft")
            assert screen.taken
            screen.type(CONVERSATION + HOME)
            screen.wait_for(WORDS[0], lambda text: "The end." not in text)
            screen.settle()
            seen = shown = screen.text
            while "The end." not in shown:
                screen.type(PAGE_DOWN)
                screen.wait_until(partial(differs, screen, shown))
                screen.settle()
                shown = screen.text
                seen += shown
            assert [word for word in WORDS if word not in seen] == []
            screen.quit()
