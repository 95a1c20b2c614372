"""Measurements made in a process of their own, so that nothing measured before has a part in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.running import environment

ROOT = Path(__file__).parents[2]


def report_of(module: str, argument: str, base: Path, *, seconds: float) -> dict[str, Any]:
    """Run `module ARGUMENT RESULT_FILE` at home in `base`, for `seconds` at most; gives the report it wrote."""
    base.mkdir(parents=True, exist_ok=True)
    result = base / "result.json"
    done = subprocess.run(
        [sys.executable, "-m", module, argument, str(result)],
        cwd=base,
        env=environment(base, PYTHONPATH=str(ROOT), COLORTERM="truecolor"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{module} {argument} failed:\n{done.stderr}")
    return dict(json.loads(result.read_text(encoding="utf-8")))
