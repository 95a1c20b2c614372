from __future__ import annotations

import re
from pathlib import Path

import pytest

import ua_tui.tui.export

STYLE = (Path(ua_tui.tui.export.__file__).parent / "page.css").read_text()
PAIRS = [
    ("ink", "paper"), ("ink", "wash"), ("soft", "paper"), ("soft", "wash"), ("accent", "paper"), ("accent", "wash"),
    ("good", "good-wash"), ("good", "paper"), ("look", "look-wash"), ("bad", "bad-wash"), ("bad", "paper"),
    ("ink", "look-wash"), ("ink", "bad-wash"),
]  # fmt: skip


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * each for each in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", re.findall(r":root\{([^}]*)\}", STYLE), ids=["light", "dark", "print"])
def test_texts_have_the_contrast_of_wcag_aa(palette: str) -> None:
    colours = dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", palette))
    for text, behind in PAIRS:
        light, dark = sorted((luminance(colours[text]), luminance(colours[behind])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, behind)
