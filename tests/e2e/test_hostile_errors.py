"""Untrusted text in what breaks, under the mouse, and in links: it is shown, steers nothing and opens nothing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import CONVERSATION, OBSERVERS, TRACE, WORKSPACE, Terminal, terminal
from tests.e2e.test_hostile import ESCAPES, MARKUP, WRITE, real_server
from tests.e2e.test_hostile_places import END, ENTER, ESC, HOME, NASTY, assert_harmless, leave, press

INVALID = f"1 validation error for [/x] [type=missing, input_value={{'a': '[@click=app.quit]'}}] {ESCAPES}"
CLI = f"""#!{sys.executable}
import sys

print({NASTY!r}, file=sys.stderr)
print({INVALID!r}, file=sys.stderr)
sys.stdout.write({NASTY!r} + "\\n")
sys.exit(3)
"""
CLICKABLE = re.compile(r"quit\[/\]|\[link=file:///x\]y|\[/foo\]|vscode://")


def recorder(base: Path) -> tuple[Path, Path]:
    """A browser that writes down what it is asked to open, and the file it writes to."""
    reported, program = base / "opened", base / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {reported}\n')
    program.chmod(0o755)
    return program, reported


def click_everything(screen: Terminal, columns: range) -> int:
    """Click on all that looks as if it could be clicked, in these columns; gives how often."""
    clicks = 0
    for y, line in enumerate(screen.text.splitlines()):
        for found in CLICKABLE.finditer(line):
            x = found.start() + 2
            if x in columns:
                screen.type(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")
                clicks += 1
    screen.settle()
    return clicks


def test_what_the_agents_program_says_while_it_breaks(tmp_path: Path) -> None:
    cli = tmp_path / "cli"
    cli.write_text(CLI, encoding="utf-8")
    cli.chmod(0o755)
    env = {**real_server(tmp_path, "http://127.0.0.1:9"), "UA_CLI_PATH": os.fspath(cli)}
    with terminal(tmp_path, columns=160, rows=50, env=env) as screen:
        screen.wait_for("failed", lambda text: re.search("code:? 3", text) is not None)
        assert_harmless(screen)
        press(screen, ESC, TRACE, END, ENTER, ESC, CONVERSATION, END, WORKSPACE, END, ENTER, END)
        assert_harmless(screen)
        press(screen, ESC)
        leave(screen)
        assert_harmless(screen)
    (session,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    for name in ("run.log", "journal.jsonl"):
        text = (session / name).read_bytes().decode()
        assert name != "run.log" or "[/foo]" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", text), name


def test_clicks_on_what_looks_like_markup_do_nothing(tmp_path: Path) -> None:
    def answer(body: dict[str, Any], results: int) -> Sequence[Block]:
        if not results:
            return [
                Text(f"{MARKUP}\n\n- {MARKUP}\n\n|a|\n|-|\n|{MARKUP.replace('|', '')}|\n"),
                Use(WRITE, {"path": f"work_products/{MARKUP.replace('/', '')[:60]}.md", "content": MARKUP}),
                Use(f"nothing{MARKUP}", {"query": MARKUP}),
            ]
        return [Text(f"done {MARKUP}")]

    program, reported = recorder(tmp_path)
    with scripted_model(answer) as url:
        env = {**real_server(tmp_path, url), "BROWSER": os.fspath(program)}
        with terminal(tmp_path, columns=200, rows=50, env=env) as screen:
            screen.wait_for("mcp 1/1")
            screen.type(f"{MARKUP}\r")
            screen.wait_for("done [/]", "ready")
            clicks = 0
            for key in (CONVERSATION, TRACE, OBSERVERS, WORKSPACE):
                press(screen, key, END)
                clicks += click_everything(screen, range(200))
            assert clicks >= 20
            press(screen, ESC, TRACE, HOME, "e", ENTER)
            screen.wait_for("Esc close", "[@click=app.quit]quit[/]")
            assert click_everything(screen, range(200))
            press(screen, ESC)
            assert_harmless(screen)
            leave(screen)
    assert not reported.exists()


REFUSED = (
    "vscode://x",
    "ssh://-oProxyCommand=x",
    "smb://e/s",
    "view-source:https://a.example",
    "https://user@evil.example/",
    "-rf",
    "--renderer-cmd-prefix=/x",
)
LOOKALIKE = "https://\u0430pple.com/look"


def test_links_are_opened_only_after_their_host_is_seen(tmp_path: Path) -> None:
    def answer(body: dict[str, Any], results: int) -> Sequence[Block]:
        links = [f"- [link {number}]({url})\n" for number, url in enumerate((*REFUSED, LOOKALIKE))]
        return [Text(f"{''.join(links)}\nIt ends")]

    def click(screen: Terminal, text: str) -> None:
        place = next((x, y) for y, line in enumerate(screen.text.splitlines()) if (x := line.find(text)) >= 0)
        press(screen, "\x1b[<0;{0};{1}M\x1b[<0;{0};{1}m".format(place[0] + 2, place[1] + 1))

    program, reported = recorder(tmp_path)
    with scripted_model(answer) as url:
        env = {**real_server(tmp_path, url), "BROWSER": os.fspath(program)}
        with terminal(tmp_path, columns=120, rows=50, env=env) as screen:
            screen.wait_for("mcp 1/1")
            screen.type("Research\r")
            screen.wait_for("It ends", "ready")
            for number in range(len(REFUSED)):
                click(screen, f"link {number}")
                screen.wait_for("not a web link")
                press(screen, "o")
                screen.wait_for("not a web link")
                press(screen, ESC)
                screen.wait_for(lambda text: "not a web link" not in text)
            click(screen, f"link {len(REFUSED)}")
            screen.wait_for("Opens  xn--pple-43d.com")
            assert not reported.exists()
            press(screen, "o")
            screen.wait_for(lambda _: reported.exists())
            leave(screen)
            assert_harmless(screen)
    assert reported.read_text().splitlines() == ["https://xn--pple-43d.com/look"]
