"""The doctor in a process of its own: `python -I -m core.doctor` reads settings and prints each check as it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from core.doctor.check import Check
from core.doctor.examine import examine
from core.settings import Settings, load_settings

__all__ = ["main"]


def main() -> int:
    """Read settings as a JSON object from standard input; a line of JSON goes out for each check."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    given = json.load(sys.stdin)
    asyncio.run(examine(_settings(given), os.environ, _tell))
    return 0


def _settings(given: dict[str, object]) -> Settings:
    """Settings from the values alone: whatever else is set here has had its say before."""
    with tempfile.TemporaryDirectory() as empty:
        nowhere = Path(empty)
        return load_settings(given, environ={}, cwd=nowhere, home=nowhere, config_dir=nowhere)


def _tell(check: Check) -> None:
    sys.stdout.write(json.dumps(asdict(check)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
