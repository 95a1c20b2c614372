"""The export of a real session of the demo, in a real browser that may reach only a proxy of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.evidence.export import export_section
from tests.e2e.chromium import BROWSER

pytestmark = pytest.mark.e2e


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_an_export_is_small_loads_nothing_and_has_no_secrets(tmp_path: Path) -> None:
    rows = {row.measure: row for row in export_section(tmp_path).rows}
    for row in rows.values():
        if row.unit != "s":
            assert row.verdict == "ok", row
