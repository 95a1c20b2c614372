from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.events.types import QueryFinished, ToolCallFinished
from core.knowledge.database import FILE
from core.records.journal import read_journal
from tests.e2e.at_work import cpu_seconds
from tests.e2e.running import environment, run
from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model
from tests.e2e.terminal import terminal
from tests.observers.knowledge.recorded import passages

KEY = "sk-ant-canary-4711-aaaaaaaaaaaa"
TITLE = "\x1b]0;PWNED\x07"
CLIPBOARD = "\x1b]52;c;UFdORUQ=\x07"
LINK = "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07"
CLEAR = "\x1b[2J\x1b[31m"
C1 = "\x9b31mred\x9d0;PWNED\x9c"
BIDI = "\u202eevil\u202c\u200b"
ESCAPES = TITLE + CLIPBOARD + LINK + CLEAR + C1 + BIDI
MARKUP = "[/] [/foo] [link=file:///x]y[/] [@click=app.quit]quit[/] [$foo] a[0]['x'] \\[red] [bold"
WRITE = "mcp__local_toolkit__write_local_file"


def hostile(body: dict[str, Any], results: int) -> Sequence[Block]:
    if results == 0:
        return [
            Thinking(f"thinking {ESCAPES} {MARKUP}"),
            Text(
                f"# Heading {ESCAPES}\n\n{MARKUP}\n\n- item {ESCAPES}\n\n```python\nprint('{CLEAR}')\n```\n"
            ),
            Use(WRITE, {"path": "work_products/[red]name.html", "content": f"<h1>{MARKUP}</h1>{ESCAPES}"}),
            Use(WRITE, {"path": f"../{TITLE}escape.html", "content": "x"}),
            Use(f"nothing_{CLEAR}[/]", {"api_key": KEY, "query": ESCAPES + MARKUP}),
        ]
    return [Text(f"done {ESCAPES} {MARKUP} the key is {KEY}")]


def injected(written: bytes) -> list[bytes]:
    """What of the hostile text reached a terminal as control sequences."""
    signs = [
        b"PWNED\x07",
        b"\x1b]52;",
        b"evil.example\x07",
        b"\x1b]0;",
        b"\xc2\x9b",
        b"\xc2\x9d",
        b"\xe2\x80\xae",
    ]
    return [sign for sign in signs if sign in written]


def real_server(base: Path, url: str) -> dict[str, str]:
    return environment(base, ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY=KEY, UA_CLASSIFIER="rules")


def test_hostile_text_is_harmless_in_every_file_and_on_every_stream(tmp_path: Path) -> None:
    with scripted_model(hostile) as url:
        done = run(tmp_path, "run", "Research this", env=real_server(tmp_path, url))
    assert done.code == 0, done.stderr
    for stream in (done.stdout, done.stderr):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", stream)
        assert KEY not in stream
    statuses = [e.status for e in done.of(ToolCallFinished)]
    assert statuses == ["success", "error", "error"]
    assert not list(tmp_path.rglob("*escape.html"))
    for path in tmp_path.rglob("*"):
        if path.is_file() and ".local" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            assert KEY not in text, path
            if not {"work_products", "SAVED_REPORTS", FILE} & set(path.parts):
                assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), path
    indexed = passages(done.session.parent / FILE)
    assert indexed
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", "".join(map("".join, indexed)))


def test_hostile_text_is_shown_literally_in_every_pane(tmp_path: Path) -> None:
    with (
        scripted_model(hostile) as url,
        terminal(tmp_path, columns=200, rows=50, env=real_server(tmp_path, url)) as screen,
    ):
        screen.wait_for("mcp 1/1")
        screen.type("Research this\r")
        screen.wait_for("done", "ready")
        seen = screen.wait_for("[link=file:///x]y[/]", "[red]name.html")
        assert "[@click=app.quit]quit[/]" in seen
        for key in ("\x1bOR", "\x1b[B", "\x1b[A", "\r"):
            screen.type(key)
            screen.read(0.3)
        screen.settle()
        screen.type("\x1b")
        screen.settle()
        screen.type("\x1b[15~")
        screen.settle()
        screen.type("\x1b[F")
        screen.settle()
        screen.type("\r")
        screen.settle()
        screen.type("\x1b")
        screen.settle()
        screen.type("\x11")
        assert screen.end() == 0
        assert injected(screen.written) == []
        assert b"Traceback" not in screen.written
    (folder,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    events = read_journal(folder / "journal.jsonl").events
    assert [e.status for e in events if isinstance(e, QueryFinished)] == ["success"]


def huge(body: dict[str, Any], results: int) -> Sequence[Block]:
    line = json.dumps({"rows": ["x" * 1000] * 5000})
    table = "|" + "a|" * 20 + "\n|" + "-|" * 20 + "\n" + ("|" + "cell|" * 20 + "\n") * 500
    return [Text(f"begin\n\n{table}\n\n{line}\n\nend of it")]


def test_a_huge_answer_leaves_the_screen_alive(tmp_path: Path) -> None:
    with scripted_model(huge) as url, terminal(tmp_path, env=real_server(tmp_path, url)) as screen:
        screen.wait_for("mcp 1/1")
        screen.type("Research this\r")
        screen.wait_for("ready", "end of it")
        # In seconds of a processor, which a busy machine does not change.
        program = screen.child.pid or 0
        before = cpu_seconds(program)
        screen.type("still here")
        screen.wait_for("still here")
        assert cpu_seconds(program) - before < 5
        screen.type("\x11")
        assert screen.end() == 0
