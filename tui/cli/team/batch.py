"""`ua-tui batch`: runs the queries of a file, on this machine or on the workers of a team."""

from __future__ import annotations

import argparse
import asyncio
import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing, nullcontext
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ua_tui.core.agent.messages.usage import Prices
from ua_tui.core.agent.permissions.rule_set import RuleSet, rules_of
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.units import quantity
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import sharing
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.parsers import read_prices, unpriced_error
from ua_tui.core.settings.places import Places
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.team.fleet.local import BATCHES
from ua_tui.core.team.jobs.batch_file import BatchProblems, batch_of, read_jobs
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.results_file import ResultsFile
from ua_tui.core.team.jobs.running import RunJob
from ua_tui.core.team.records import NO_MONEY, Job
from ua_tui.core.text import clean_line
from ua_tui.core.trust_question import read_folder
from ua_tui.tui.cli.arguments import WrongUsage, amount, optional_address, settings_of
from ua_tui.tui.cli.output import print_line, quiet_libraries
from ua_tui.tui.cli.team.schedule import make_schedule, print_timer
from ua_tui.tui.cli.team.worker import PARALLEL
from ua_tui.tui.team.batch import BatchRun
from ua_tui.tui.team.local_batch import LocalBatch
from ua_tui.tui.team.reporters import Reporter, counts_line
from ua_tui.tui.team.result_output import LINES, ResultOutput, target_of
from ua_tui.tui.terminal.apart import run_apart
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE

