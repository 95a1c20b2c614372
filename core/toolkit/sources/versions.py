"""Finds other versions of a page that has no text itself: where it leads to, its AMP and print version, its frame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

_REFRESH = re.compile(r"\s*\d{0,2}(?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*[\"']?([^\"']{1,2000})", re.IGNORECASE)


def other_version(tree: Any, url: str) -> str | None:
    """Return the address of the version of a page that most likely has its text; None if it names no other page.

    `tree` is the page as lxml parsed it.
    """
    return _first_address(tree, url, _versions(tree))


def frame_of(tree: Any, url: str) -> str | None:
    """Return the address of the frame that most likely has the text of a page; None if that is uncertain."""
    # The first ones hold the navigation.
    frames = tree.xpath("//frame/@src")[-1:]
    inline = tree.xpath("//iframe[not(@hidden)][not(ancestor::noscript)]/@src")
    return _first_address(tree, url, [*frames, *(inline if len(inline) == 1 else [])])


def _first_address(tree: Any, url: str, candidates: Iterable[str]) -> str | None:
    """The first web address of another page."""
    base = next(iter(tree.xpath("//base/@href")), "")
    for candidate in candidates:
        try:
            found: str = urljoin(urljoin(url, base), candidate.strip()).partition("#")[0]
            is_web = urlsplit(found).scheme in {"http", "https"}
        except ValueError:
            continue
        if is_web and found != url.partition("#")[0]:
            return found
    return None


def _versions(tree: Any) -> Iterator[str]:
    for meta in tree.xpath("//meta[@http-equiv and @content]"):
        refresh = _REFRESH.match(meta.get("content"))
        if meta.get("http-equiv").lower() == "refresh" and refresh is not None:
            yield refresh[1]
    for link in tree.xpath("//link[@rel and @href]"):
        rel = link.get("rel").lower().split()
        if "amphtml" in rel or ("alternate" in rel and "print" in (link.get("media") or "").lower()):
            yield link.get("href")
