from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import checked, claim, reported
from ua_tui.core.claims.records import Source
from ua_tui.tui.export.formats import FORMATS, ExportFormat

KNOWN = "correct-horse-battery-9"
PATTERN = "sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg"
LINK = "https://connect.example/auth/Q8fGh2Lw9xTzPq4R"
FORM = "https://forms.example/fill/K2mN8vBx5cYs7dQ"


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_is_in_an_export(session: Recorded, form: ExportFormat) -> None:
    text = f"<p title='{KNOWN}'>The key is {KNOWN} or {PATTERN.replace('-', '&#45;', 1)}, 41 %.</p>"
    path = reported(session, text, f"cats {KNOWN}.html")
    evil = f"{KNOWN} {PATTERN} {LINK} {FORM}"
    source = Source(
        kind="article", title=evil, author=evil, site=evil, url=f"https://cats.example/?token={KNOWN}"
    )
    more: dict[str, Any] = {"note": evil, "sentence": evil, "section": evil, "formula": evil, "url": evil}
    cited = claim("41 %", "found", kind="link", **more)
    checked(session, path, claim("41 %", instead=evil, **more), cited, source=source)
