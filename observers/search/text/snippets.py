"""Results written one after the other as `snippet: …, title: …, link: …`."""

from __future__ import annotations

from typing import Any

from ua_tui.observers.decoding.urls import is_web_url


def tuples_in(text: str) -> list[dict[str, Any]]:
    """The results of a text that has the snippet of each before its title and its address."""
    items = []
    for part in text.split("snippet: ")[1:]:
        snippet, _, rest = part.partition(", title: ")
        title, _, rest = rest.partition(", link: ")
        url = rest.split(maxsplit=1)[0].rstrip(",[]") if rest.strip() else ""
        if is_web_url(url):
            items.append({"title": title, "url": url, "snippet": snippet})
    return items
