from __future__ import annotations

import pytest

from ua_tui.tui.viewers.reader import decode
from ua_tui.tui.viewers.safe_html import to_markdown


@pytest.mark.parametrize("written", ["Halb\u00adleiter", "Halb&shy;leiter", "Halb&#173;leiter"])
def test_soft_hyphens_are_left_out(written: str) -> None:
    assert to_markdown(None, decode(f"<p>{written}</p>".encode())) == "Halbleiter"
