"""`ua-tui team`: makes the tables of a team's database, lets people take part, and shows its state."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ua_tui.core.events.units import duration, quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage, add_address, team_address
from ua_tui.tui.cli.output import print_json, print_line

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.postgres.state import WorkState

EXAMPLES = """\
examples:
  ua-tui team migrate --to postgresql://owner@db.example/desk
  ua-tui team grant mary john --to postgresql://owner@db.example/desk
  ua-tui team status
"""
_WORDS = {"needs_you": "needs you"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to the parser."""
    parser.add_argument(
        "action",
        nargs="?",
        default="status",
        choices=["status", "migrate", "grant", "revoke"],
        help="status shows the tables, sessions, jobs and workers (default); migrate creates the tables, or updates "
        "them to the version of this program; grant gives roles of the server access; revoke takes it away",
    )
    parser.add_argument("users", nargs="*", metavar="USER", help="with grant and revoke: roles of the server")
    add_address(parser, "--to", "the team's database")
    parser.add_argument("--json", action="store_true", help="with status: print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code 0.

    Raises:
        SettingsError: no database is named, or its address is wrong.
        TeamError: the database cannot be used, or the rights do not suffice.
        WrongUsage: the words do not go together.
    """
    takes_users = args.action in ("grant", "revoke")
    if takes_users and not args.users:
        raise WrongUsage(f"{args.action} takes the names of roles of the server")
    if args.users and not takes_users:
        raise WrongUsage(f"{args.action} takes no names")
    if args.json and args.action != "status":
        raise WrongUsage("--json goes with status")
    import asyncio

    from ua_tui.core.settings.loading import load_settings

    address = team_address(args.address, load_settings())
    match args.action:
        case "migrate":
            _migrate(address)
        case "grant" | "revoke":
            _change_rights(address, args.action, args.users)
        case _:
            asyncio.run(_show_status(address, as_json=args.json))
    return 0


def _migrate(address: Address) -> None:
    from ua_tui.core.postgres.schema import LATEST, migrate

    done = migrate(address)
    for each in done:
        print_line(f"applied: {each}")
    state = "now has" if done else "already has"
    print_line(f"{address} {state} tables of version {LATEST}")


def _change_rights(address: Address, action: str, users: list[str]) -> None:
    from ua_tui.core.postgres.schema import grant, revoke

    for user in users:
        name = clean_line(user, 100)
        if action == "grant":
            grant(address, user)
            print_line(f"{name} may submit jobs, see what is shared, and answer questions")
        else:
            revoke(address, user)
            print_line(f"{name} may no longer use the tables")


async def _show_status(address: Address, *, as_json: bool) -> None:
    from dataclasses import asdict

    from ua_tui.core.postgres.connection import connect_async, shown_version
    from ua_tui.core.postgres.problems import reporting
    from ua_tui.core.postgres.schema import check_version
    from ua_tui.core.postgres.state import read_version, read_work

    db = await connect_async(address)
    async with db:
        with reporting(address):
            version = await read_version(db)
            check_version(version, address)
            work = await read_work(db)
            server = shown_version(db.info.server_version)
    facts: dict[str, Any] = {
        "database": address.shown,
        "server": server,
        "tables": version,
        **asdict(work),
        "alive": work.alive,
    }
    if as_json:
        print_json(facts)
        return
    print_line(
        f"{facts['database']}: PostgreSQL {facts['server']}, tables of version {facts['tables']}\n"
        f"sessions  {_counts(work.sessions)}\n"
        f"jobs      {_counts(work.jobs)}\n"
        f"workers   {_workers(work)}"
    )


def _counts(found: Any) -> str:
    """Counts by state, in the order of what a person looks for first."""
    order = ("needs_you", "running", "starting", "idle", "lost", "waiting", "done", "failed", "cancelled")
    counts = [f"{found[state]:,} {_WORDS.get(state, state)}" for state in order if found.get(state)]
    return " · ".join(counts) or "none"


def _workers(work: WorkState) -> str:
    if not work.workers:
        waits = ": start one with `ua-tui worker`" if work.jobs.get("waiting") else ""
        return f"none{waits}"
    silent = len(work.workers) - work.alive
    lines = [f"{work.alive} alive" + f", {silent} silent" * bool(silent)]
    for each in work.workers[:50]:
        name, version = clean_line(each.name, 60), clean_line(each.version, 20)
        seen = f"seen {duration(each.silent_seconds)} ago"
        lines.append(f"  {name}, {quantity(each.parallel, 'job')} at once, version {version}, {seen}")
    return "\n".join(lines)
