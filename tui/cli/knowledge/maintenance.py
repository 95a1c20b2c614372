"""`ua-tui knowledge`: shows the state of the knowledge base, updates and rebuilds it, and forgets."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ua_tui.core.errors import KnowledgeEmptied, KnowledgeError
from ua_tui.core.events.units import quantity, size
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import Forgotten, forget
from ua_tui.core.knowledge.place import place_of, written_place
from ua_tui.core.knowledge.search.embeddings import Embedder, embedder_of
from ua_tui.core.knowledge.status import Status, read_status
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import as_sentence, clean_line
from ua_tui.observers.knowledge.catch_up import update
from ua_tui.tui.cli.arguments import WrongUsage, redactor_of, settings_of
from ua_tui.tui.cli.knowledge.find import find_database, session_key, unread_sessions
from ua_tui.tui.cli.output import agrees, complain, local_time, print_json, print_line
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE

_FORGET_OPTIONS = ("session", "source", "match", "dry_run", "yes")
_MOST_NAMES = 20
_SHOWN = ("exists", "version", "sessions", "passages", "sources", "forgotten", "problems")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, 1 if it failed or nothing was forgotten, 130 if it was interrupted.

    Raises:
        KnowledgeError: the file cannot be read or written.
        SettingsError: a setting is wrong, the knowledge base is off, or there is no such session.
        WrongUsage: the options do not go together.
    """
    for name in _FORGET_OPTIONS if args.action != "forget" else ():
        if getattr(args, name):
            raise WrongUsage(f"--{name.replace('_', '-')} can only be used with forget")
    settings = settings_of(args)
    if args.action in ("update", "rebuild"):
        return _fill(settings, args)
    return (_forget if args.action == "forget" else _show)(settings, args)


def _show(settings: Settings, args: argparse.Namespace) -> int:
    path = place_of(settings)
    if path is None:
        print_line('{"path": null}' if args.json else "The knowledge base is off (setting knowledge).")
        return 0
    embedder = embedder_of(settings)
    status = read_status(path, settings.workspace_base, embedder.model if embedder else "")
    if args.json:
        print_json({"path": written_place(path), **_fields(status, embedder)})
    else:
        print_line(clean_line(str(path), 1000))
        for name, value in _rows(status, embedder):
            print_line(f"  {name:<13}{clean_line(value, 2000)}")
    return EXIT_FAILED if status.problems else 0


def _fields(status: Status, embedder: Embedder | None) -> dict[str, Any]:
    meaning = embedder and {"model": embedder.model, "host": embedder.host, "vectors": status.vectors}
    updated = status.updated and datetime.fromtimestamp(status.updated, UTC).isoformat(timespec="seconds")
    return {
        **{name: getattr(status, name) for name in _SHOWN},
        "bytes": status.size,
        "documents": dict(status.documents),
        "updated": updated,
        "meaning": meaning,
        "lagging": [{"session": name, "missing_bytes": size} for name, size in status.lagging.items()],
    }


def _rows(status: Status, embedder: Embedder | None) -> Iterator[tuple[str, str]]:
    if status.exists:
        yield "size", size(status.size)
    else:
        yield "state", "not created yet: the next session or `ua-tui knowledge update` creates it"
    # A file that cannot be read has no version.
    if status.version:
        named = {"query": ("query", "queries"), "workbench": ("workbench run",)}
        counted = status.documents.items()
        kinds = [quantity(number, *named.get(each, (each.replace("_", " "),))) for each, number in counted]
        listed = f" ({', '.join(kinds)})" if kinds else ""
        yield "documents", f"{sum(status.documents.values()):,}{listed}"
        for name in ("passages", "sources", "sessions"):
            yield name, f"{getattr(status, name):,}"
        if status.updated is not None:
            yield "updated", local_time(datetime.fromtimestamp(status.updated, UTC))
    if embedder is not None:
        count = f"{status.vectors:,} of {quantity(status.embeddable, 'passage')} have vectors"
        yield "by meaning", f"on, {embedder.model} at {embedder.host}; {count}"
    if status.lagging:
        first = ", ".join(f"{name} ({size(missing)})" for name, missing in [*status.lagging.items()][:5])
        more = len(status.lagging) - 5
        yield "not read yet", first + (f" and {more} more" if more > 0 else "")
        yield "", "a session reads them in the background; `ua-tui knowledge update` does it at once"
    if status.forgotten:
        yield "forgotten", quantity(status.forgotten, "request")
    yield from (("problem", problem) for problem in status.problems)


