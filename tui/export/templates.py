"""The templates in which an export is written, and what they can call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.claims.description import TextPart, source_facts
from ua_tui.core.events.continuation import is_own
from ua_tui.core.events.units import money, quantity, size, spoken_duration
from ua_tui.core.records.formats import fenced, pretty_json
from ua_tui.core.text import clean, clean_line
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.export.evidence import state_of
from ua_tui.tui.viewers.claims.marks import SIGNS

if TYPE_CHECKING:
    from jinja2 import Template

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_FENCED = re.compile(r" {0,3}(`{3,}|~{3,})")
_STATUSES = {
    "success": ("✓", "done"),
    "error": ("!", "failed"),
    "denied": ("–", "denied"),
    "cancelled": ("×", "cancelled"),
    "waiting": ("?", "waiting"),
    "blocked": ("–", "blocked"),
    "": ("…", "unfinished"),
}
_WEB_ADDRESS = re.compile(r"(?=.{,2000}\Z)https?://\S+\Z", re.IGNORECASE)


@cache
def template(name: str) -> Template:
    """One of the templates beside this module; one of HTML escapes what it writes unless told otherwise."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        autoescape=name.endswith(".html.jinja"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        loader=FileSystemLoader(Path(__file__).parent),
    )
    made.tests |= {"own": is_own, "web_address": _WEB_ADDRESS.match}
    made.filters |= {
        "demoted": demoted,
        "fenced": fenced,
        "linked": _linked,
        "marked": _marked,
        "money": money,
        "plain": plain,
        "pretty_json": pretty_json,
        "quantity": quantity,
        "size": size,
        "spoken": lambda seconds: spoken_duration(seconds * 1_000),
    }
    made.globals |= {
        "clean_line": clean_line,
        "host_of": host_of,
        "SIGNS": SIGNS,
        "source_facts": source_facts,
        "state_of": state_of,
        "statuses": _STATUSES,
    }
    return made.get_template(name)


# -- Markdown --------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Write a text on one line, so that it is only text in Markdown."""
    return _inside(clean_line(text, 1_000))


def _inside(text: str) -> str:
    """Write a part of a line, so that it is only text in Markdown."""
    return _SPECIAL.sub(r"\\\1", clean(text).replace("\n", " "))


def _marked(pieces: Sequence[TextPart]) -> str:
    """Pieces of a text on one line, the marked ones bold."""
    return "".join(
        f"**{plain(each.text)}**" if each.is_marked and each.text.strip() else _inside(each.text)
        for each in pieces
    )


def _linked(url: str, title: str) -> str:
    is_link = re.match(r"https?://[^\s<>]+\Z", url) is not None
    return f"[{title}](<{url}>)" if is_link else title


def demoted(text: str, levels: int = 3) -> str:
    """Put the headings of a text so many levels down; those in blocks of code stay."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if found := _FENCED.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        marks = 0 if fence else len(line) - len(line.lstrip("#"))
        is_heading = 0 < marks <= 6 and line[marks : marks + 1] == " "
        lines.append("#" * min(levels, 6 - marks) + line if is_heading else line)
    return "\n".join(lines)
