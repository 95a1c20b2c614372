"""`ua-tui knowledge forget`: shows what would be removed, asks, and removes it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.events.units import quantity
from ua_tui.core.knowledge.removal.forgetting import forget
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage
from ua_tui.tui.cli.knowledge.place import find_database, session_key
from ua_tui.tui.cli.output import agrees, complain, print_json, print_line
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.knowledge.removal.forgetting import Forgotten
    from ua_tui.core.settings.model import Settings

_SHOWN = 20


def run_forget(settings: Settings, args: argparse.Namespace) -> int:
    """Forget what the options name; returns the exit code: 0, 1 if nothing was, or 2 if that is not possible.

    Raises:
        KnowledgeError: the file cannot be written.
        SettingsError: the knowledge base is off or missing, or there is no such session.
        WrongUsage: nothing is named.
    """
    if not (args.session or args.source or args.match):
        raise WrongUsage("forget needs --session, --source or --match")
    for name in ("session", "source", "match"):
        value = getattr(args, name)
        if value is not None and not value.strip():
            raise WrongUsage(f"--{name} is empty")
    path = find_database(settings)
    which = partial(
        forget,
        path,
        session=session_key(path, settings.workspace_base, args.session) if args.session else "",
        source=args.source or "",
        match=args.match or "",
        files=args.files,
    )
    try:
        found = which(dry_run=True)
    except KnowledgeError as error:
        return complain(str(error), EXIT_USAGE)
    if not (found.documents or found.files or args.session):
        if args.json:
            _print(found, done=False, as_json=True)
        return complain("nothing in the knowledge base matches: nothing was forgotten")
    if args.dry_run:
        _print(found, done=False, as_json=args.json)
        return 0
    if not args.yes:
        if args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return complain(
                "nobody can be asked here: --dry-run shows what would be removed, --yes removes it",
                EXIT_USAGE,
            )
        _print(found, done=False, as_json=False)
        what = "Forget this and delete the files" if found.files else "Forget this"
        if not agrees(f"{what}? It does not come back."):
            return complain("nothing was forgotten")
    _print(which(), done=True, as_json=args.json)
    return 0


def _print(found: Forgotten, *, done: bool, as_json: bool) -> None:
    if as_json:
        print_json({"forgotten": done, **asdict(found)})
        return
    documents, passages = quantity(found.documents, "document"), quantity(found.passages, "passage")
    print_line(f"{'Forgotten' if done else 'To forget'}: {documents} with {passages}.")
    if not done:
        _print_names("Titles", found.titles)
        _print_names(f"Sessions ({len(found.sessions):,})", found.sessions)
    name = "Deleted files" if done else "Files to delete"
    _print_names(f"{name} ({len(found.files):,})", [str(path) for path in found.files])
    for sentence in found.kept:
        line = clean_line(sentence, 1000)
        print_line(f"{line[:1].upper()}{line[1:]}.")


def _print_names(what: str, names: Sequence[str]) -> None:
    shown = [f"  {clean_line(name, 300)}" for name in names[:_SHOWN]]
    for line in ([f"{what}:"] if shown else []) + shown + (["  and others"] if len(names) > _SHOWN else []):
        print_line(line)
