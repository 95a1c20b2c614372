"""The program's version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("ua-tui")
except PackageNotFoundError:
    VERSION = "0+unknown"
