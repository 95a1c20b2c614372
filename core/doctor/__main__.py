"""The doctor as a process: `python -I -m ua_tui.core.doctor` reads settings and prints each check when it is done."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from typing import Any, get_type_hints

import msgspec
from msgspec.structs import asdict

from ua_tui.core.doctor.checks import run_checks
from ua_tui.core.doctor.findings import Check
from ua_tui.core.settings import parsers
from ua_tui.core.settings.model import Settings


def main() -> int:
    """Read settings as a JSON object from standard input; print a line of JSON for each check."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    settings = _read_settings(json.load(sys.stdin))
    asyncio.run(run_checks(settings, os.environ, _print_check))
    return 0


def _read_settings(given: dict[str, Any]) -> Settings:
    """Make settings of the values that were merged with the environment and all files before."""
    # Not even the types of these can be converted: a path, an address or a word.
    knowledge, artifacts = given.pop("knowledge"), given.pop("team_artifacts")
    knowledge = parsers.knowledge(knowledge["url"] if isinstance(knowledge, dict) else knowledge)
    artifacts = None if artifacts is None else parsers.team_artifacts(artifacts)
    kinds = get_type_hints(Settings)
    # A path is a text in JSON.
    found = {
        name: msgspec.convert(value, kinds[name], dec_hook=lambda kind, text: kind(text))
        for name, value in given.items()
    }
    return Settings(**found, knowledge=knowledge, team_artifacts=artifacts)


def _print_check(check: Check) -> None:
    sys.stdout.write(json.dumps(asdict(check)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
