"""Untrusted text, in every place of the real screen where it can stand: it is shown, and steers nothing."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model
from tests.e2e.terminal import CONVERSATION, OBSERVERS, TRACE, WORKSPACE, Terminal, terminal
from tests.e2e.test_hostile import ESCAPES, MARKUP, TITLE, WRITE, injected, real_server

DOWN, UP, END, HOME, ENTER, ESC = "\x1b[B", "\x1b[A", "\x1b[F", "\x1b[H", "\r", "\x1b"
ALT_UP = "\x1b[1;3A"
NASTY = f"{MARKUP} {ESCAPES}"
# F1 and Ctrl+G would open something if they were taken for keys.
PASTED = f"{MARKUP} \x1bOP\x1b[11~\x1b]0;PWNED\x07 \x07\x9b31mred\x9d0;PWNED\x9c \u202eevil\u200b"
CONTROLS = re.compile(
    # C1, zero width, marks and overrides of direction, tags: as UTF-8.
    rb"\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xf3\xa0[\x80-\x81]"
)


def assert_harmless(screen: Terminal) -> None:
    """Nothing of the untrusted text steered the terminal, and nothing broke."""
    assert injected(screen.written) == []
    assert CONTROLS.findall(screen.written) == []
    assert b"\x1b]2;" not in screen.written
    assert b"Traceback" not in screen.written
    assert "could not show" not in screen.text, screen.text


def leave(screen: Terminal) -> None:
    """Quit, which asks nothing as long as nothing runs."""
    screen.type("\x11")
    assert screen.end() == 0


def press(screen: Terminal, *keys: str) -> None:
    """Press one key after the other, each when the screen has come to rest."""
    for key in keys:
        screen.type(key)
        screen.settle()


def paste(screen: Terminal, text: str) -> None:
    press(screen, f"\x1b[200~{text}\x1b[201~")


def with_subagents(body: dict[str, Any], results: int) -> Sequence[Block]:
    """A query that starts one sub-agent there is and one there is not; the first one says and calls hostile things."""
    if "SUBWORK" in json.dumps(body["messages"][0]):
        if results:
            return [Text(f"the sub-agent ends {NASTY}")]
        return [
            Thinking(f"the sub-agent thinks {NASTY}"),
            Text(f"the sub-agent speaks {NASTY}"),
            Use(WRITE, {"path": "work_products/[red]sub.html", "content": f"<h1>{NASTY}</h1>"}),
            Use(f"mcp__{TITLE}__[/x]", {"query": NASTY}),
        ]
    if results:
        return [Text(f"all is done {NASTY}")]
    given = {"description": f"Look [/d] {ESCAPES}", "prompt": f"SUBWORK {NASTY}"}
    return [
        Use("Agent", {"subagent_type": "report-creation-expert", **given}),
        Use("Agent", {"subagent_type": f"evil [/n]{ESCAPES}", **given}),
    ]


def test_what_subagents_say_and_are_called(tmp_path: Path) -> None:
    with (
        scripted_model(with_subagents) as url,
        terminal(tmp_path, columns=200, rows=50, env=real_server(tmp_path, url)) as screen,
    ):
        screen.wait_for("mcp 1/1")
        screen.type("Research this\r")
        screen.wait_for("all is done", "ready")
        screen.type(TRACE)
        seen = screen.wait_for("the sub-agent speaks", "Look [/d]")
        assert "evil [/n]" in seen
        press(screen, "e")
        # The whole of every row: what was said, calls and sub-agents.
        press(screen, HOME)
        opened = 0
        for _ in range(8):
            press(screen, DOWN + ENTER)
            if "Esc close" in screen.text:
                opened += 1
                press(screen, END + "m", ESC)
        assert opened >= 4
        assert_harmless(screen)
        press(screen, OBSERVERS, HOME, ENTER)
        screen.wait_for("[red]sub.html")
        press(screen, CONVERSATION, *[UP] * 3, ENTER, UP, ENTER, UP, ENTER)
        screen.wait_for("the sub-agent speaks [/] [/foo]")
        assert_harmless(screen)
        leave(screen)
        assert_harmless(screen)


def lay_hostile_files(folder: Path) -> int:
    """Put down a file of every kind that is shown in its own way, with hostile names and contents."""
    found = [{"title": NASTY, "url": f"https://a.example/{TITLE}", "source": NASTY, "snippet": NASTY}]
    files = {
        "search_results/evil.json": json.dumps(
            {"query": NASTY, "answer": NASTY, "results": found}, ensure_ascii=False
        ),
        "tree.json": json.dumps({f"k{NASTY}": [NASTY, {"x": NASTY}]}, ensure_ascii=False),
        "lines.jsonl": json.dumps({"event": NASTY}, ensure_ascii=False) + "\n",
        "evil.csv": f"a,{NASTY}\n{NASTY},1\n",
        "evil.md": f"# {NASTY}\n\n[{NASTY}](vscode://x)\n\n```python\n'{ESCAPES}'\n```\n",
        "evil.html": f"<title>{NASTY}</title><script>x</script><p onclick=x()>{NASTY}</p>",
        "evil.log": f"2026-11-21 ERROR {NASTY}\n",
        "evil.py": f"print('{ESCAPES}')\n",
        "evil.png": f"\x89PNG\r\n{NASTY}",
        "evil.pdf": f"%PDF-1.7\n{NASTY}",
        "evil.mp4": NASTY,
        "evil.txt.gz": NASTY,
        f"evil{TITLE}[x]\u202egnp.md": NASTY,
        "evil\x9b31m\x07\x1b[2J\nname": NASTY,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(files)


def test_files_by_their_names_and_by_what_is_in_them(tmp_path: Path) -> None:
    def answer(body: dict[str, Any], results: int) -> Sequence[Block]:
        return [Text("done")]

    with (
        scripted_model(answer) as url,
        terminal(tmp_path, columns=160, rows=45, env=real_server(tmp_path, url)) as screen,
    ):
        screen.wait_for("mcp 1/1")
        (folder,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
        count = lay_hostile_files(folder)
        screen.wait_for("evil.csv", "tree.json")
        # The list of files that the prompt offers.
        screen.type("@evil")
        screen.wait_for("evil.csv", "Tab inserts")
        press(screen, DOWN, DOWN, ESC, "\x15")
        assert_harmless(screen)
        press(screen, WORKSPACE, END)
        opened = 0
        for _ in range(count + 12):
            press(screen, ENTER)
            if "Esc close" in screen.text:
                opened += 1
                press(screen, DOWN + "m", ESC)
            screen.type(UP)
        assert opened >= count - 1
        assert_harmless(screen)
        # What is asked before a file is deleted, and a filter that was pasted.
        press(screen, END, "d")
        screen.wait_for("Delete")
        press(screen, ESC, "/")
        paste(screen, f"evil{PASTED}")
        press(screen, ENTER, ESC)
        assert_harmless(screen)
        leave(screen)
        assert_harmless(screen)


def test_the_prompt_its_queue_and_what_is_asked_and_reported(tmp_path: Path) -> None:
    go_on = threading.Event()

    def answer(body: dict[str, Any], results: int) -> Sequence[Block]:
        if not results:
            go_on.wait(60)
            return [Use("WebFetch", {"url": "https://a.example/x", "prompt": NASTY})]
        return [
            Text(f"[the [/x] link](vscode://x/{TITLE}) ends"),
        ]

    with (
        scripted_model(answer) as url,
        terminal(
            tmp_path, "--tool", "WebFetch", columns=120, rows=40, env=real_server(tmp_path, url)
        ) as screen,
    ):
        screen.wait_for("mcp 1/1")
        paste(screen, f"First {PASTED}")
        press(screen, ENTER)
        paste(screen, f"Second [/q] {PASTED}\nand more")
        press(screen, ENTER)
        # The bar above the prompt, and the list of all that waits.
        screen.wait_for("Second [/q]", "1 queued")
        press(screen, ALT_UP)
        screen.wait_for("Second [/q]")
        press(screen, ESC)
        assert_harmless(screen)
        press(screen, UP, "\x15")
        go_on.set()
        # The dialog that asks before a call.
        screen.wait_for("Allow once", "[@click=app.quit]")
        screen.press_until("d", lambda text: "Allow once" not in text)
        screen.wait_for("ends", "ready")
        # What is told of a link that is never opened.
        press(screen, CONVERSATION, END, "o")
        screen.wait_for("vscode:")
        assert_harmless(screen)
        leave(screen)
        assert_harmless(screen)
