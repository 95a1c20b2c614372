"""Untrusted text in every place where it can stand: it is shown, steers nothing and opens nothing.

Each surface says how the payloads of `hostile.toml` are fed in and what is read of them; all surfaces of a program are
crossed with all payloads in one start of it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.at_work import cpu_seconds
from tests.e2e.hostile import (
    ALT_UP,
    CLEAR,
    DOWN,
    END,
    ENTER,
    ESC,
    ESCAPES,
    HOME,
    KEY,
    MARKUP,
    NASTY,
    PASTED,
    PAYLOADS,
    UNSAFE,
    UP,
    WRITE,
    assert_harmless,
    lay_files,
    leave,
    press,
    real_server,
)
from tests.e2e.running import DEADLINE, NOWHERE, run
from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model
from tests.e2e.terminal import CONVERSATION, OBSERVERS, TRACE, WORKSPACE, Terminal, terminal
from tests.journals import read_journal
from tests.observers.knowledge.recorded import passages
from ua_tui.core.events.types import QueryFinished, ToolCallFinished
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.storage.workspace import VERSIONS

TITLE, CLEARED = PAYLOADS["title"], PAYLOADS["clear"]
CLICKABLE = re.compile(r"quit\[/\]|\[link=file:///x\]y|\[/foo\]|vscode://")
REFUSED = ("vscode://x", "-rf")
LOOKALIKE = "https://\u0430pple.com/look"
INVALID = f"1 validation error for [/x] [type=missing, input_value={{'a': '[@click=app.quit]'}}] {ESCAPES}"
CLI = f"""#!{sys.executable}
import sys

print({NASTY!r}, file=sys.stderr)
print({INVALID!r}, file=sys.stderr)
sys.stdout.write({NASTY!r} + "\\n")
sys.exit(3)
"""
ANSWER = f"""# Heading {ESCAPES}

{MARKUP}

- item {ESCAPES}

```python
print('{CLEARED}')
```

