"""`ua-tui connect`: connects an account before a session, at Composio or at an MCP server of the user."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.threads import apart
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import settings_of
from ua_tui.tui.cli.output import StepReporter, complain, print_list, quiet_libraries
from ua_tui.tui.cli.start import report_untrusted
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE
from ua_tui.tui.terminal.links import open_link

if TYPE_CHECKING:
    from ua_tui.core.connections.composio.accounts import AccountLink, Accounts, Toolkit

LOOK_EVERY = 1.0
_STATES = {
    "ACTIVE": "connected",
    "INITIATED": "link not opened",
    "INITIALIZING": "link not opened",
    "EXPIRED": "expired",
    "FAILED": "failed",
    "INACTIVE": "inactive",
    "REVOKED": "revoked",
}
_NO_KEY = (
    "there is no key for Composio: set COMPOSIO_API_KEY, or store one with `ua-tui config set composio_api_key -`, "
    "or try --demo"
)


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    0 when the account is connected, or the list is shown; 1 when it is not, or the service is at fault; 2 for a
    toolkit there is not. Raises the errors of settings.
    """
    settings = settings_of(args)
    report_untrusted(settings)
    with quiet_libraries(settings.log_level):
        return asyncio.run(_run(settings, args))


async def _run(settings: Settings, args: argparse.Namespace) -> int:
    async with AsyncExitStack() as stack:
        if args.toolkit is not None:
            from ua_tui.tui.cli.connections.server_login import login_target, run_login

            if (target := login_target(settings, args.toolkit)) is not None:
                return await run_login(target, args)
        if args.forget:
            return complain(
                "--forget takes one of your own MCP servers: `ua-tui servers` lists them", EXIT_USAGE
            )
        if settings.demo:
            from ua_tui.core.demo.launch import demo_servers, demo_settings

            settings = demo_settings(settings, await stack.enter_async_context(demo_servers(0)))
        if not settings.composio_api_key:
            if args.toolkit is not None:
                slug = args.toolkit.strip().lower()
                words = f"{clean_line(slug, 60)} is not one of your own MCP servers, and {_NO_KEY}"
                return StepReporter(as_json=args.json, toolkit=slug).failed("no_key", words)
            return complain(_NO_KEY)
        from ua_tui.core.connections.composio.accounts import Accounts

        accounts = Accounts(settings)
        slug = args.toolkit.strip().lower() if args.toolkit is not None else None
        reporter = StepReporter(as_json=args.json, toolkit=slug or "")
        try:
            await apart(accounts.__enter__)
            # Whoever gives up does not wait for the service to forget the session.
            stack.push_async_callback(_within, 3.0, lambda: accounts.__exit__(None, None, None))
            if slug is None:
                return _list(await apart(accounts.toolkits), as_json=args.json)
            return await _connect(accounts, slug, args, reporter)
        except ConnectionFailed as error:
            if slug is None:
                raise
            return reporter.failed(error.code, str(error))


async def _within(seconds: float, work: Callable[[], object]) -> None:
    try:
        await apart(work, seconds)
    except TimeoutError:
        return


async def _connect(accounts: Accounts, slug: str, args: argparse.Namespace, reporter: StepReporter) -> int:
    toolkit = await apart(lambda: accounts.toolkit(slug))
    if toolkit is None:
        names = [each.slug for each in await apart(accounts.toolkits)]
        close = clean_line(", ".join(get_close_matches(slug, names)), 200)
        hint = f"did you mean {close}?" if close else "`ua-tui connect` lists all of them"
        return reporter.failed("unknown", f"there is no toolkit {clean_line(slug, 60)}: {hint}", EXIT_USAGE)
    name = clean_line(toolkit.name, 60)
    if not toolkit.needs_account:
        return _done(reporter, toolkit, f"{name} needs no account: its tools work as they are.")
    if toolkit.status == "ACTIVE":
        return _done(reporter, toolkit, f"{name} is already connected.")
    link = await apart(lambda: accounts.link(slug))
    reporter.link(
        f"Open this link and sign in to connect {name}",
        clean_line(link.url, 2_000),
        "Waiting for the account. Ctrl+C stops waiting.",
        name=toolkit.name,
        account=link.account,
    )
    if not args.json and not args.no_open and sys.stdout.isatty():
        await open_link(link.url)
    return await _wait(accounts, toolkit, link, args.timeout, reporter)


async def _wait(
    accounts: Accounts, toolkit: Toolkit, link: AccountLink, seconds: float, reporter: StepReporter
) -> int:
    from ua_tui.core.connections.composio.accounts import FAILED

    name, again = clean_line(toolkit.name, 60), f"`ua-tui connect {toolkit.slug}` gives a new link"
    end, trouble = time.monotonic() + seconds, ""
    while True:
        try:
            status, reason = await apart(lambda: accounts.status(link))
            trouble = ""
        except ConnectionFailed as error:
            if error.code in {"http_401", "http_403", "http_404"}:
                raise
            # The network may come back before the link is over.
            status, reason, trouble = "", "", f" ({error})"
        if status == "ACTIVE":
            return _done(reporter, toolkit, f"{name} is connected.")
        if status in FAILED:
            why = f" ({clean_line(reason, 160)})" if reason else ""
            words = {"EXPIRED": "the link has expired", "FAILED": "it was refused or failed"}
            said = words.get(status, f"the account is {status.lower()}")
            return reporter.failed(status, f"{name} is not connected: {said}{why}; {again}")
        if time.monotonic() >= end:
            late = f"no one signed in within {seconds:g} s{trouble}"
            return reporter.failed("timeout", f"{name} is not connected: {late}; {again}")
        await asyncio.sleep(LOOK_EVERY)


def _done(reporter: StepReporter, toolkit: Toolkit, words: str) -> int:
    if not toolkit.offered:
        words += "\nSessions do not use it yet: change composio_toolkits or composio_disabled_toolkits."
    return reporter.done("connected", words, name=toolkit.name)


def _list(toolkits: Sequence[Toolkit], *, as_json: bool) -> int:
    fields = (
        {
            "toolkit": each.slug,
            "name": each.name,
            "state": _state(each),
            "connected": each.is_connected,
            "in_sessions": each.offered,
        }
        for each in toolkits
    )
    rows = (
        (
            clean_line(each.slug, 40),
            clean_line(each.name, 40),
            _state(each) + ("" if each.offered else ", not in sessions"),
        )
        for each in toolkits
    )
    print_list(fields, ("TOOLKIT", "NAME", "STATE"), rows, as_json=as_json)
    return 0


def _state(toolkit: Toolkit) -> str:
    if not toolkit.needs_account:
        return "no account needed"
    return _STATES.get(toolkit.status, clean_line(toolkit.status.lower(), 40) or "not connected")
