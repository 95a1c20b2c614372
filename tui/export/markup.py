"""Small pieces of HTML that several parts of the page use."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import datetime

from ua_tui.core.events.units import spoken_duration

_SAFE_LINK = re.compile(r"https?://[^\s]+\Z", re.IGNORECASE)


def escaped(text: str) -> str:
    """Write a text so that it is only text in HTML."""
    return html.escape(text, quote=True)


def element(tag: str, content: str, **attributes: str) -> str:
    """Write an element around HTML; empty attributes are left out, and `class_` stands for `class`."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for name, value in attributes.items()
        if value
    )
    return f"<{tag}{written}>{content}</{tag}>"


def link(url: str, text: str) -> str:
    """Link to a page of the web; only the text if the address is another kind."""
    if not _SAFE_LINK.match(url) or len(url) > 2_000:
        return escaped(text)
    return element("a", escaped(text), href=url, rel="noopener noreferrer nofollow")


def moment(at: datetime | None) -> str:
    """Write a time in UTC, for people and for programs."""
    if at is None:
        return ""
    return element("time", f"{at:%Y-%m-%d %H:%M} UTC", datetime=at.isoformat(timespec="seconds"))


def spoken(seconds: float) -> str:
    """Write how long something took."""
    return spoken_duration(seconds * 1_000)


def facts(parts: Iterable[str]) -> str:
    """Join short pieces of HTML with dots; empty ones are left out."""
    return " · ".join(part for part in parts if part)
