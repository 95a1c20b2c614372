"""Tests of `ua_tui.core.redaction`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))
