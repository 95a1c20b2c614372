"""`ua-tui serve`: serves the full screen to browsers, on this machine unless another address is given."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import socket
import sys
from collections.abc import Sequence

from ua_tui.core.errors import SettingsError, missing_extra
from ua_tui.tui.cli.arguments import COMMANDS, WrongUsage, options_beside, settings_of
from ua_tui.tui.serve.guard import Guard, is_loopback, names_of
from ua_tui.tui.terminal.signals import SIGNALS

SHORTEST_TOKEN = 16


def passed_on(given: Sequence[str]) -> list[str]:
    """Return those of the given arguments that each session gets: all but the options that a screen does not have."""
    options, of_screen = COMMANDS["serve"].arguments, COMMANDS[None].arguments
    return options_beside(given, {name: how for name, how in options.items() if name not in of_screen})


def run(args: argparse.Namespace) -> int:
    """Serve until a signal asks for the end; returns the exit code.

    Raises:
        SettingsError: nothing can listen at the address, or other machines could open sessions without a token.
        WrongUsage: the arguments do not go together.
    """
    if args.query is not None and args.query in COMMANDS:
        raise WrongUsage(f"{args.query!r} is a command; only sessions can be served")
    if args.token and args.no_token:
        raise WrongUsage("--token and --no-token cannot be used together")
    # Report errors in the settings here rather than in every tab.
    settings_of(args)
    if args.no_token and not is_loopback(args.host):
        raise SettingsError(
            f"--no-token is not possible with --host {args.host}: other machines could open sessions. "
            "Leave it out, or listen on 127.0.0.1."
        )
    token = None if args.no_token else args.token or secrets.token_urlsafe(24)
    return asyncio.run(_serve(args, token, passed_on(args.given)))


async def _serve(args: argparse.Namespace, token: str | None, arguments: Sequence[str]) -> int:
    try:
        from ua_tui.tui.serve.server import Server
    except ModuleNotFoundError as error:
        raise SettingsError(missing_extra("serve", "ua-tui serve")) from error

    host, port = args.host, args.port
    here = is_loopback(host)
    guard, keep = Guard(token, names_of(host)), 60.0 * args.keep_minutes
    server = Server(arguments, guard, here=here, most_tabs=args.max_tabs, keep_seconds=keep)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, ended.set)
    try:
        port = await server.start(host, port)
    except OSError as error:
        why = error.strerror or str(error)
        raise SettingsError(
            f"cannot listen on port {port} of {host}: {why}. Choose others with --host and --port."
        ) from error
    try:
        shown = None if args.token else token
        sys.stdout.write(_describe(host, port, shown, needs_token=token is not None))
        sys.stdout.flush()
        await ended.wait()
    finally:
        await server.close()
    return 0


def _describe(host: str, port: int, token: str | None, *, needs_token: bool) -> str:
    anywhere = host in {"", "0.0.0.0", "::"}  # noqa: S104  # compared, not listened at
    name = socket.gethostname() if anywhere else f"[{host}]" if ":" in host else host
    query = f"?token={token}" if token else "?token=… with your token" if needs_token else ""
    advice = "" if is_loopback(host) else " The traffic is not encrypted: use a tunnel or TLS."
    return f"Serving on http://{name}:{port}/{query}\nCtrl+C ends it and its sessions.{advice}\n"


def read_token(value: str) -> str:
    """Read the value of `--token`."""
    if (
        len(value) < SHORTEST_TOKEN
        or not value.isascii()
        or not value.replace("-", "").replace("_", "").isalnum()
    ):
        raise argparse.ArgumentTypeError(
            f"must have at least {SHORTEST_TOKEN} letters, digits, - and _, so that no one can guess it"
        )
    return value
