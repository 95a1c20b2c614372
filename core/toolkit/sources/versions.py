"""Finds other versions of a page that has no text itself: where it leads to, its AMP and print version, its frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

__all__ = ["other_version"]

_REFRESH = re.compile(r"\s*\d{0,2}(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*[\"']?([^\"']{1,2000})", re.IGNORECASE)


def other_version(tree: Any, url: str, *, frames: bool) -> str | None:
    """Return the address of the version of a page that most likely has its text; None if it names none.

    `tree` is the page as lxml parsed it; its frames count if `frames` is set. A fragment of the same page is none.
    """
    base = next(iter(tree.xpath("//base/@href")), "")
    for candidate in _candidates(tree, frames):
        try:
            found: str = urljoin(urljoin(url, base), candidate.strip()).partition("#")[0]
            is_web = urlsplit(found).scheme in {"http", "https"}
        except ValueError:
            continue
        if is_web and found != url.partition("#")[0]:
            return found
    return None


def _candidates(tree: Any, frames: bool) -> Iterator[str]:
    for meta in tree.xpath("//meta[@http-equiv and @content]"):
        refresh = _REFRESH.match(meta.get("content"))
        if meta.get("http-equiv").lower() == "refresh" and refresh is not None:
            yield refresh[1]
    for link in tree.xpath("//link[@rel and @href]"):
        rel = link.get("rel").lower().split()
        if "amphtml" in rel or ("alternate" in rel and "print" in (link.get("media") or "").lower()):
            yield link.get("href")
    if not frames:
        return
    # The first ones hold the navigation.
    yield from tree.xpath("//frame/@src")[-1:]
    inline = tree.xpath("//iframe[not(@hidden)]/@src")
    if len(inline) == 1:
        yield inline[0]
