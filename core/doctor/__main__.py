"""The doctor in a process of its own: `python -I -m core.doctor` reads settings and prints each check as it ends."""

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

from core.doctor.check import Check
from core.doctor.checks import examine
from core.settings.model import Settings, load_settings
from core.settings.sources import Given

__all__ = ["main"]


def main() -> int:
    """Read settings as a JSON object from standard input; a line of JSON goes out for each check."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    given = json.load(sys.stdin)
    asyncio.run(examine(_settings(given), os.environ, _tell))
    return 0


def _settings(given: dict[str, Any]) -> Settings:
    """Settings from the values alone: whatever else is set here has had its say before."""
    servers = tuple(
        Given(each["value"], "file", each["name"], Path(each["path"]), in_folder=each["in_folder"])
        for each in given.pop("mcp_servers")
    )
    with tempfile.TemporaryDirectory() as empty:
        nowhere = Path(empty)
        settings = load_settings(given, environ={}, cwd=nowhere, home=nowhere, config_dir=nowhere)
    return replace(settings, mcp_servers=servers)


def _tell(check: Check) -> None:
    sys.stdout.write(json.dumps(asdict(check)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
