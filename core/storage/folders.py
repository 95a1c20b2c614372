"""The names of the folders that sessions, copies of reports and the program's own state are stored in."""

from __future__ import annotations

from pathlib import Path

WORKSPACES = "AGENT_RUN_WORKSPACES"
SAVED_REPORTS = "SAVED_REPORTS"
REPORT_CHECKS = "report_checks"
"""The folder of a session with the checks of its reports, and what a person decided about them."""

ARTICLE_FOLDER, ARTICLE_PREFIX = "search_results", "crawl_"
"""The folder of the pages that the crawler saved, and how their names begin."""


def state_folder() -> Path:
    """The folder of what the program keeps for this user: rules, logins, decisions, the layout."""
    # Slow to import, and a session in a given folder does not need it.
    from platformdirs import user_state_path

    return user_state_path("ua-tui")
