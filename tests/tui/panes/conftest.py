from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def folders_listed_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits a second for the next listing of a folder."""
    monkeypatch.setattr("ua_tui.tui.panes.workspace.tree.SWEEP_SECONDS", 0.05)