MOST_EACH, MOST_ALL = 1.0, 50.0
"""The spending limits by default, in US dollars: of a job, and of the batch."""
# Those of a session that may differ from what the workers have themselves.
_OF_JOBS = ("demo", "demo_pace", "model", "effort", "allow", "permission_mode", "max_turns")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: an address, a setting or the file is wrong.
        TeamError: the jobs cannot be reached.
        WrongUsage: the options do not go together.
    """
    settings = settings_of(args)
    # Each job would fail for a rule that cannot be used.
    RuleSet(rules_of(settings))
    address = optional_address(args.address, settings)
    here, every = address is None, args.every is not None
    for is_wrong, why in (
        (here and args.private, "--private needs a team's database (--to)"),
        (here and args.no_wait, "--no-wait needs a team's database (--to)"),
        (
            not here and args.parallel,
            "--parallel is for jobs on this machine: give it to the team's workers instead",
        ),
        (
            args.again and args.retry_failed,
            "--again runs all rows, --retry-failed those that failed: use one of them",
        ),
        (every and args.retry_failed, "--every runs all rows each time: omit --retry-failed"),
        (
            every and not here and (args.output or args.json),
            "with --every, the workers run the batch: omit --output and --json; the same command without --every "
            "writes the results",
        ),
        (every and here and args.file == "-", "--every reads the queries each time: name a file"),
    ):
        if is_wrong:
            raise WrongUsage(why)

    def work() -> int:
        with quiet_libraries(settings.log_level):
            return asyncio.run(run_batch(args, settings, address))

    return run_apart(work) if address is None else work()


async def run_batch(
    args: argparse.Namespace, settings: Settings, address: Address | None, *, job: RunJob | None = None
) -> int:
    """Run the command; `job` runs one job of this machine, by default as a session."""
    reporter = Reporter(in_place=sys.stderr.isatty())
    try:
        if address is not None:
            return await _run_for_team(args, address, reporter)
        return await _run_here(args, settings, reporter, job)
    except BatchProblems as problems:
        sys.stderr.write("\n".join([f"ua-tui batch: {problems.summary}", *problems.lines]) + "\n")
        return EXIT_USAGE
    finally:
        reporter.close()


async def _run_here(
    args: argparse.Namespace, settings: Settings, reporter: Reporter, job: RunJob | None
) -> int:
    jobs, most = _with_limits(args, settings, _read(args), reporter)
    if args.every is not None:
        print_timer(args, _title(args))
        return 0
    path = args.output
    if path is None or path.suffix.lower() not in LINES:
        name = safe_name(args.name or Path(_title(args)).stem)
        path = settings.workspace_base / WORKSPACES / BATCHES / f"{name}.jsonl"
    output = _output(args, jobs)
    with closing(ResultsFile(path, again=args.again)) as file:
        output.file = file
        if file.moved is not None:
            reporter.line(f"the results of the previous run are in {file.moved}")
        batch = LocalBatch(
            name=_title(args),
            settings=settings,
            file=file,
            output=output,
            reporter=reporter,
            parallel=args.parallel or PARALLEL,
            max_cost_usd=most,
            grace=args.grace,
            retry_failed=args.retry_failed,
            run=job,
        )
        reporter.line(batch.plan())
        signals = await batch.work()
        again = " without --again" if args.again else ""
        advice = f"run the same command again{again} to resume"
        return _end(output, signals, reporter, advice, f"results in {args.output or path}")


async def _run_for_team(args: argparse.Namespace, address: Address, reporter: Reporter) -> int:
    async with AsyncExitStack() as stack:
        store = PostgresJobs(await stack.enter_async_context(sharing(address, 2)))
        name = clean_line(_title(args), 200)
        role, last = await store.owner_and_run(name)
        owner, run = role if args.private else None, (name, max(1, last) + args.again)
        jobs, most = _with_limits(args, None, _read(args, owner, run), reporter)
        batch = batch_of(jobs, max_cost_usd=most, owner=owner, run=run)
        if args.every is not None:
            reporter.line(await make_schedule(store, batch, jobs, args.every))
            return 0
        output = _output(args, jobs)
        if args.output is not None and args.output.suffix.lower() in LINES:
            output.file = ResultsFile(args.output)
            stack.callback(output.file.close)
        batch_run = BatchRun(store=store, reporter=reporter)
        await batch_run.submit(batch, jobs, retry_failed=args.retry_failed)
        if args.no_wait:
            counts = await store.counts(batch.id)
            reporter.line(f"{counts_line(counts)}; the same command without --no-wait prints the answers")
            await batch_run.check_obstacle(batch, counts)
            return 0
        signals = await batch_run.work(batch, output)
        where = f"results in {args.output}" if args.output else ""
        return _end(output, signals, reporter, "the workers continue them", where)


def _end(output: ResultOutput, signals: list[int], reporter: Reporter, advice: str, where: str) -> int:
    """Write all results, and say what came of the batch; returns the exit code."""
    reporter.close()
    output.finish()
    if signals or output.left:
        left = f"{quantity(output.left, 'job')} left; {advice}"
        reporter.line(f"interrupted: {left}" if signals else left)
    failed = [result for result in output.results.values() if result.state != "done"]
    if limited := [result for result in failed if result.error.startswith(NO_MONEY)]:
        reporter.line(
            f"{quantity(len(limited), 'job')} did not run, as the limit of the batch is spent: "
            "the same command with a higher --max-cost-all runs them"
        )
    if len(failed) > len(limited):
        reporter.line("--retry-failed runs the failed ones again")
    reporter.line(output.summary(where))
    if signals:
        return 128 + signals[0]
    return EXIT_FAILED if failed or output.left else 0


def _title(args: argparse.Namespace) -> str:
    return args.name or ("standard input" if args.file == "-" else Path(args.file).name)


def _output(args: argparse.Namespace, jobs: Sequence[Job]) -> ResultOutput:
    """Where the results go; they are not to replace another file."""
    target = None
    if args.output is not None:
        if args.file != "-" and args.output.exists() and args.output.samefile(args.file):
            raise SettingsError("--output is the file with the queries: name another one")
        target = target_of(args.output, jobs, _title(args))
    return ResultOutput(
        jobs, as_json=args.json, write=lambda text: print_line(text, flush=True), target=target
    )


def read_limit(text: str) -> float:
    """Read a spending limit; `none` is no limit."""
    return math.inf if text == "none" else amount("dollars")(text)


def _with_limits(
    args: argparse.Namespace, settings: Settings | None, jobs: Sequence[Job], reporter: Reporter
) -> tuple[Sequence[Job], float | None]:
    """The jobs with their spending limits, and that of all; with a model without a price there is none by default.

    `settings` are those of the sessions; None if the workers of a team have them.

    Raises:
        SettingsError: a limit was set, and the price of a model is unknown.
    """
    each, most = args.max_cost_each, args.max_cost_all
    if settings is not None and (unpriced := _unpriced_model(settings, jobs)) is not None:
        limits = [each, most, settings.max_cost_usd, *(job.settings.get("max_cost_usd") for job in jobs)]
        if any(limit not in (None, math.inf) for limit in limits):
            raise unpriced_error(unpriced)
        reporter.line(
            f"the price of {unpriced} is unknown, so there is no spending limit: set it with the setting prices"
        )
        each = most = math.inf
    each, most = MOST_EACH if each is None else each, MOST_ALL if most is None else most
    if each != math.inf:
        jobs = [replace(job, settings={"max_cost_usd": each, **job.settings}) for job in jobs]
    return jobs, None if most == math.inf else most


def _unpriced_model(settings: Settings, jobs: Sequence[Job]) -> str | None:
    """A model of the jobs whose price is unknown."""
    prices = Prices(read_prices(settings.prices))
    models = dict.fromkeys(
        job.settings.get(name) or ("" if job.settings.get("demo") else getattr(settings, name))
        for job in jobs
        for name in ("model", "simple_model", "fallback_model")
    )
    return next((model for model in models if model and not prices.is_known(model)), None)


def _read(args: argparse.Namespace, owner: str | None = None, run: tuple[str, int] = ("", 1)) -> list[Job]:
    defaults: dict[str, Any] = {
        name: given for name in _OF_JOBS if (given := args.settings[name]) is not None
    }
    if args.ask:
        defaults["ask"] = True
    is_file = args.file != "-"
    name = args.file if is_file else "standard input"
    if is_file and args.rows_may_allow:
        _check_folders(Path(args.file))
    try:
        with Path(args.file).open("rb") if is_file else nullcontext(sys.stdin.buffer) as file:
            return read_jobs(file, name, defaults, owner=owner, run=run, rows_may_allow=args.rows_may_allow)
    except OSError as error:
        raise SettingsError(f"{name} cannot be read: {error.strerror or error}") from error


def _check_folders(file: Path) -> None:
    """Refuse a file whose rows set rights in a folder that is not trusted, or below one."""
    # The home has files of the user's own, such as sub-agents.
    for folder in {*file.resolve().parents, *file.absolute().parents} - {Path.home().resolve()}:
        if read_folder(replace(Places(), cwd=folder)).state not in ("harmless", "trusted", "partly"):
            shown = clean_line(shlex.quote(str(folder)), 700)
            raise SettingsError(
                f"--rows-may-allow is refused, because {clean_line(str(file), 300)} is in an untrusted folder. Run "
                f"`ua-tui trust show {shown}` and then `ua-tui trust yes {shown}`, or use --allow"
            )
