"""`ua-tui batch`: runs the queries of a file, on this machine or by the workers of a team."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ua_tui.tui.cli.arguments import SESSION_OPTIONS, WrongUsage, add_address, amount, optional_address
from ua_tui.tui.cli.output import quiet_libraries
from ua_tui.tui.cli.team.worker import PARALLEL, add_parallel
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.jobs.running import RunJob
    from ua_tui.core.team.records import Job

EXAMPLES = """\
FILE has a query on each line (lines that begin with # are skipped), or an object such as
{"query": "...", "model": "..."} on each (.jsonl), or is a CSV with a column query (.csv). What else a row may set:
model, simple_model, fallback_model, effort, classifier, deny, max_cost_usd, max_turns; and allow and permission_mode
with --rows-may-allow.
The same batch given again runs nothing twice: it prints the answers that are there, and runs what is left.

examples:
  ua-tui batch queries.txt --parallel 4 > answers.txt
  ua-tui batch queries.csv --to postgresql://mary@db.example/desk --ask --json
"""
# Those of a session that may differ from what the workers have themselves.
_OF_JOBS = ("demo", "demo_pace", "model", "effort", "allow", "permission_mode", "max_turns")
_OPTIONS = tuple(each for each in SESSION_OPTIONS if each.setting in (*_OF_JOBS, "workspace_base"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to the parser."""
    parser.add_argument("file", metavar="FILE", help="the file with the queries; - reads standard input")
    add_address(parser, "--to", "the team's database, whose workers run the jobs")
    add_parallel(parser)
    parser.add_argument(
        "--max-cost-each", metavar="USD", type=amount("dollars"), default=1.0,
        help="the spending limit of each job whose row has no max_cost_usd (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--max-cost-all", metavar="USD", type=amount("dollars"), default=50.0,
        help="the spending limit of the batch (default: 50); with a higher one the same batch runs on",
    )  # fmt: skip
    for option in _OPTIONS:
        option.add_to(parser)
    parser.add_argument(
        "--ask", action="store_true",
        help="have a person of the team decide what no rule allows (`ua-tui fleet`), instead of denying it",
    )  # fmt: skip
    parser.add_argument("--private", action="store_true", help="hide the jobs from the others of the team")
    parser.add_argument(
        "--rows-may-allow", action="store_true",
        help="let rows set allow and permission_mode; not if the file is in a folder that is not trusted",
    )  # fmt: skip
    parser.add_argument("--no-wait", action="store_true", help="submit the jobs, and do not wait for them")
    parser.add_argument("--retry-failed", action="store_true", help="run jobs again that have failed")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each job")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: an address, a setting or the file is wrong.
        TeamError: the jobs cannot be reached.
        WrongUsage: the options do not go together.
    """
    import asyncio

    from ua_tui.core.agent.permissions.rule_set import RuleSet, rules_of
    from ua_tui.core.settings.loading import load_settings

    settings = load_settings({option.setting: option.given(args) for option in _OPTIONS})
    # Each job would fail for a rule that cannot be used.
    RuleSet(rules_of(settings))
    address = optional_address(args.address, settings)
    if args.private and address is None:
        raise WrongUsage("--private goes with --to: nobody else sees the jobs of this machine")
    if args.parallel is not None and address is not None:
        raise WrongUsage("--parallel goes with jobs of this machine: give it to the workers of the team")
    with quiet_libraries(settings.log_level):
        return asyncio.run(run_batch(args, settings, address))


async def run_batch(
    args: argparse.Namespace, settings: Settings, address: Address | None, *, job: RunJob | None = None
) -> int:
    """Run the command; `job` runs one job, by default as a session."""
    from ua_tui.core.team.jobs.batch_file import BatchProblems, batch_of
    from ua_tui.tui.cli.output import print_line
    from ua_tui.tui.team.batch import BatchRun, LineReporter, TerminalReporter, open_store

    store = await open_store(settings, address)
    reporter = TerminalReporter() if sys.stderr.isatty() else LineReporter()
    try:
        owner = None
        if args.private:
            from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs

            assert isinstance(store, PostgresJobs)
            owner = await store.owner()
        try:
            jobs = _read(args, owner)
        except BatchProblems as problems:
            sys.stderr.write("\n".join([f"ua-tui batch: {problems.summary}", *problems.lines]) + "\n")
            return EXIT_USAGE
        name = "standard input" if args.file == "-" else Path(args.file).name
        batch = batch_of(
            jobs, title=name, max_cost_usd=args.max_cost_all, shared=not args.private, owner=owner
        )
        batch_run = BatchRun(
            settings=settings,
            store=store,
            address=address,
            parallel=args.parallel or PARALLEL,
            reporter=reporter,
            write=lambda text: print_line(text, flush=True),
            run=job,
        )
        await batch_run.submit(batch, jobs, retry_failed=args.retry_failed)
        if args.no_wait:
            counts = await store.counts(batch.id)
            runs = "`ua-tui worker` in this folder runs them" if address is None else "the workers run them"
            state = runs if counts.over < counts.total else "all are finished"
            reporter.line(f"{state}; the same command without --no-wait prints the answers")
            await batch_run.check_workers(counts)
            return 0
        return await batch_run.complete(batch, as_json=args.json)
    finally:
        reporter.close()
        await store.close()


def _read(args: argparse.Namespace, owner: str | None) -> list[Job]:
    from ua_tui.core.errors import SettingsError
    from ua_tui.core.team.jobs.batch_file import read_jobs

    defaults: dict[str, Any] = {
        option.setting: given
        for option in _OPTIONS
        if option.setting in _OF_JOBS and (given := option.given(args)) is not None
    }
    defaults["max_cost_usd"] = args.max_cost_each
    if args.ask:
        defaults["ask"] = True
    more = {"owner": owner, "rows_may_allow": args.rows_may_allow}
    if args.file == "-":
        return read_jobs(sys.stdin.buffer, "standard input", defaults, **more)
    if args.rows_may_allow:
        _check_folders(Path(args.file))
    try:
        with Path(args.file).open("rb") as file:
            return read_jobs(file, args.file, defaults, **more)
    except OSError as error:
        raise SettingsError(f"{args.file} cannot be read: {error.strerror}") from error


def _check_folders(file: Path) -> None:
    """Refuse a file whose rows set rights in a folder that is not trusted, or below one.

    Raises:
        SettingsError: it is in such a folder.
    """
    from ua_tui.core.errors import SettingsError
    from ua_tui.core.settings.places import Places
    from ua_tui.core.text import clean_line
    from ua_tui.core.trust_question.question import read_folder

    # The home has files of the user's own, such as sub-agents.
    for folder in {*file.resolve().parents, *file.absolute().parents} - {Path.home().resolve()}:
        if read_folder(replace(Places.of(), cwd=folder)).state not in ("harmless", "trusted", "partly"):
            shown = clean_line(shlex.quote(str(folder)), 700)
            raise SettingsError(
                f"--rows-may-allow: {clean_line(str(file), 300)} is in the folder {shown}, which is not trusted: see "
                f"`ua-tui trust show {shown}`, and then `ua-tui trust yes {shown}`; or give the rules with --allow"
            )
