"""`ua-tui permissions`: lists the permission rules, removes stored ones, and shows the log of decisions."""

from __future__ import annotations

import argparse

from ua_tui.core.agent.permissions.rule_set import NO_RULES, RuleStore, StoredRule, rules_of
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.history.lookup import LATEST, find_session
from ua_tui.core.history.permission_log import read_decisions
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage, settings_of
from ua_tui.tui.cli.output import complain, local_time, print_line, print_list
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

_HEADER = ("NUMBER", "EFFECT", "RULE", "SERVER", "FROM", "LAST USED")
_LOG_HEADER = ("TIME", "DECISION", "TOOLS", "BY", "RULE OR REASON")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, or 1 if there is no such rule or a file is at fault.

    Raises:
        SettingsError: a setting is wrong, or there is no such session.
        JournalError: the session's journal cannot be read.
        WorkspaceError: the file of the rules cannot be written.
        WrongUsage: the words do not go together.
    """
    match args.action:
        case "log":
            return _log(args)
        case "remove":
            return _remove(RuleStore(), args)
    if args.names:
        raise WrongUsage("list takes no names")
    return _list(RuleStore(), as_json=args.json)


def _list(store: RuleStore, *, as_json: bool) -> int:
    rules: list[tuple[int | None, Rule, str]] = [
        *((at, each.rule, each.folder) for at, each in enumerate(store.rules(), 1)),
        *((None, rule, "") for rule in rules_of(load_settings())),
    ]
    fields = (_fields(*each, store) for each in rules)
    print_list(fields, _HEADER, (_row(*each, store) for each in rules), as_json=as_json, empty=NO_RULES)
    return complain(store.problem) if store.problem else 0


def _row(number: int | None, rule: Rule, folder: str, store: RuleStore) -> tuple[str, ...]:
    used = store.last_used(rule)
    return (
        str(number or "-"),
        rule.effect,
        clean_line(rule.text, 200),
        clean_line(rule.server or "-"),
        clean_line(folder, 200) if folder else rule.origin,
        local_time(used) if used is not None else "never",
    )


def _fields(number: int | None, rule: Rule, folder: str, store: RuleStore) -> dict[str, object]:
    used = store.last_used(rule)
    return {
        "number": number,
        "folder": folder,
        "effect": rule.effect,
        "rule": clean_line(rule.text, 10_000),
        "server": rule.server,
        "origin": rule.origin,
        "last_used": used,
    }


def _remove(store: RuleStore, args: argparse.Namespace) -> int:
    if not args.names:
        raise WrongUsage("name the rules to remove by their numbers: `ua-tui permissions` lists them")
    stored = store.rules()
    chosen: list[StoredRule] = []
    for name in args.names:
        if not (name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(stored)):
            shown = clean_line(name, 100)
            return complain(f"there is no stored rule {shown}: `ua-tui permissions` lists them", EXIT_USAGE)
        chosen.append(stored[int(name) - 1])
    for each in chosen:
        store.remove(each)
        print_line(f"removed {each.effect} {clean_line(each.text, 1_000)}")
    return 0


def _log(args: argparse.Namespace) -> int:
    if len(args.names) > 1:
        raise WrongUsage("log takes one session")
    settings = settings_of(args)
    folder = find_session(settings.workspace_base, args.names[0] if args.names else LATEST)
    found = read_decisions(folder)
    rows = ((local_time(e.at), e.decision, e.tools, e.by, clean_line(e.rule or e.reason, 120)) for e in found)
    empty = f"no permission was needed in {folder.name}"
    print_list(found, _LOG_HEADER, rows, as_json=args.json, empty=empty)
    return 0
