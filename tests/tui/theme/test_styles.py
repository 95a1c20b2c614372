"""The style files hold to what keeps the screen quick and every theme usable."""

from __future__ import annotations

import re
from pathlib import Path

from textual.theme import BUILTIN_THEMES

from tests.paths import STYLES
from ua_tui.tui.theme.themes import MISSING, THEMES

FILES = sorted((STYLES).glob("*.tcss"))
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ORDER_DEPENDENT = re.compile(r":(first|last|only|nth)-(child|of-type|last-child)|:(odd|even)\b")
UNIVERSAL = re.compile(r"(^|[\s,>{}])\*")
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![-\w]*\s*[,{.:])|\brgba?\(|\bhsla?\(|\bansi_\w+")
VARIABLE = re.compile(r"\$([\w-]+)")


def rules(path: Path) -> str:
    return COMMENT.sub("", path.read_text(encoding="utf-8"))


def selectors(path: Path) -> list[str]:
    return [found.strip() for found in re.findall(r"[^{};]+(?=\{)", rules(path))]


def test_selectors_are_quick_and_colours_come_from_the_theme() -> None:
    assert {"app.tcss", "prompt.tcss", "status.tcss", "dialogs.tcss"} <= {path.name for path in FILES}
    for path in FILES:
        assert not ORDER_DEPENDENT.search(rules(path)), path.name
        assert [selector for selector in selectors(path) if UNIVERSAL.search(selector)] == [], path.name
        declarations = "\n".join(re.findall(r"[\w-]+\s*:\s*[^;{}]+;", rules(path)))
        assert not COLOUR.search(declarations), path.name


def test_every_variable_exists_in_every_theme() -> None:
    used = {name for path in FILES for name in VARIABLE.findall(rules(path))}
    for theme in (*THEMES, *BUILTIN_THEMES.values()):
        assert used - set(theme.to_color_system().generate()) - set(MISSING) == set(), theme.name


def test_order_dependence_and_universal_selectors_would_be_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.tcss"
    bad.write_text("A:last-child { color: $text; }\nB * { color: #fff; }\n")
    assert ORDER_DEPENDENT.search(rules(bad))
    assert [selector for selector in selectors(bad) if UNIVERSAL.search(selector)] == ["B *"]
    assert COLOUR.search("color: #fff;")