def _fill(settings: Settings, args: argparse.Namespace) -> int:
    """Update or rebuild the knowledge base, and show it."""
    path, base = find_database(settings, must_exist=False), settings.workspace_base
    if not base.is_dir():
        raise WrongUsage(f"there is no folder {clean_line(str(base), 1000)}")
    try:
        open_store(path).close()
    except KnowledgeEmptied as error:
        complain(str(error))
    try:
        try:
            problems = update(
                path, base, redactor_of(settings), _show_progress, again=args.action == "rebuild"
            )
        finally:
            _show_progress(0, 0)
    except KeyboardInterrupt:
        return complain(
            "interrupted: the next session or `ua-tui knowledge update` reads the rest", EXIT_INTERRUPTED
        )
    for problem in problems:
        complain(problem)
    return _show(settings, args) or (EXIT_FAILED if problems else 0)


def _forget(settings: Settings, args: argparse.Namespace) -> int:
    given = {name: getattr(args, name) for name in ("session", "source", "match")}
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        raise WrongUsage("forget needs --session, --source or --match")
    for name, value in wanted.items():
        if not value.strip():
            raise WrongUsage(f"--{name} is empty")
    path = find_database(settings)
    if args.session:
        wanted["session"] = session_key(path, settings.workspace_base, args.session)
    try:
        found = forget(path, **wanted, dry_run=True)
    except KnowledgeError as error:
        return complain(str(error), EXIT_USAGE)
    if not (found.documents or args.session):
        if args.json:
            _print_forgotten(found, done=False, as_json=True)
        for sentence in unread_sessions(path, settings.workspace_base):
            complain(sentence)
        return complain("nothing in the knowledge base matches: nothing was forgotten")
    if args.dry_run:
        _print_forgotten(found, done=False, as_json=args.json)
        return 0
    if not args.yes:
        if args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return complain(
                "confirmation needs a terminal; --dry-run shows what would be removed, --yes removes it without asking",
                EXIT_USAGE,
            )
        _print_forgotten(found, done=False, as_json=False)
        if not agrees("Forget this? It cannot be undone."):
            return complain("nothing was forgotten")
    _print_forgotten(forget(path, **wanted), done=True, as_json=args.json)
    return 0


def _print_forgotten(found: Forgotten, *, done: bool, as_json: bool) -> None:
    if as_json:
        print_json({"forgotten": done, **dataclasses.asdict(found)})
        return
    documents, passages = quantity(found.documents, "document"), quantity(found.passages, "passage")
    print_line(f"{'Forgotten' if done else 'To forget'}: {documents} with {passages}.")
    if not done:
        _print_names("Titles", found.titles)
        _print_names(f"Sessions ({len(found.sessions):,})", found.sessions)
    for sentence in found.kept:
        print_line(as_sentence(clean_line(sentence, 1000)))


def _print_names(what: str, names: Sequence[str]) -> None:
    shown = [f"  {clean_line(name, 300)}" for name in names[:_MOST_NAMES]]
    for line in ([f"{what}:"] if shown else []) + shown + ["  and others"] * (len(names) > _MOST_NAMES):
        print_line(line)


def _show_progress(done: int, total: int) -> None:
    """Show the progress in one line of standard error, if that is a terminal; without sessions clear the line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{done:,} of {total:,} sessions\r" if done < total else "\r\x1b[K")
        sys.stderr.flush()
