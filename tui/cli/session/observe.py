"""`ua-tui observe`: runs the observers on a saved tool result, or again on a past session."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.bus import Bus
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import Event
from ua_tui.core.history.lookup import find_session
from ua_tui.core.knowledge.place import place_of
from ua_tui.core.observation import ToolResult
from ua_tui.core.plugins import PluginProblem
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line, escape_unsafe
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.execution.replay import observe_result, results_of, saved_result
from ua_tui.observers.execution.run import Run
from ua_tui.observers.search_results import explain
from ua_tui.tui.cli.arguments import WrongUsage, read_given_file, redactor_of, settings_of
from ua_tui.tui.cli.output import complain, print_line
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED

_MAX_FILE = 256 << 20


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, 1 when an observer or a file failed, 2 for wrong usage."""
    _check_usage(args)
    settings, journal = settings_of(args), None
    if args.session:
        folder = find_session(settings.workspace_base, args.session)
        with PastJournal(folder) as journal:
            results = [*results_of(event for _, batch in journal.batches(0) for event in batch)]
    else:
        folder, data = Path(args.workspace), read_given_file(args.result, _MAX_FILE)
        arguments = _read_input(args.input) if args.input else {}
        # The same result is one call however often it is observed, another is another call.
        digest = hashlib.sha256(msgspec.json.encode([args.tool, arguments], order="deterministic") + data)
        call = f"observe_{digest.hexdigest()[:12]}"
        results = [saved_result(args.tool, arguments, data, tool_use_id=call)]
    with closing(Workspace.open(folder, redactor_of(settings))) as workspace:
        knowledge, public = place_of(settings), settings.public_searches
        context = ObserverContext(workspace, knowledge=knowledge, public_searches=public)
        observation = _Observation(as_json=args.json, explain=args.explain, plugins=settings.plugins)
        code = observation.over(results, context)
    if journal is not None and (skipped := journal.unread.skipped + journal.unread.torn):
        complain(f"lines of the journal that cannot be read: {skipped}")
    return code


def _check_usage(args: argparse.Namespace) -> None:
    if args.explain and args.json:
        raise WrongUsage("--explain prints sentences, --json events: use one of them")
    given = [f"--{name}" for name in ("tool", "input", "result", "workspace") if getattr(args, name)]
    if args.session:
        if given:
            raise WrongUsage(f"--session must be used alone: omit {', '.join(given)}")
        return
    missing = [option for option in ("--tool", "--result", "--workspace") if option not in given]
    if missing:
        raise WrongUsage(f"missing {', '.join(missing)}; or use --session SESSION alone")


class _Observation(msgspec.Struct, eq=False):
    """Runs the observers and says what came of it: one line an artifact, or the events as they are."""

    as_json: bool
    explain: bool
    plugins: bool
    _failed: bool = False

    def over(self, results: Sequence[ToolResult], context: ObserverContext) -> int:
        bus = Bus()
        if self.as_json:
            bus.subscribe(_print_event)
        observers = default_observers(plugins=self.plugins, report=self._left_out)
        publish: Callable[[Event], object] = bus.publish
        for result in results:
            runs = observe_result(result, observers, context, publish)
            self._report(result.call.name, runs)
            for line in explain(result, context) if self.explain else ():
                print_line(f"  {clean_line(line, 2_000)}")
        if not results and not self.as_json:
            print_line("nothing saved: the session has no finished tool calls")
        return EXIT_FAILED if self._failed else 0

    def _left_out(self, problem: PluginProblem) -> None:
        self._failed = True
        complain(f"{problem.plugin}: {clean_line(problem.message, 500)}")

    def _report(self, tool: str, runs: list[Run]) -> None:
        for one in runs:
            if one.error is not None:
                self._failed = True
                complain(f"{one.observer}: {clean_line(one.error, 500)}")
        if self.as_json:
            return
        saved = 0
        for one in runs:
            for artifact in one.outcome.artifacts:
                saved += 1
                copied = f" -> {artifact.copied_to}" if artifact.copied_to else ""
                line = f"{artifact.path}{copied}  {artifact.kind}, {artifact.size:,} bytes"
                print_line(clean_line(line, 2_000))
            if one.outcome.artifacts and one.outcome.note:
                print_line(f"  {clean_line(one.outcome.note, 2_000)}")
        if saved == 0:
            # Who only looked out of curiosity is heard when nobody else has a reason.
            heard = [one for one in runs if not one.silent] or runs
            notes = [f"{one.observer}: {one.outcome.note}" for one in heard if one.outcome.note]
            reason = "; ".join(notes) or ("an observer failed" if runs else "no observer handles this tool")
            print_line(clean_line(f"nothing saved from {tool}: {reason}", 2_000))


def _print_event(event: Event) -> None:
    try:
        sys.stdout.write(escape_unsafe(encode_event(event).decode()) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read this has had enough; what is being saved is saved to its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _read_input(path: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(read_given_file(path, _MAX_FILE).removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise SettingsError(
            f"the input {clean_line(path, 300)} is not JSON: {clean_line(str(error))}"
        ) from error
    if not isinstance(value, dict):
        raise SettingsError(f"the input {clean_line(path, 300)} is not a JSON object")
    return value
