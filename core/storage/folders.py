"""The names of the folders that sessions and copies of reports are stored in, apart from what reads them."""

from __future__ import annotations

WORKSPACES = "AGENT_RUN_WORKSPACES"
SAVED_REPORTS = "SAVED_REPORTS"
