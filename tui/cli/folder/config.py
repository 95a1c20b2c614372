"""`ua-tui config`: shows every setting with its value and source; `config set` stores one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ua_tui.core.plugins import PluginProblem, list_plugins
from ua_tui.core.settings.describe import (
    SettingListing,
    SettingOrigin,
    StoredSetting,
    list_settings,
    setting_of,
    store_setting,
)
from ua_tui.core.settings.places import Places
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage
from ua_tui.tui.cli.output import complain, print_json, print_line, print_table

_HEADER = ("SETTING", "VALUE", "FROM")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: a name or value is wrong, or a file cannot be read or written.
        WrongUsage: the words do not go together.
    """
    places = Places()
    match args.words:
        case ["set", name, value]:
            return _store(places, name, value, args)
        case ["unset", name]:
            return _store(places, name, None, args)
        case ["set" | "unset" as action, *_]:
            raise WrongUsage(f"{action} takes {'a name and a value' if action == 'set' else 'one name'}")
        case _ if args.project:
            raise WrongUsage("--project can only be used with set and unset")
        case ["get" | "list", *names]:
            return _show(places, names, as_json=args.json)
        case names:
            return _show(places, names, as_json=args.json)


def _store(places: Places, word: str, value: str | None, args: argparse.Namespace) -> int:
    if args.json:
        raise WrongUsage("--json cannot be used with set and unset")
    name = setting_of(word)
    if value == "-" and sys.stdin.isatty():
        from getpass import getpass

        value = getpass(f"{name}: ").strip()
    elif value == "-":
        value = sys.stdin.readline().strip()
    stored = store_setting(name, value, places, in_project=args.project)
    print_line(_done(name, value, stored))
    if stored.warning:
        complain(stored.warning)
    return 0


def _done(name: str, value: str | None, stored: StoredSetting) -> str:
    if value is None:
        return (
            f"{name} was removed from {stored.path}"
            if stored.changed
            else f"{name} is not set in {stored.path}"
        )
    if stored.default:
        state = "is stored empty in {}" if stored.empty else "is not set in {}"
        return f"{name} has its default, {clean_line(stored.default, 200)}: it {state.format(stored.path)}"
    return f"{name} is stored in {stored.path}"


def _show(places: Places, words: list[str], *, as_json: bool) -> int:
    names = [setting_of(word) for word in words]
    every = {each.name: each for each in list_settings(places)}
    listed = [every[name] for name in names or every]
    if as_json:
        # What a table has may be anything that TOML knows, also a date.
        print_json([_as_json(each) for each in listed])
    elif names:
        print_line("\n\n".join("\n".join(_whole(each)) for each in listed))
    else:
        print_table(
            [
                _HEADER,
                *(
                    (each.name, clean_line(each.value or f"({each.without})", 44), _place(each))
                    for each in listed
                ),
            ]
        )
        for line in (*_held_back(listed), *_plugins(on=bool(every["plugins"].value))):
            print_line(line)
    return 0


def _plugins(*, on: bool) -> list[str]:
    """What other packages add to the program."""
    problems: list[PluginProblem] = []
    found = list_plugins(problems.append) if on else []
    found += [f"{each.plugin}: {each.message}" for each in problems]
    return ["", "Plug-ins:", *(f"  {each}" for each in found)] if found else []


def _held_back(listed: Sequence[SettingListing]) -> list[str]:
    """What files of the folder set without effect, and why."""
    lines = [
        f"  {setting.name} in {_where(origin)}: {origin.held_back}"
        for setting in listed
        for origin in setting.origins
        if origin.held_back
    ]
    return ["", "Held back:", *(clean_line(each, 1000) for each in lines)] if lines else []


def _as_json(setting: SettingListing) -> dict[str, object]:
    return {
        "name": setting.name,
        "value": setting.data,
        "origins": [
            {"place": each.place, "line": each.line, "value": each.data, "held_back": each.held_back or None}
            for each in setting.origins
        ],
        "about": setting.about,
        "takes": setting.takes,
        "variables": setting.variables,
    }


def _whole(setting: SettingListing) -> list[str]:
    without = "(none)" if setting.without == "none" else f"(not set: {setting.without})"
    lines = [
        f"{setting.name} = {clean_line(setting.value or without, 1000)}",
        f"  {setting.about} {setting.notes}".rstrip(),
    ]
    lines.append(f"  accepts {setting.takes}")
    if setting.variables:
        lines.append(f"  environment: {', '.join(setting.variables)}")
    for at, origin in enumerate(setting.origins):
        value = clean_line(origin.value, 200) or "empty, which means the default"
        counts = "from" if at == 0 else "and from" if setting.gathered else "overruled:"
        if origin.held_back:
            counts, value = "held back:", f"{value} ({clean_line(origin.held_back, 500)})"
        lines.append(f"  {counts} {clean_line(_where(origin), 1000)}: {value}")
    if all(each.held_back for each in setting.origins):
        lines.append("  the default")
    return lines


def _place(setting: SettingListing) -> str:
    origins = [each for each in setting.origins if not each.held_back]
    if not origins:
        return "default"
    if setting.gathered and len(origins) > 1:
        return f"{len(origins)} files"
    return clean_line(_where(origins[0]), 1000)


def _where(origin: SettingOrigin) -> str:
    return f"{origin.place}, line {origin.line}" if origin.line else origin.place
