"""MCP servers of the user's own: what `.mcp.json` and the settings say of them, checked, and made ready for the agent.

`.mcp.json` in the current folder has the form that other agents use, too: `{"mcpServers": {NAME: {...}}}`, with
`command`, `args` and `env` for a program, or `type` (`http`, `sse`), `url` and `headers` for a remote server. In each
text `${NAME}` stands for a variable of the environment, and `${NAME:-text}` for a text where there is none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core.connections.base import Connection
from core.errors import ConnectionFailed
from core.redaction.arguments import masked_address, masked_command, masked_given
from core.settings.sources import Given
from core.text import clean_line, without_surrogates

__all__ = ["PROJECT_SERVERS", "OwnServer", "Unusable", "connection_to", "project_servers", "set_servers"]

PROJECT_SERVERS = ".mcp.json"

Transport = Literal["stdio", "http", "sse"]

# A tool is called mcp__SERVER__TOOL: no name may make its tools look like those of another server.
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9-])?")
_TAKEN = frozenset({"local_toolkit", "composio", "web_reader"})
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
_LARGEST = 1 << 20
_MOST = 50
_LONGEST = 8_000
_FIELDS: Mapping[Transport, frozenset[str]] = {
    "stdio": frozenset({"type", "command", "args", "env"}),
    "http": frozenset({"type", "url", "headers"}),
    "sse": frozenset({"type", "url", "headers"}),
}

_PLAIN = frozenset({"USER", "LOGNAME", "HOSTNAME", "PATH", "LANG", "TERM"})

# A program that the agent starts inherits the agent's environment, and has no business with its keys.
_BLANKED = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS")


@dataclass(frozen=True)
class OwnServer:
    """A server as it is written down: `how` is its configuration, checked but for its variables.

    `source` says where it stands, for a sentence; one that stands `in_folder` is another's word until it is trusted.
    """

    name: str
    how: Mapping[str, Any]
    source: str
    in_folder: bool

    @property
    def transport(self) -> Transport:
        """How it is spoken to."""
        return _transport(self.how)

    @property
    def target(self) -> str:
        """What would be started, as in a shell, or the address that would be opened: nothing is filled in.

        Of what looks like a secret the value is masked.
        """
        if self.transport == "stdio":
            return masked_command(self._command).shown
        return masked_address(self.how["url"]).shown

    @property
    def given(self) -> Mapping[str, str]:
        """What it is given beside that: variables of its environment, or headers; nothing is filled in."""
        return dict(self.how.get("env" if self.transport == "stdio" else "headers") or {})

    @property
    def shown(self) -> list[str]:
        """The same as `NAME=value`; of what is a secret by its name, and written down, only how long it is."""
        return [masked_given(name, value).shown for name, value in self.given.items()]

    @property
    def fingerprint(self) -> str:
        """What tells this configuration from every other, for whoever is asked to trust it: 64 hexadecimal digits."""
        # With the secrets: another one may lead to another place.
        target = shlex.join(self._command) if self.transport == "stdio" else str(self.how["url"])
        whole = json.dumps([self.name, self.transport, target, dict(self.given)], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()

    @property
    def _command(self) -> list[str]:
        return [self.how["command"], *self.how.get("args", ())]


@dataclass(frozen=True)
class Unusable:
    """A server, or a whole file, that cannot be used: `problem` says what is wrong, where, and what to do."""

    name: str
    problem: str


Found = list[OwnServer | Unusable]


def project_servers(folder: Path) -> Found:
    """Read the `.mcp.json` of a folder; empty where there is none."""
    path = folder / PROJECT_SERVERS
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            return [Unusable(PROJECT_SERVERS, f"{path} is larger than {_LARGEST >> 20} MiB: it is not read.")]
        whole = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        return [Unusable(PROJECT_SERVERS, f"{path} cannot be read: {error.strerror}. Check its permissions.")]
    except (ValueError, RecursionError) as error:
        told = f"{path} is not valid JSON: {clean_line(str(error), 200)}. Correct it or move it away."
        return [Unusable(PROJECT_SERVERS, told)]
    servers = whole.get("mcpServers") if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        told = f'{path} has no table of servers: write {{"mcpServers": {{"name": {{"command": "..."}}}}}}.'
        return [Unusable(PROJECT_SERVERS, told)]
    wanted = [(name, how) for name, how in servers.items() if not _is_disabled(how)]
    found: Found = [_checked(name, how, str(path), in_folder=True) for name, how in wanted[:_MOST]]
    return found + _too_many(len(wanted), PROJECT_SERVERS, str(path))


def set_servers(given: Sequence[Given]) -> Found:
    """Read the tables `[mcp_servers.NAME]` of settings files; each name counts once.

    The user's own count before those of a folder, which may not put itself in the place of one that is trusted.
    """
    found: dict[str, OwnServer | Unusable] = {}
    for each in sorted(given, key=lambda each: each.in_folder):
        if not isinstance(each.value, Mapping):
            told = (
                f"{each.origin} is no table of servers: write [mcp_servers.name] and below it command or url."
            )
            found.setdefault("mcp_servers", Unusable("mcp_servers", told))
            continue
        wanted = [(name, how) for name, how in each.value.items() if not _is_disabled(how)]
        for name, how in wanted[:_MOST]:
            found.setdefault(name, _checked(name, how, str(each.path), in_folder=each.in_folder))
        for more in _too_many(len(wanted), "mcp_servers", str(each.path)):
            found.setdefault(more.name, more)
    return list(found.values())


def connection_to(server: OwnServer, environ: Mapping[str, str], folder: Path) -> Connection:
    """Make the configuration the agent takes, with the variables filled in; what they hold is a secret, but for places.

    A program is started in `folder`, whose files it may be given by their names.

    Raises:
        ConnectionFailed: a variable is not set, or there is no such program.
    """
    filled: list[str] = []

    def fill(text: str) -> str:
        def value(found: re.Match[str]) -> str:
            name, instead = found.groups()
            if environ.get(name):
                if not _is_plain(name, environ[name]):
                    filled.append(environ[name])
                return environ[name]
            if instead is None:
                raise ConnectionFailed(
                    f"{server.name} of {server.source} needs the variable {name}, which is not set: "
                    f"set it, or write ${{{name}:-...}} with what is to hold without it",
                    code="no_variable",
                )
            return str(instead)

        return _VARIABLE.sub(value, text)

    how = server.how
    given = {name: fill(text) for name, text in server.given.items()}
    secrets = [each for name, text in given.items() for each in masked_given(name, text).secrets]
    if server.transport == "stdio":
        started = [fill(how["command"]), *(fill(each) for each in how.get("args", ()))]
        path = given.get("PATH") or environ.get("PATH")
        if shutil.which(str(folder / started[0]) if "/" in started[0] else started[0], path=path) is None:
            raise ConnectionFailed(
                f"{server.name} of {server.source} cannot be started: there is no program "
                f"{clean_line(started[0], 200)}; install it, or write its whole path",
                code="no_program",
            )
        secrets += masked_command(started).secrets
        made = {
            "type": "stdio",
            "command": "/bin/sh",
            # The agent works in the session's folder, and would start it there.
            "args": ["-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder), *started],
            "env": dict.fromkeys(_BLANKED, "") | given,
        }
    else:
        address = fill(how["url"])
        secrets += masked_address(address).secrets
        made = {"type": server.transport, "url": address, "headers": given}
    # What is written into a file for a key's place is most often the key itself.
    secrets = [*filled, *secrets]
    return Connection(servers={server.name: made}, secrets=tuple(each for each in secrets if len(each) >= 6))


def _too_many(count: int, name: str, source: str) -> Found:
    """What is to be said of a file with more servers than anybody would be asked about."""
    if count <= _MOST:
        return []
    return [Unusable(name, f"{source} names {count} servers: those after the first {_MOST} are not used.")]


def _is_disabled(how: Any) -> bool:
    return isinstance(how, Mapping) and how.get("disabled") is True


def _is_plain(name: str, value: str) -> bool:
    """Whether what a variable holds is no secret: masked, it would be missing from every path and every name."""
    return name in _PLAIN or (os.path.isabs(value) and os.path.exists(value))


def _transport(how: Mapping[str, Any]) -> Transport:
    kind = how.get("type") or how.get("transport")
    if kind in ("http", "streamable-http", "streamable_http"):
        return "http"
    return "sse" if kind == "sse" else "stdio" if "command" in how or "url" not in how else "http"


def _checked(name: str, how: Any, source: str, *, in_folder: bool) -> OwnServer | Unusable:
    shown = clean_line(str(name), 60)
    wrong = _wrong(str(name), how)
    if wrong:
        return Unusable(shown, f"The server {shown} of {source} cannot be used: {wrong}.")
    return OwnServer(name, how, source, in_folder)


def _wrong(name: str, how: Any) -> str:
    """What is wrong with a server, and what it takes; empty when nothing is."""
    if not _NAME.fullmatch(name):
        return (
            "its name may have letters, digits, _ and -, begins with a letter or digit, "
            "and has neither two _ in a row nor one at its end"
        )
    if name in _TAKEN:
        return "the name is that of a server of the program: give it another one"
    if not isinstance(how, Mapping):
        return "its configuration is no table: give it a command or a url"
    if how.get("type", "stdio") not in ("stdio", "http", "sse", "streamable-http", "streamable_http"):
        return f"its type is {clean_line(str(how['type']), 40)!r}: it takes stdio, http or sse"
    transport = _transport(how)
    needed = "command" if transport == "stdio" else "url"
    if not isinstance(how.get(needed), str) or not how[needed].strip():
        return (
            f"it has no {needed}, which is {'the program to start' if needed == 'command' else 'its address'}"
        )
    if needed == "url" and not re.match(r"https?://[^\s/]", how["url"]) and "${" not in how["url"]:
        return "its url is no address such as https://host/mcp"
    args = how.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        return "its args are no list of texts"
    for field in ("env", "headers"):
        table = how.get(field) or {}
        if not isinstance(table, Mapping) or not all(isinstance(each, str) for each in table.values()):
            return f"its {field} is no table of texts"
    tables = [table for field in ("env", "headers") for table in (how.get(field) or {}).items()]
    texts = [how[needed], *args, *(str(text) for row in tables for text in row)]
    if any("\0" in text or without_surrogates(text) != text for text in texts):
        return "there is a character in it that no program takes"
    if sum(map(len, texts)) > _LONGEST or len(texts) > _LONGEST // 10:
        # Whoever is asked whether to trust it must be able to look through it.
        return f"it has more than {_LONGEST:,} characters: put what is long into a file that it reads"
    if unknown := sorted(set(how) - _FIELDS[transport] - _IGNORED):
        return f"there is no {clean_line(str(unknown[0]), 40)!r} in a server of type {transport}"
    return ""


_IGNORED = frozenset({"transport", "description", "disabled", "timeout", "alwaysLoad", "autoApprove"})
"""What other programs write there and does no harm."""
