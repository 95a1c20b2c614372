"""Starts the program of an MCP server: in the folder it is configured in, without the agent's variables and folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ua_tui.core.connections.base import PLAIN_PREFIXES

_LAUNCHER = """
import os, sys
folder, names, prefixes, rootless, *command = sys.argv[1:]
kept, prefixes = set(names.split(" ")), tuple(prefixes.split(" "))
environ = {
    name: value for name, value in os.environ.items() if name in kept or (value and name.startswith(prefixes))
}

def without_roots(line):
    try:
        message = json.loads(line)
        if message.get("method") == "notifications/roots/list_changed":
            return b""
        params = message["params"]
        for each in (params.get("capabilities"), *params.get("_meta", {}).values()):
            if isinstance(each, dict):
                each.pop("roots", None)
        return json.dumps(message).encode() + b"\\n"
    except (ValueError, AttributeError, KeyError, TypeError):
        return line

try:
    os.chdir(folder)
    if rootless:
        reading, writing = os.pipe()
        if os.fork():
            os.dup2(reading, 0)
            os.close(reading)
            os.close(writing)
        else:
            import json
            os.close(reading)
            for output in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), output)
            try:
                with open(writing, "wb") as server:
                    for line in sys.stdin.buffer:
                        server.write(without_roots(line) if b'"roots' in line or b"/roots/" in line else line)
                        server.flush()
            finally:
                os._exit(0)
    os.execvpe(command[0], command, environ)
except OSError as error:
    sys.exit(f"{command[0]} cannot be started: {error.strerror}")
"""
"""Becomes the program of a server, without the variables of the agent: its keys, and the token of its own socket."""


def launched(command: Sequence[str], folder: Path, names: Iterable[str], given: Iterable[str]) -> list[str]:
    """The command that starts a server's program in a folder.

    The agent offers the folder of the session to every server as its root, and many that can be configured for a folder
    then allow only that one. If an argument, or a value that is `given` to its environment, is a folder, the server is
    not told that the agent has roots.

    Args:
        command: the program and its arguments.
        folder: where it is started.
        names: the variables of the environment that it gets.
        given: the values of its own variables.
    """
    rootless = any(_is_folder(text, folder) for text in (*command[1:], *given))
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER]
    variables, prefixes = " ".join(sorted(set(names))), " ".join(PLAIN_PREFIXES)
    return [*launcher, str(folder), variables, prefixes, "rootless" if rootless else "", *command]


def _is_folder(text: str, folder: Path) -> bool:
    """Whether a text, or what follows `=` in it, is a folder."""
    places = (text, text.partition("=")[2]) if text.startswith("-") else (text,)
    try:
        return any(each and os.path.isdir(folder / each) for each in places)
    except ValueError:
        return False
