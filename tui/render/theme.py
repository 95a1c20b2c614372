"""Themes of what is drawn: dataclasses of styles, each of which is that of a component class of the widget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from rich.style import Style

ThemeT = TypeVar("ThemeT")


def component_classes(theme: type[Any], prefix: str) -> dict[str, str]:
    """Return the component class of each style of a theme, by the name of its field."""
    names = [each.name for each in fields(theme) if each.type == "Style"]
    return {name: f"{prefix}-{name.replace('_', '-')}" for name in names}


def read_theme(theme: type[ThemeT], prefix: str, style: Callable[[str], Style], **others: object) -> ThemeT:
    """Make a theme from `style`, which gives the style of a component class; `others` are its other fields."""
    styles = {name: style(component) for name, component in component_classes(theme, prefix).items()}
    return theme(**styles, **others)
