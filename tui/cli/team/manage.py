"""`ua-tui team`: makes the tables of a team's database, lets people take part, and shows its state."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ua_tui.core.events.units import duration, quantity
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connected, shown_version
from ua_tui.core.postgres.schema import LATEST, check_version, grant, limit, migrate, revoke
from ua_tui.core.postgres.state import WorkState, read_version, read_work
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.team.fleet.rows import describe_counts
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage, amount, team_address
from ua_tui.tui.cli.output import print_json, print_line

_TAKES = dict.fromkeys(("grant", "revoke", "limit"), "the names of database roles") | dict.fromkeys(
    ("cancel", "pause", "resume", "retry"), "the names or ids of jobs or batches"
)
"""What the actions are done with that need names."""
_GO_WITH = {("json",): ("status", "attention"), ("cost_per_day", "jobs", "tools", "none"): ("limit",)}
"""With which actions options go."""


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code 0.

    Raises:
        SettingsError: no database is named, or its address is wrong.
        TeamError: the database cannot be used, or the rights do not suffice.
        WrongUsage: the words do not go together.
    """
    action: str = args.action
    if args.checked and not (action == "attention" and args.names):
        raise WrongUsage(
            "--checked can only be used with attention and the ids of sessions or jobs, or the names of schedules"
        )
    if bool(args.names) != (action in _TAKES) and not args.checked:
        raise WrongUsage(f"{action} takes {_TAKES.get(action, 'no names')}")
    if (action == "prune") != (args.older_than is not None):
        raise WrongUsage("prune and --older-than must be used together, such as prune --older-than 90d")
    for names, actions in _GO_WITH.items():
        if action not in actions and any(getattr(args, name) not in (None, False) for name in names):
            options = " and ".join(f"--{name.replace('_', '-')}" for name in names)
            raise WrongUsage(f"{options} can only be used with {' and '.join(actions)}")

    address = team_address(args.address, load_settings())
    match action:
        case "migrate":
            done = migrate(address)
            for each in done:
                print_line(f"applied: {each}")
            print_line(f"{address} {'now' if done else 'already'} has tables of version {LATEST}")
        case "grant":
            for user in args.names:
                grant(address, user)
                print_line(
                    f"{clean_line(user, 100)} may submit jobs, see what is shared, and answer questions"
                )
        case "revoke":
            for user in args.names:
                cancelled, stopped = revoke(address, user)
                jobs = f"; {quantity(cancelled, 'job')} cancelled, {stopped:,} being stopped"
                ended = jobs if cancelled or stopped else ""
                print_line(f"{clean_line(user, 100)} may no longer use the tables{ended}")
        case "limit":
            _limit(address, args)
        case "status":
            asyncio.run(_show_status(address, as_json=args.json))
        case _:
            asyncio.run(_operate(address, args))
    return 0


def read_days(text: str) -> float:
    """Read the value of `--older-than`."""
    try:
        # A number without its unit could be meant as hours or months.
        return amount("days")(text.removesuffix("d") if text.endswith("d") else "")
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"must be a number of days above 0, such as 90d, not {text!r}"
        ) from None


async def _operate(address: Address, args: argparse.Namespace) -> None:
    operations = Operations(address)
    match args.action:
        case "cancel" | "pause" | "resume" | "retry" as action:
            words = {
                "cancel": "cancelled, or being stopped",
                "pause": "held: `ua-tui team resume` continues them",
                "retry": "waiting for a worker, or for `ua-tui team resume` if their batch is paused",
            }
            removed = await operations.remove_schedules(args.names) if action == "cancel" else []
            for name in removed:
                print_line(
                    f"the schedule {clean_line(name, 100)} is removed; jobs that it has already submitted continue"
                )
            if not (names := [name for name in args.names if name not in removed]):
                return
            count = await operations.change(action, names)
            done = words.get(action, "waiting for a worker")
            print_line(f"{quantity(count, 'job')} {done}")
        case "attention" if args.checked:
            count = await operations.check(args.names)
            print_line(
                f"{quantity(count, 'entry', 'entries')} marked as checked"
                if count
                else "nothing is marked: it was checked before, or only its owner can do that"
            )
        case "attention":
            _show_attention(await operations.attention(), as_json=args.json)
        case _:
            count = await operations.prune(args.older_than)
            print_line(f"{quantity(count, 'job')} of old batches removed")


