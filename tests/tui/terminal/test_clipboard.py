"""The routes to a clipboard, with real child processes that stand for the tools."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from pathlib import Path

import pytest

from tests.tui.fakes import make_app, make_session
from tests.tui.fixture_types import Patch
from tests.waiting import PATIENCE, until
from ua_tui.tui.terminal.clipboard import MOST_FOR_TERMINAL, Clipboard, osc52, routes

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))

TERMINAL = {"TERM": "xterm-256color"}
KEEPS = 'case "$*" in *-o*|*--output*|*save*) cat "$HOME/held" ;; *) cat > "$HOME/held" ;; esac\n'


def tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o700)


def surroundings(tmp_path: Path, **more: str) -> dict[str, str]:
    bin_ = tmp_path / "bin"
    bin_.mkdir(exist_ok=True)
    for name in ("cat", "mv", "sleep", "env"):
        if not (bin_ / name).exists():
            (bin_ / name).symlink_to(
                Path("/bin") / name if Path("/bin", name).exists() else f"/usr/bin/{name}"
            )
    return {"PATH": str(bin_), "HOME": str(tmp_path), **TERMINAL, **more}


def clipboard(environment: dict[str, str]) -> Clipboard:
    """A clipboard whose tools may be slow to start."""
    return Clipboard(environment, platform="linux", seconds=PATIENCE)


@pytest.mark.parametrize(("environment", "platform", "expected"), TABLES["clipboards"])
def test_routes_fit_the_environment(environment: dict[str, str], platform: str, expected: list[str]) -> None:
    assert routes(environment, platform, MOST_FOR_TERMINAL) == expected
    assert routes(environment, platform, MOST_FOR_TERMINAL + 1) == [
        each for each in expected if each != "terminal"
    ]


def test_the_sequence_is_wrapped_for_what_stands_between() -> None:
    plain = osc52("näh", {})
    assert base64.b64decode(plain.removeprefix("\x1b]52;c;").removesuffix("\x07")).decode() == "näh"
    wrapped = osc52("näh", {"TMUX": "x"})
    assert wrapped.startswith("\x1bPtmux;\x1b\x1b]52;c;")
    assert wrapped.removeprefix("\x1bPtmux;").removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b") == plain
    long = osc52("x" * 1000, {"STY": "1.pts"})
    parts = long.removeprefix("\x1bP").removesuffix("\x1b\\").split("\x1b\\\x1bP")
    assert "".join(parts) == osc52("x" * 1000, {})
    assert max(map(len, parts)) <= 250


async def test_the_terminal_is_only_said_to_have_been_sent_it() -> None:
    sent: list[str] = []
    copied = await Clipboard(TERMINAL, platform="linux").copy("hello", sent.append)
    assert sent == [osc52("hello", {})]
    assert copied.describe("Path") == "Path sent to the terminal (OSC 52), which does not confirm it"


async def test_a_tool_is_read_back_and_passed_over_if_it_holds_something_else(tmp_path: Path) -> None:
    sent: list[str] = []
    environment = surroundings(tmp_path, DISPLAY=":0")
    tool(tmp_path / "bin", "xclip", KEEPS)
    copied = await clipboard(environment).copy("a\nb  \n\n", sent.append)
    assert copied.describe("Text") == "Text copied with xclip (verified)"
    assert (tmp_path / "held").read_text() == "a\nb  \n\n"
    assert sent == []
    tool(tmp_path / "bin", "xclip", "cat > /dev/null; echo old\n")
    tool(tmp_path / "bin", "xsel", "exit 1\n")
    copied = await clipboard(environment).copy("new", sent.append)
    assert (copied.route, len(sent)) == ("terminal", 1)


async def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    environment = surroundings(tmp_path, DISPLAY=":0")
    tool(
        tmp_path / "bin",
        "xclip",
        'echo $$ > "$HOME/pid.new"; mv "$HOME/pid.new" "$HOME/pid"; sleep 600; true\n',
    )
    copied = await Clipboard(environment, platform="linux", seconds=0.05).copy("x", lambda _: None)
    assert copied.route == "terminal"
    (tmp_path / "pid").unlink(missing_ok=True)
    # However long a busy machine takes to start it.
    copying = asyncio.create_task(clipboard(environment).copy("x"))
    await until((tmp_path / "pid").exists)
    copying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await copying
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_a_tool_that_continues_serving_is_not_waited_for(tmp_path: Path) -> None:
    environment = surroundings(tmp_path, DISPLAY=":0")
    serving = 'cat > "$HOME/held"; sleep 600 & echo $! > "$HOME/pid"'
    tool(tmp_path / "bin", "xclip", f'case "$*" in *-out*) cat "$HOME/held" ;; *) {serving} ;; esac\n')
    copied = await clipboard(environment).copy("x")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert copied.route == "xclip"


async def test_tools_get_no_keys_and_no_shell_sees_the_text(tmp_path: Path) -> None:
    environment = surroundings(tmp_path, DISPLAY=":0", ANTHROPIC_API_KEY="sk-ant-secret")
    tool(tmp_path / "bin", "xclip", f'env > "$HOME/seen"; echo "$@" >> "$HOME/seen"\n{KEEPS}')
    text = "$(touch pwned) `id`; rm -rf /"
    assert (await clipboard(environment).copy(text)).route == "xclip"
    seen = (tmp_path / "seen").read_text()
    assert "ANTHROPIC" not in seen
    assert "pwned" not in seen


async def test_a_tool_of_the_folder_one_works_in_is_never_run(tmp_path: Path, monkeypatch: Patch) -> None:
    tool(tmp_path, "xclip", 'touch "$HOME/ran"\n')
    monkeypatch.chdir(tmp_path)
    environment = {"PATH": ".:", "HOME": str(tmp_path), "DISPLAY": ":0", **TERMINAL}
    copied = await clipboard(environment).copy("x", lambda _: None)
    assert copied.route == "terminal"
    assert not (tmp_path / "ran").exists()


async def test_tmux_is_asked_where_its_client_sits(tmp_path: Path) -> None:
    environment = surroundings(tmp_path, TMUX="/tmp/t,1,0", DISPLAY=":0")
    script = 'case "$1" in show-environment) echo "-DISPLAY"; echo "SSH_CONNECTION=a 1 b 2" ;; *)\n'
    tool(tmp_path / "bin", "tmux", f"{script}{KEEPS};; esac\n")
    tool(tmp_path / "bin", "xclip", 'touch "$HOME/ran"; exit 1\n')
    copied = await clipboard(environment).copy("x")
    assert copied.route == "tmux"
    assert not (tmp_path / "ran").exists()
    assert copied.describe("Text") == "Text copied to tmux's buffer and sent to the terminal (OSC 52)"


async def test_what_no_clipboard_takes_is_left_in_a_file(tmp_path: Path) -> None:
    copying = Clipboard({"TERM": "linux"}, platform="linux")
    first = await copying.copy("one", lambda _: None, tmp_path)
    second = await copying.copy("two", lambda _: None, tmp_path)
    assert [path.read_text() for path in (first.path, second.path) if path] == ["one", "two"]
    assert first.describe("Text") == f"Text saved to {tmp_path}/copied.txt: no clipboard is available here"
    nowhere = await copying.copy("x", lambda _: None)
    assert not nowhere.done
    assert "no session folder" in nowhere.describe("Text")
    gone = await copying.copy("x", None, tmp_path / "gone")
    assert not gone.done
    assert "gone" in gone.describe("Text")


async def test_the_application_shows_the_route_and_can_save_what_was_copied(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: session.state == "idle")
        app.copying.copy("[b]text", "Selection")
        await until(lambda: app._notifications)
        (notice,) = app._notifications
        assert notice.message.startswith("Selection sent to the terminal (OSC 52), which does not confirm")
        assert app.clipboard == "[b]text"
        app.copying.save()
        await until(lambda: len(app._notifications) == 2)
        assert (session.workspace.path / "copied.txt").read_text() == "[b]text"
        await pilot.pause()
