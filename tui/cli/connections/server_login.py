"""`ua-tui connect SERVER`: logs in to an MCP server of the user, and out again."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from ua_tui.core.connections.oauth.flow import log_in
from ua_tui.core.connections.oauth.redirect import Redirect
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.oauth.target import LoginTarget
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UnusableServer, connection_to, find_user_servers
from ua_tui.core.errors import ConnectionFailed, WorkspaceError
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.output import StepReporter, complain
from ua_tui.tui.terminal.links import open_link


def login_target(settings: Settings, name: str) -> LoginTarget | None:
    """The server of that name that a person may log in to; None if there is none.

    Raises:
        ConnectionFailed: the server is not trusted, or something is wrong with its configuration.
    """
    folder = Path.cwd()
    found = [] if settings.demo else find_user_servers(settings, folder)
    server = next((each for each in found if each.name == name), None)
    if isinstance(server, UnusableServer):
        raise ConnectionFailed(server.problem)
    shown = clean_line(name, 60)
    if server is not None and server.transport == "stdio" and not settings.composio_api_key:
        raise ConnectionFailed(
            f"{shown} is a program on this machine: only servers with an address have a login",
            code="no_login",
        )
    # A program may have the name of a toolkit of Composio.
    if server is None or server.transport == "stdio":
        return None
    if ServerTrust().decision(server, folder) != "trusted":
        raise ConnectionFailed(
            f"{shown} is not trusted in this folder: run `ua-tui servers trust {shown}`", code="untrusted"
        )
    target = connection_to(server, os.environ, folder).login
    if target is None:
        raise ConnectionFailed(
            f"{shown} has an Authorization header in {clean_line(server.source, 200)}: remove it to log in instead",
            code="has_key",
        )
    return target


async def run_login(target: LoginTarget, args: argparse.Namespace) -> int:
    """Log in to a server, or out with `--forget`; returns the exit code."""
    store = LoginStore()
    reporter = StepReporter(as_json=args.json, server=clean_line(target.name, 60))
    try:
        return await _log_in_or_out(target, args, store, reporter)
    except WorkspaceError as error:
        # The file with the logins cannot be read or written.
        return reporter.failed("logins", str(error))


async def _log_in_or_out(
    target: LoginTarget, args: argparse.Namespace, store: LoginStore, reporter: StepReporter
) -> int:
    name = clean_line(target.name, 60)
    if args.forget:
        gone = await store.forget(target)
        words = "You are logged out of {}." if gone else "There was no login to {}."
        return reporter.done("logged_out", words.format(name))

    async def show(address: str, redirect: Redirect) -> None:
        paste = (
            "If the browser is on another machine, it is sent to a localhost address that it cannot open:\n"
            "paste that address here."
        )
        hints = ([paste] if sys.stdin.isatty() else []) + ["Waiting for the login. Ctrl+C stops waiting."]
        reporter.link(f"Open this link to log in to {name}", clean_line(address, 4_000), *hints)
        if not args.json and not args.no_open and sys.stdout.isatty():
            await open_link(address)
        loop = asyncio.get_running_loop()
        if sys.stdin.isatty():
            loop.add_reader(sys.stdin.fileno(), _read_pasted, redirect)

    try:
        place = await log_in(target, store, show, seconds=args.timeout)
    except ConnectionFailed as error:
        if error.code == "not_needed":
            return reporter.done("connected", f"{error}.")
        return reporter.failed(error.code, str(error))
    finally:
        if sys.stdin.isatty():
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    where = "the keyring" if place == "keyring" else "a file that only you can read"
    return reporter.done("connected", f"You are logged in to {name}. The login is in {where}.")


def _read_pasted(redirect: Redirect) -> None:
    line = sys.stdin.readline()
    if not line:
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    elif line.strip() and not redirect.paste(line):
        complain(
            "this is not the address that this login redirects to: copy the full address from the browser", 0
        )
