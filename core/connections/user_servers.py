"""MCP servers of the user: read from `.mcp.json` and the settings, checked, and configured for the agent.

`.mcp.json` in the current folder has the format of other agents: `{"mcpServers": {NAME: {...}}}`, with `command`,
`args` and `env` for a program, or `type` (`http`, `sse`), `url`, `headers` and `oauth` for a remote server. In each
string `${NAME}` is replaced by a variable of the environment, and `${NAME:-text}` by `text` if the variable is not set.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ua_tui.core.connections.base import (
    BLANKED,
    BUILT_IN_SERVERS,
    PLAIN_PREFIXES,
    PLAIN_VARIABLES,
    Connection,
)
from ua_tui.core.connections.oauth.target import LoginTarget, oauth_client
from ua_tui.core.errors import Advice, ConnectionFailed, advise
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.redaction.arguments import VARIABLE, Masked, masked_command, masked_text, masked_variable
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.sources import SourcedValue
from ua_tui.core.text import clean_line, without_surrogates
from ua_tui.core.trust import Acts

PROJECT_SERVERS = ".mcp.json"

Transport = Literal["stdio", "http", "sse"]

# Tools are named mcp__SERVER__TOOL: no name may make its tools look like those of another server.
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9-])?")
_LARGEST = 1 << 20
_MOST = 50
_LONGEST = 8_000
_PLAIN = frozenset({"USER", "LOGNAME", "HOSTNAME", "PATH", "LANG", "TERM"})


class _Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of every server; most are those of other programs, without effect here."""

    type: Literal["stdio", "http", "sse", "streamable-http", "streamable_http"] | None = None
    acts: Acts | None = None
    tools: tuple[Annotated[str, msgspec.Meta(pattern=r"^\S+$")], ...] = ()
    transport: Any = None
    description: Any = None
    disabled: Any = None
    timeout: Any = None
    alwaysLoad: Any = None
    autoApprove: Any = None


class ProgramServer(_Server, frozen=True, kw_only=True):
    """A server that is a program, started for the session."""

    command: Annotated[str, msgspec.Meta(pattern=r"\S")]
    args: tuple[str, ...] = ()
    env: dict[str, str] | None = None


