"""The payloads of `hostile.toml`, what shows that one of them had an effect, and keys for a screen that shows them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from tests.e2e.running import model_environment
from tests.e2e.terminal import Terminal

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PAYLOADS: dict[str, str] = _DATA["payloads"]
MARKUP = PAYLOADS["markup"]
ESCAPES = "".join(text for name, text in PAYLOADS.items() if name != "markup")
NASTY = f"{MARKUP} {ESCAPES}"
PASTED = f"{MARKUP} {_DATA['pasted']['keys']}"
SIGNS: dict[str, str] = _DATA["signs"]
KEY = "sk-ant-canary-4711-aaaaaaaaaaaa"
WRITE = "mcp__local_toolkit__write_local_file"
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]")
"""What is in no stream and in no file that the program writes itself."""
DOWN, UP, RIGHT, END, HOME, ENTER, ESC = "\x1b[B", "\x1b[A", "\x1b[C", "\x1b[F", "\x1b[H", "\r", "\x1b"
ALT_UP, CLEAR = "\x1b[1;3A", "\x15"


def assert_harmless(screen: Terminal, where: str = "") -> None:
    """No payload steered the terminal, and nothing broke."""
    written = screen.written.decode("utf-8", "replace")
    assert [name for name, sign in SIGNS.items() if re.search(sign, written)] == [], where
    assert "Traceback" not in written, where
    assert "could not show" not in screen.text, screen.text


def press(screen: Terminal, *keys: str) -> None:
    """Press one key after the other, each when the screen has come to rest."""
    for key in keys:
        screen.type(key)
        screen.settle()


def leave(screen: Terminal) -> None:
    """Quit; nothing had an effect until the end."""
    screen.quit()
    assert_harmless(screen)


def lay_files(folder: Path) -> int:
    """Put down a file of every kind that is shown in its own way; returns how many."""
    for name, text in _DATA["files"].items():
        texts = {"nasty": NASTY, "escapes": ESCAPES, "title": PAYLOADS["title"]}
        path = folder / name.format(**texts)
        if path.suffix in {".json", ".jsonl"}:
            texts = {key: json.dumps(value, ensure_ascii=False) for key, value in texts.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**texts), encoding="utf-8")
    return len(_DATA["files"])


def real_server(base: Path, url: str, **extra: str) -> dict[str, str]:
    """An environment whose model is at `url`, and whose key appears nowhere."""
    return model_environment(base, url, ANTHROPIC_API_KEY=KEY, UA_CLASSIFIER="rules", **extra)
