"""The style files hold to what keeps the screen quick and every theme usable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.theme import BUILTIN_THEMES

from tests.paths import STYLES
from tui.theme.themes import MISSING, THEMES

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


def test_there_are_style_files() -> None:
    assert {"app.tcss", "prompt.tcss", "status.tcss", "dialogs.tcss"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_selector_depends_on_order(path: Path) -> None:
    assert not ORDER_DEPENDENT.search(rules(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_selector_is_universal(path: Path) -> None:
    assert [selector for selector in selectors(path) if UNIVERSAL.search(selector)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_colours_come_from_the_theme(path: Path) -> None:
    declarations = "\n".join(re.findall(r"[\w-]+\s*:\s*[^;{}]+;", rules(path)))
    assert not COLOUR.search(declarations)


@pytest.mark.parametrize("theme", [*THEMES, *BUILTIN_THEMES.values()], ids=lambda theme: theme.name)
def test_every_variable_exists_in_every_theme(theme: object) -> None:
    known = theme.to_color_system().generate()  # type: ignore[attr-defined]
    used = {name for path in FILES for name in VARIABLE.findall(rules(path))}
    assert used - set(known) - set(MISSING) == set()


def test_order_dependence_and_universal_selectors_would_be_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.tcss"
    bad.write_text("A:last-child { color: $text; }\nB * { color: #fff; }\n")
    assert ORDER_DEPENDENT.search(rules(bad))
    assert [selector for selector in selectors(bad) if UNIVERSAL.search(selector)] == ["B *"]
    assert COLOUR.search("color: #fff;")


def contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [theme for theme in THEMES if not theme.ansi], ids=lambda theme: theme.name)
def test_text_and_states_can_be_read_on_every_surface(theme: object) -> None:
    colours = vars(theme)
    for ground in ("background", "surface", "panel"):
        for ink in ("foreground", "accent", "success", "warning", "error", "secondary"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
