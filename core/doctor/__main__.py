"""The doctor as a process: `python -I -m core.doctor` reads settings and prints each check when it is done."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from core.doctor.checks import run_checks
from core.doctor.findings import Check
from core.settings.model import Settings, load_settings
from core.settings.sources import SourcedValue

__all__ = ["main"]


def main() -> int:
    """Read settings as a JSON object from standard input; print a line of JSON for each check."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    values = json.load(sys.stdin)
    asyncio.run(run_checks(_settings(values), os.environ, _print_check))
    return 0


def _settings(values: dict[str, Any]) -> Settings:
    """Settings from the values alone: they were merged with the environment and all files before."""
    servers = tuple(
        SourcedValue(each["value"], "file", each["name"], Path(each["path"]), in_folder=each["in_folder"])
        for each in values.pop("mcp_servers")
    )
    with tempfile.TemporaryDirectory() as empty:
        nowhere = Path(empty)
        settings = load_settings(values, environ={}, cwd=nowhere, home=nowhere, config_dir=nowhere)
    return replace(settings, mcp_servers=servers)


def _print_check(check: Check) -> None:
    sys.stdout.write(json.dumps(asdict(check)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
