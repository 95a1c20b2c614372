"""ua-tui: a full-screen terminal cockpit for an AI agent.

`main` is the `ua-tui` command. Programs import `ua_tui.api`, and packages with observers or handlers import
`ua_tui.plugins`; everything else is internal and may change in any version. The folders `core`, `observers`, `styles`
and `tui` are links to those at the top of the repository. Importing this module imports none of them.
"""

from __future__ import annotations


def main() -> int:
    """Run the `ua-tui` command; returns the exit code."""
    from ua_tui.tui.cli import main as run_command

    return run_command()