class RemoteServer(_Server, frozen=True, kw_only=True):
    """A server with an address."""

    url: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s/]|\$\{")]
    headers: dict[str, str] | None = None
    oauth: JsonObject | None = None


class UserServer(msgspec.Struct, frozen=True):
    """A server as it is written in a file.

    `how` is its configuration, checked except for its variables, and `source` the file. One that comes from a file
    `in_folder` may be somebody else's, and must be trusted first.
    """

    name: str
    how: ProgramServer | RemoteServer
    source: str
    in_folder: bool

    @property
    def transport(self) -> Transport:
        """The transport of the protocol."""
        if isinstance(self.how, ProgramServer):
            return "stdio"
        return "sse" if (self.how.type or self.how.transport) == "sse" else "http"

    @property
    def target(self) -> str:
        """The command that would be started, as in a shell, or the address; variables are not filled in.

        Values that look like secrets are masked.
        """
        return self._target.shown

    @property
    def given(self) -> Mapping[str, str]:
        """The variables of its environment, or its headers; variables in them are not filled in."""
        return (self.how.env if isinstance(self.how, ProgramServer) else self.how.headers) or {}

    @property
    def shown(self) -> list[str]:
        """The same as `NAME=value`, what is set for its login, and where it acts; of a secret only its length."""
        oauth = {f"oauth.{name}": str(value) for name, value in self._oauth.items()}
        given = {**self.given, **oauth, "acts": self.how.acts}
        return [masked_variable(name, value).shown for name, value in given.items() if value is not None]

    @property
    def acts(self) -> Acts | None:
        """Where its tools act, as its file says: on this machine only, or also outside; a remote one acts outside."""
        is_remote = isinstance(self.how, RemoteServer) and not _is_local(self.how.url)
        return self.how.acts or ("outside" if is_remote else None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that are written in the file, known before the server is connected."""
        given = [each for name, value in self.given.items() for each in masked_variable(name, value).secrets]
        secret = self._oauth.get("clientSecret") or self._oauth.get("client_secret")
        return (*given, *self._target.secrets, *([secret] if secret else []))

    @property
    def fingerprint(self) -> str:
        """Identifies this configuration when the user is asked to trust it: 64 hexadecimal digits."""
        # With the secrets: another secret may mean another account.
        how = self.how
        target = shlex.join([how.command, *how.args]) if isinstance(how, ProgramServer) else how.url
        acts = {"acts": how.acts} if how.acts else {}
        about = [self.name, self.transport, target, self.given, *filter(None, [self._oauth, acts])]
        content = json.dumps(about, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def shown_name(self) -> str:
        """The name and the file, for a sentence."""
        return f"{self.name} in {self.source}"

    @property
    def _oauth(self) -> JsonMapping:
        return (self.how.oauth if isinstance(self.how, RemoteServer) else None) or {}

    @property
    def _target(self) -> Masked:
        how = self.how
        return (
            masked_command([how.command, *how.args])
            if isinstance(how, ProgramServer)
            else masked_text(how.url)
        )


class UnusableServer(msgspec.Struct, frozen=True):
    """A server, or a whole file, that cannot be used."""

    name: str
    advice: Advice

    @property
    def problem(self) -> str:
        """What is wrong, where, and what to do."""
        return str(self.advice)


_Found = list[UserServer | UnusableServer]


def find_user_servers(settings: Settings, folder: Path) -> _Found:
    """The servers of the settings and of a folder, as a session there would have them; each name once."""
    found = [*settings_servers(settings.mcp_servers), *project_servers(folder)]
    return list({each.name: each for each in reversed(found)}.values())[::-1]


def project_servers(folder: Path) -> _Found:
    """Read the `.mcp.json` of a folder; empty where there is none."""
    path = folder / PROJECT_SERVERS
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            return _unusable_file(PROJECT_SERVERS, "file_too_large", path, limit=_LARGEST >> 20)
        content = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        return _unusable_file(PROJECT_SERVERS, "file_unreadable", path, reason=error.strerror)
    except (ValueError, RecursionError) as error:
        return _unusable_file(PROJECT_SERVERS, "not_json", path, reason=clean_line(str(error), 200))
    servers = content.get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        return _unusable_file(PROJECT_SERVERS, "no_servers", path)
    return _servers_of(servers, PROJECT_SERVERS, str(path), in_folder=True)


def settings_servers(tables: Sequence[SourcedValue]) -> _Found:
    """Read the tables `[mcp_servers.NAME]` of settings files.

    The user's own settings come before those of a folder, which cannot replace a trusted server.
    """
    found: _Found = []
    for each in sorted(tables, key=lambda each: each.in_folder):
        if isinstance(each.value, Mapping):
            found += _servers_of(each.value, "mcp_servers", str(each.path), in_folder=each.in_folder)
        else:
            found += _unusable_file("mcp_servers", "no_settings_table", each.origin)
    return found


def connection_to(server: UserServer, environ: Mapping[str, str], folder: Path) -> Connection:
    """Make the configuration for the agent, with the variables filled in; values other than paths count as secrets.

    A program is started in `folder`, so that relative paths in its arguments work.

    Raises:
        ConnectionFailed: a variable is not set, or the program does not exist.
    """
    filled: list[str] = []

    def fill(text: str) -> str:
        def value(found: re.Match[str]) -> str:
            name, default = found.groups()
            if environ.get(name):
                text = environ[name]
                # Masking the plain values would spoil every path and name.
                if name not in _PLAIN and not (os.path.isabs(text) and os.path.exists(text)):
                    filled.append(text)
                return text
            if default is None:
                raise _failure("no_variable", server, name)
            return str(default)

        return VARIABLE.sub(value, text)

    how, login = server.how, None
    values = {name: fill(text) for name, text in server.given.items()}
    secrets = [each for name, text in values.items() for each in masked_variable(name, text).secrets]
    if isinstance(how, ProgramServer):
        started = [fill(each) for each in (how.command, *how.args)]
        path = values.get("PATH") or environ.get("PATH")
        program = str(folder / started[0]) if "/" in started[0] else started[0]
        if shutil.which(program, path=path) is None:
            problem = "not_executable" if "/" in program and os.path.isfile(program) else "no_program"
            raise _failure(problem, server, clean_line(started[0], 200))
        secrets += masked_command(started).secrets
        # The agent runs in the session's folder, and would start it there, with its own variables.
        command = launched(started, folder, {*PLAIN_VARIABLES, *values}, values.values())
        config = {
            "type": "stdio",
            "command": command[0],
            "args": command[1:],
            # The agent's cache is a folder of the session.
            "env": dict.fromkeys(BLANKED, "")
            | {"XDG_CACHE_HOME": environ.get("XDG_CACHE_HOME", "")}
            | values,
        }
    else:
        address = fill(how.url)
        secrets += masked_text(address).secrets
        config = {"type": server.transport, "url": address, "headers": values}
        # A server with a key among its headers needs no login.
        if not any(name.lower() == "authorization" for name in values):
            client = oauth_client(how.oauth or {}, fill)
            kind: Literal["http", "sse"] = "sse" if server.transport == "sse" else "http"
            login = LoginTarget(server.name, kind, address, server.source, values, client)
            secrets += [client.client_secret] if client.client_secret else []
    # A value in the place of a key is most often the key itself.
    secrets = [*filled, *secrets]
    return Connection(
        servers={server.name: config},
        tools=how.tools,
        secrets=tuple(each for each in secrets if len(each) >= 6),
        login=login,
    )


def _unusable_file(name: str, problem: str, file: Path | str, **values: object) -> _Found:
    return [UnusableServer(name, advise(f"servers.{problem}", file=file, **values))]


def _failure(problem: str, server: UserServer, value: str) -> ConnectionFailed:
    return ConnectionFailed(advise(f"servers.{problem}", server=server.shown_name, value=value), code=problem)


def _servers_of(table: Mapping[Any, Any], name: str, source: str, *, in_folder: bool) -> _Found:
    """The servers of a table; no more than a person could be asked about."""
    enabled = [
        (key, how)
        for key, how in table.items()
        if not (isinstance(how, Mapping) and how.get("disabled") is True)
    ]
    found = [_checked(str(key), how, source, in_folder=in_folder) for key, how in enabled[:_MOST]]
    if len(enabled) > _MOST:
        found += _unusable_file(name, "too_many", source, count=len(enabled), limit=_MOST)
    return found


def _is_local(url: str) -> bool:
    """Whether an address is of this machine, whatever the variables in it are."""
    return bool(re.match(r"https?://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::[\d${}\w-]*)?(?:/|$)", url))


def _is_remote(how: Any) -> bool:
    if not isinstance(how, Mapping):
        return False
    kind = how.get("type") or how.get("transport")
    is_known = kind in ("http", "sse", "streamable-http", "streamable_http")
    return is_known or ("url" in how and "command" not in how)


def _checked(name: str, how: Any, source: str, *, in_folder: bool) -> UserServer | UnusableServer:
    shown = clean_line(name, 60)

    def unusable(problem: str, reason: str = "") -> UnusableServer:
        values = {"reason": clean_line(reason, 200), "limit": _LONGEST}
        return UnusableServer(shown, advise(f"servers.{problem}", server=f"{shown} in {source}", **values))

    if not _NAME.fullmatch(name):
        return unusable("bad_name")
    if name in BUILT_IN_SERVERS:
        return unusable("built_in_name")
    try:
        if _is_remote(how):
            remote = msgspec.convert(how, RemoteServer)
            oauth_client(remote.oauth or {}, str)
            if remote.acts == "here" and not _is_local(remote.url):
                raise ValueError("the tools of a server on another machine also act elsewhere")
            server = UserServer(name, remote, source, in_folder)
            texts = [remote.url, *_texts(remote.headers), *_texts(remote.oauth)]
        else:
            program = msgspec.convert(how, ProgramServer)
            server = UserServer(name, program, source, in_folder)
            texts = [program.command, *program.args, *_texts(program.env)]
    except (ValueError, TypeError) as error:
        return unusable("wrong", str(error))
    texts += server.how.tools
    # Programs must accept them, and a person must be able to read them all.
    if any("\0" in text or without_surrogates(text) != text for text in texts):
        return unusable("bad_character")
    if sum(map(len, texts)) > _LONGEST or len(texts) > _LONGEST // 10:
        return unusable("too_long")
    return server


def _texts(table: JsonMapping | None) -> list[str]:
    return [str(text) for pair in (table or {}).items() for text in pair]


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
