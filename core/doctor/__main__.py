"""The doctor as a process: `python -I -m core.doctor` reads settings and prints each check when it is done."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from dataclasses import asdict

import msgspec

from core.doctor.checks import run_checks
from core.doctor.findings import Check
from core.settings.model import Settings

__all__ = ["main"]


def main() -> int:
    """Read settings as a JSON object from standard input; print a line of JSON for each check."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # They were merged with the environment and all files before; a path is a text in JSON.
    settings = msgspec.convert(json.load(sys.stdin), Settings, dec_hook=lambda kind, text: kind(text))
    asyncio.run(run_checks(settings, os.environ, _print_check))
    return 0


def _print_check(check: Check) -> None:
    sys.stdout.write(json.dumps(asdict(check)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
