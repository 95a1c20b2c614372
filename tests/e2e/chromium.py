"""The real browser of the tests: without a window, and without a way to anywhere but this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
"""None where there is none."""

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-proxy-server",
)


def browser(folder: Path, hosts: str, *more: str) -> list[str]:
    """The command of a browser whose profile is `folder`, and that finds hosts by the rules of `hosts`."""
    assert BROWSER is not None
    return [BROWSER, *QUIET, f"--user-data-dir={folder}", f"--host-resolver-rules={hosts}", *more]
