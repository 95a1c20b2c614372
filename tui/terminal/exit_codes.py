"""The exit codes of the `ua-tui` command."""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FITTING = 3
EXIT_TIMEOUT = 124
EXIT_INTERRUPTED = 130
