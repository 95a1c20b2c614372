"""`ua-tui servers`: your own MCP servers, their sources, and which of the folder's are trusted."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import msgspec

from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UnusableServer, UserServer, connection_to, find_user_servers
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.text import clean_line
from ua_tui.core.trust import Acts
from ua_tui.tui.cli.arguments import WrongUsage
from ua_tui.tui.cli.output import complain, print_line, print_list
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

_HEADER = ("SERVER", "STATE", "TRANSPORT", "STARTS OR OPENS", "FROM")
_STATES = {"trusted": "trusted", "refused": "refused", None: "not trusted yet"}
_PLACES = {"here": "on this machine only", "outside": "on this machine and elsewhere"}
_LOGINS = {"logged in": "logged in", "expired": "login expired"}
_LONGEST = 10_000
_NONE = (
    "you have no MCP servers of your own: add them to .mcp.json, or to [mcp_servers.NAME] in your settings"
)


class _Row(msgspec.Struct, frozen=True):
    name: str
    state: str
    transport: str
    target: str
    source: str
    problem: str = ""
    login: str = ""
    acts: str = ""

    @property
    def standing(self) -> str:
        """The state, with where it acts, if that is known, and that of a login."""
        acts = "acts here" if self.acts == "here" else ""
        return ", ".join(filter(None, (self.state, _LOGINS.get(self.login), acts)))


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, or 1 when there is no such server or one is wrong.

    Raises:
        SettingsError: a settings file is wrong.
        WorkspaceError: what was decided cannot be kept.
        WrongUsage: the words do not go together.
    """
    folder, trust = Path.cwd(), ServerTrust()
    found = {each.name: each for each in find_user_servers(load_settings(), folder)}
    if args.action is None:
        return _list(list(found.values()), folder, trust, as_json=args.json)
    if not args.names or args.json:
        raise WrongUsage(f"{args.action} takes the names of servers, and nothing else")
    code = 0
    for name in args.names:
        server = found.get(name)
        if server is None:
            code = complain(f"there is no server {name} here: `ua-tui servers` lists them", EXIT_USAGE)
        elif isinstance(server, UnusableServer):
            code = complain(server.problem)
        elif args.action in ("here", "outside"):
            code = _describe(server, folder, trust, args.action) or code
        elif not server.in_folder:
            code = complain(f"{name} is in your own settings, which need no trust")
        else:
            decision = {"trust": "trusted", "refuse": "refused"}.get(args.action)
            trust.decide(server, folder, decision)  # type: ignore[arg-type]  # one of the two, or None
            state = _STATES[decision]
            print_line(f"{name} is {state} in this folder: {clean_line(server.target, _LONGEST)}")
            if decision == "trusted":
                # A variable can make a harmless program run anything.
                for each in server.shown:
                    print_line(f"  with {clean_line(each, _LONGEST)}")
    return code


def _describe(server: UserServer, folder: Path, trust: ServerTrust, acts: Acts) -> int:
    """Store where the tools of a server act; returns the exit code."""
    if server.acts not in (None, acts):
        return complain(
            f"the tools of {server.shown_name} act {_PLACES[server.acts]}, as its address or its field `acts` says: "
            "change that field in its settings"
        )
    if trust.decision(server, folder) != "trusted":
        return complain(f"{server.name} is not trusted: run `ua-tui servers trust {server.name}` first")
    trust.decide(server, folder, "trusted", acts)
    print_line(f"the tools of {server.name} act {_PLACES[acts]}")
    return 0


def _list(
    found: list[UserServer | UnusableServer], folder: Path, trust: ServerTrust, *, as_json: bool
) -> int:
    rows = [_row(each, folder, trust) for each in found]
    problems = [row.problem for row in rows if row.problem]
    cells = ((r.name, r.standing, r.transport, clean_line(r.target, 60), r.source) for r in rows)
    print_list(rows, _HEADER, cells, as_json=as_json, empty=_NONE)
    for problem in () if as_json else problems:
        complain(problem)
    return 1 if problems else 0


def _row(each: UserServer | UnusableServer, folder: Path, trust: ServerTrust) -> _Row:
    if isinstance(each, UnusableServer):
        return _Row(each.name, "wrong", "-", "-", "-", clean_line(each.problem, 1000))
    state = _STATES[trust.decision(each, folder)] if each.in_folder else "your own"
    return _Row(
        each.name,
        state,
        each.transport,
        clean_line(each.target, 1000),
        clean_line(each.source, 1000),
        login=_login(each, folder),
        acts=trust.acts(each, folder) or "",
    )


def _login(server: UserServer, folder: Path) -> str:
    """The state of the login to a server; empty for one that cannot have any."""
    if server.transport == "stdio":
        return ""
    try:
        target = connection_to(server, os.environ, folder).login
    except ConnectionFailed:
        return ""
    return LoginStore().state_of(target) if target is not None else ""