|a|
|-|
|{MARKUP}|
"""
CALLS = (
    Use(WRITE, {"path": "work_products/[red]name.html", "content": f"<h1>{MARKUP}</h1>{ESCAPES}"}),
    Use(WRITE, {"path": f"../{TITLE}escape.html", "content": "x"}),
    Use(f"nothing_{CLEARED}[/]", {"api_key": KEY, "query": ESCAPES + MARKUP}),
)
LINKS = "".join(f"- [link {number}]({url})\n" for number, url in enumerate((*REFUSED, LOOKALIKE)))


def given(kind: str) -> Use:
    """A call of a sub-agent with hostile arguments."""
    task = {"description": f"Look [/d] {ESCAPES}", "prompt": f"SUBWORK {NASTY}"}
    return Use("Agent", {"subagent_type": kind, **task})


@dataclass
class Enemy:
    """A model that says, calls and names hostile things; the query that names PERMISSION waits for `may_answer`."""

    may_answer: threading.Event = field(default_factory=threading.Event)

    def __call__(self, body: dict[str, Any], _results: int) -> Sequence[Block]:
        """Answer one request."""
        messages = [
            json.dumps(message["content"]) for message in body["messages"] if message["role"] == "user"
        ]
        if "SUBWORK" in messages[0]:
            ends, works = f"the sub-agent ends {NASTY}", (
                Thinking(f"the sub-agent thinks {NASTY}"),
                Text(f"the sub-agent speaks {NASTY}"),
                Use(WRITE, {"path": "work_products/[red]sub.html", "content": f"<h1>{NASTY}</h1>"}),
                Use(f"mcp__{TITLE}__[/x]", {"query": NASTY}),
            )  # fmt: skip
            return (Text(ends),) if '"tool_result"' in messages[-1] else works
        asked = [word for text in messages for word in re.findall("PERMISSION|LINKS", text)]
        match asked[-1:]:
            case ["LINKS"]:
                return (Text(f"{LINKS}\nIt ends here"),)
            case ["PERMISSION"] if '"tool_result"' not in messages[-1]:
                self.may_answer.wait(DEADLINE)
                return (Use("WebFetch", {"url": "https://a.example/x", "prompt": NASTY}),)
            case ["PERMISSION"]:
                return (Text(f"[the [/x] link](vscode://x/{TITLE}) is over"),)
        if '"tool_result"' in messages[-1]:
            return (Text(f"all is done {NASTY} the key is {KEY}"),)
        kinds = ("report-creation-expert", f"evil [/n]{ESCAPES}")
        return (Thinking(f"thinking {NASTY}"), Text(ANSWER), *CALLS, *map(given, kinds))


@dataclass
class Place:
    """A running program with its session, its model, and the file that says what a browser was asked for."""

    screen: Terminal
    session: Path
    model: Enemy
    opened: Path

    def click(self, x: int, y: int) -> None:
        """Click once."""
        self.screen.type(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")

    def click_all(self) -> int:
        """Click on all that looks as if it could be clicked; gives how often."""
        rows = enumerate(self.screen.text.splitlines())
        places = [(found.start() + 2, y) for y, line in rows for found in CLICKABLE.finditer(line)]
        for x, y in places:
            self.click(x, y)
        self.screen.settle()
        return len(places)

    def open_rows(self, key: str, rows: int, then: str) -> int:
        """Open one row of a pane after the other, with a key before each; gives how many could be opened."""
        opened = 0
        for _ in range(rows):
            press(self.screen, key + ENTER)
            if "Esc close" in self.screen.text:
                opened += 1
                press(self.screen, then)
                # The first one may stop work that is still going on.
                self.screen.press_until(ESC, lambda text: "Esc close" not in text)
        return opened


def conversation(place: Place) -> None:
    place.screen.type(f"{MARKUP}\r")
    place.screen.wait_for("all is done", "ready")
    seen = place.screen.wait_for("[link=file:///x]y[/]", "[red]name.html")
    assert "[@click=app.quit]quit[/]" in seen


def trace_of_subagents(place: Place) -> None:
    place.screen.type(TRACE)
    place.screen.wait_for("the sub-agent speaks", "Look [/d]", "evil [/n]")
    press(place.screen, "]", HOME)
    # The whole of every row: what was said, calls and sub-agents.
    assert place.open_rows(DOWN, 10, END + "m") >= 5


def observers(place: Place) -> None:
    press(place.screen, OBSERVERS, HOME, ENTER)
    place.screen.wait_for("[red]sub.html")
    press(place.screen, CONVERSATION, UP, UP, UP, ENTER, UP, ENTER, UP, ENTER)
    place.screen.wait_for("the sub-agent speaks [/] [/foo]")


def mouse(place: Place) -> None:
    clicks = 0
    for key in (CONVERSATION, TRACE, OBSERVERS, WORKSPACE):
        press(place.screen, key, END)
        clicks += place.click_all()
    assert clicks >= 20
    # A click on the preview of a file shows the whole of it.
    place.screen.press_until(ESC, lambda text: "Esc close" not in text)


def files(place: Place) -> None:
    count = lay_files(place.session)
    place.screen.wait_for("evil.csv", "lines.jsonl")
    press(place.screen, CONVERSATION, ESC)
    # The list of files that the prompt offers.
    place.screen.type("@evil")
    place.screen.wait_for("evil.csv", "Tab inserts")
    press(place.screen, DOWN, DOWN, ESC, CLEAR, WORKSPACE, END)
    # Beside them there are its own files, and folders, which cannot be opened.
    assert place.open_rows("", 1, DOWN + "m") + place.open_rows(UP, count + 3, DOWN + "m") >= count - 1


def deletion_and_filter(place: Place) -> None:
    press(place.screen, END, "d")
    place.screen.wait_for("Delete")
    press(place.screen, ESC, "/", f"\x1b[200~evil{PASTED}\x1b[201~", ENTER, ESC)
    press(place.screen, CONVERSATION, ESC)


def prompt_queue_and_permission(place: Place) -> None:
    screen = place.screen
    # A screen on which something runs never rests: each key is waited for by what it shows.
    for typed, shown, sent in (
        (f"First PERMISSION {PASTED}", "First PERMISSION", "Esc stops"),
        (f"Second [/q] {PASTED}\nand more", "Second [/q]", "1 queued"),
    ):
        screen.type(f"\x1b[200~{typed}\x1b[201~")
        screen.wait_for(shown)
        screen.type(ENTER)
        screen.wait_for(shown, sent)
    # The bar above the prompt shows it, and the list of all that waits.
    screen.type(ALT_UP)
    screen.wait_for("Second [/q]", "The first one runs next.")
    screen.press_until(ESC, lambda text: "The first one runs next." not in text)
    # It is taken back into the prompt.
    screen.type(UP)
    screen.wait_for("Second [/q]", lambda text: "queued" not in text)
    screen.type(CLEAR)
    place.model.may_answer.set()
    screen.wait_for("Allow once", "[@click=app.quit]")
    screen.press_until("d", lambda text: "Allow once" not in text)
    screen.wait_for("is over", "ready")
    # What is told of a link that is never opened.
    press(screen, CONVERSATION, END)
    screen.type("o")
    screen.wait_for("vscode:")
    press(screen, ESC, ESC, CLEAR)


def links(place: Place) -> None:
    def click(text: str) -> None:
        # Where it was before may be below a dialog that is just going.
        place.screen.wait_for(text)
        place.screen.settle()
        rows = enumerate(place.screen.text.splitlines())
        place.click(*next((x + 1, y) for y, line in rows if (x := line.find(text)) >= 0))

    place.screen.type("LINKS\r")
    place.screen.wait_for("It ends here", "ready")
    for number in range(len(REFUSED)):
        click(f"link {number}")
        place.screen.wait_for("not a web link")
        press(place.screen, "o")
        place.screen.press_until(ESC, lambda text: "not a web link" not in text)
    assert not place.opened.exists()
    click(f"link {len(REFUSED)}")
    # It is opened only after its host is seen.
    place.screen.wait_for("Opens  xn--pple-43d.com")
    assert not place.opened.exists()
    place.screen.press_until("o", lambda text: "Opens  xn--pple-43d.com" not in text)
    place.screen.wait_until(place.opened.exists)


SURFACES: dict[str, tuple[Callable[[Place], None], ...]] = {
    "conversation": (conversation, trace_of_subagents, observers, mouse),
    "files": (files, deletion_and_filter),
    "prompt": (prompt_queue_and_permission, links),
}


@pytest.mark.slow
@pytest.mark.parametrize("surfaces", SURFACES)
def test_no_payload_has_an_effect_on_any_surface_of_the_screen(tmp_path: Path, surfaces: str) -> None:
    opened, browser, model = tmp_path / "opened", tmp_path / "browser", Enemy()
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {opened}\n')
    browser.chmod(0o755)
    with scripted_model(model) as url:
        env = real_server(tmp_path, url, BROWSER=os.fspath(browser))
        with terminal(tmp_path, "--tool", "WebFetch", columns=200, rows=50, env=env) as screen:
            screen.wait_for("ready")
            (session,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
            for surface in SURFACES[surfaces]:
                surface(Place(screen, session, model, opened))
                assert_harmless(screen, surface.__name__)
            leave(screen)
    if links in SURFACES[surfaces]:
        assert opened.read_text().splitlines() == ["https://xn--pple-43d.com/look"]
    else:
        assert not opened.exists()
    events = read_journal(session / "journal.jsonl").events
    assert {e.status for e in events if isinstance(e, QueryFinished)} <= {"success"}


def test_no_payload_has_an_effect_in_a_file_or_on_a_stream(tmp_path: Path) -> None:
    with scripted_model(Enemy()) as url:
        done = run(tmp_path, "run", "Research this", env=real_server(tmp_path, url))
    assert done.code == 0, done.stderr
    for stream in (done.stdout, done.stderr):
        assert not UNSAFE.search(stream)
        assert KEY not in stream
    assert [e.status for e in done.of(ToolCallFinished)].count("success") >= 2
    assert not list(tmp_path.rglob("*escape.html"))
    for path in tmp_path.rglob("*"):
        if path.is_file() and ".local" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            assert KEY not in text, path
            if not {"work_products", "SAVED_REPORTS", VERSIONS, FILE} & set(path.parts):
                assert not UNSAFE.search(text.replace("\u200b", "")), path
    indexed = "".join(map("".join, passages(done.session.parent / FILE)))
    assert indexed
    assert not UNSAFE.search(indexed.replace("\u200b", ""))


def test_what_the_agents_program_says_while_it_breaks(tmp_path: Path) -> None:
    cli = tmp_path / "cli"
    cli.write_text(CLI, encoding="utf-8")
    cli.chmod(0o755)
    env = real_server(tmp_path, NOWHERE, UA_CLI_PATH=os.fspath(cli))
    with terminal(tmp_path, columns=160, rows=50, env=env) as screen:
        screen.wait_for("failed", lambda text: re.search("code:? 3", text) is not None)
        press(screen, ESC, TRACE, END, ENTER, ESC, CONVERSATION, END, WORKSPACE, END, ENTER, END)
        assert_harmless(screen)
        press(screen, ESC)
        leave(screen)
    (session,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    assert "[/foo]" in (session / "run.log").read_text()
    for name in ("run.log", "journal.jsonl"):
        assert not UNSAFE.search((session / name).read_bytes().decode()), name


def huge(_body: dict[str, Any], _results: int) -> Sequence[Block]:
    line = json.dumps({"rows": ["x" * 1000] * 5000})
    table = "|" + "a|" * 20 + "\n|" + "-|" * 20 + "\n" + ("|" + "cell|" * 20 + "\n") * 500
    return [Text(f"begin\n\n{table}\n\n{line}\n\nend of it")]


LINES, RESULTS = 20_000, 3_000
LARGEST = 400 * 1024
"""KB of memory."""


@pytest.mark.slow
def test_more_than_a_screen_can_hold_leaves_its_keys_alive(tmp_path: Path) -> None:
    """A huge answer, then thousands of results and log lines at once: the ends are shown, the program is small."""
    with (
        scripted_model(huge) as url,
        terminal(tmp_path, columns=160, rows=50, env=real_server(tmp_path, url)) as screen,
    ):
        screen.wait_for("ready")
        screen.type("Research this\r")
        screen.wait_for("ready", "end of it")
        # In seconds of a processor, which a busy machine does not change.
        program = int(screen.child.pid or 0)
        before = cpu_seconds(program)
        screen.type("still here ")
        screen.wait_for("still here")
        assert cpu_seconds(program) - before < 5
        (session,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
        folder = session / "search_results"
        folder.mkdir(exist_ok=True)
        words = '{"results": ["' + "words " * 5_000 + '"]}'
        with (session / "zz.log").open("w") as log:
            for number in range(RESULTS):
                (folder / f"{number:04}.json").write_text(words)
                lines = range(number * LINES // RESULTS, (number + 1) * LINES // RESULTS)
                log.writelines(f"2026-11-21 12:00:00 INFO line {line} of many\n" for line in lines)
                if number % 1000 == 0:
                    # In the midst of it keys are taken, and their echo comes.
                    screen.type(f"k{number} ")
                    screen.wait_for(f"k{number} ")
        (session / "zzz.txt").write_text("x" * 5_000_000 + "the end of one line")
        screen.wait_for(f"{RESULTS + 2:,} new")
        press(screen, WORKSPACE, END)
        screen.wait_for("─ zzz.txt", "xxxxx")
        screen.type(UP)
        screen.wait_for("─ zz.log", "0 of many")
        screen.type(ENTER)
        screen.wait_for("Esc close", f"{LINES:,} lines")
        screen.type(END)
        screen.wait_for(f"line {LINES - 1} of many")
        screen.press_until(ESC, lambda text: "Esc close" not in text)
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{program}/status").read_text())
        assert peak is not None
        assert int(peak[1]) < LARGEST
        leave(screen)