def _limit(address: Address, args: argparse.Namespace) -> None:
    """Set the limits of roles, and print those that they have now."""
    for user in args.names:
        given = {"cost_per_day": args.cost_per_day, "jobs": args.jobs, "tools": args.tools, "lift": args.none}
        cost, jobs, tools = limit(address, user, **given)
        parts = [
            f"${cost:.2f} a day" if cost is not None else "",
            f"at most {quantity(jobs, 'job')} at once" if jobs is not None else "",
            f"may allow {clean_line(', '.join(tools), 300)}" if tools else "",
        ]
        print_line(f"{clean_line(user, 100)}: {' · '.join(filter(None, parts)) or 'no limits'}")


def _show_attention(found: Sequence[Any], *, as_json: bool) -> None:
    if as_json:
        print_json([each._asdict() for each in found])
        return
    for each in found:
        ago = duration(max(time.time() - each.since, 0.0))
        what = {
            "needs_you": each.what,
            "unknown_outcome": f"it is unknown whether {each.what} succeeded",
            "did_not_run": f"the schedule did not run: {each.what}",
        }[each.kind]
        name = each.session[:12] or each.job[:12] or each.query
        print_line(f"{name}  {each.owner}  {ago} ago  {what}\n    {each.query}")
    if not found:
        print_line("nothing needs your attention")
    elif any(each.kind == "unknown_outcome" for each in found):
        print_line("check there whether it was done, then `ua-tui team attention --checked ID`")
    if any(each.kind == "did_not_run" for each in found):
        print_line(
            "`ua-tui team attention --checked NAME` marks it as checked; it runs again when it is next due"
        )


async def _show_status(address: Address, *, as_json: bool) -> None:
    async with connected(address) as db:
        version = await read_version(db)
        check_version(version, address)
        work = await read_work(db)
        server = shown_version(db.info)
    if as_json:
        facts = {"database": str(address), "server": server, "tables": version}
        print_json({**facts, **asdict(work), "alive": work.alive})
        return
    print_line(
        f"{address}: PostgreSQL {server}, tables of version {version}\n"
        f"jobs      {_counts(work.jobs)}\n"
        f"workers   {_workers(work)}\n"
        f"schedules {_schedules(work)}"
    )
    if work.held_seconds:
        print_line(
            f"the workers claim no jobs for another {duration(work.held_seconds)}, because the provider "
            "refuses requests"
        )


def _counts(found: Mapping[Any, int]) -> str:
    return " · ".join(describe_counts(found)) or "none"


def _schedules(work: WorkState) -> str:
    lines = [str(len(work.schedules) or "none")]
    for each in work.schedules[:50]:
        run = (
            f"run {each['last_run']}: {_counts(each['last_jobs'])}"
            if each["last_run"]
            else "its batch was removed"
        )
        parts = [
            "{name} of {owner}: {every} {zone}".format_map(each),
            f"next {_moment(each['next_at'])}" if each["next_at"] else "never due again",
            f"last {_moment(each['last_at'])}, {run}" if each["last_at"] else "has not run",
            f"did not run {_moment(each['missed_at'])}: {each['missed_why']}" if each["missed_at"] else "",
        ]
        lines.append("  " + clean_line(" · ".join(filter(None, parts)), 1000))
    return "\n".join(lines)


def _moment(seconds: float) -> str:
    """A time of the clock of this machine."""
    return time.strftime("%a %Y-%m-%d %H:%M", time.localtime(seconds))


def _workers(work: WorkState) -> str:
    if not work.workers:
        waits = ": start one with `ua-tui worker`" if work.jobs.get("waiting") else ""
        return f"none{waits}"
    silent = len(work.workers) - work.alive
    lines = [f"{work.alive} alive" + f", {silent} silent" * bool(silent)]
    for each in work.workers[:50]:
        name, version = clean_line(each["name"], 60), clean_line(each["version"], 20)
        seen = f"seen {duration(each['silent_seconds'])} ago"
        lines.append(f"  {name}, {quantity(each['parallel'], 'job')} at once, version {version}, {seen}")
    return "\n".join(lines)
