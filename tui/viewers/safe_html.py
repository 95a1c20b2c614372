"""Makes HTML of unknown origin safe: as Markdown to be shown, and as a copy for a browser.

Neither has scripts, forms, frames, pictures or anything else that would be fetched or run.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import time
from pathlib import Path

from core.text import clean

__all__ = ["DEEPEST", "TooDeep", "browser_copy", "depth_of", "to_markdown", "write_browser_copy"]

DEEPEST = 400
LARGEST = 4 * 1024 * 1024
_MAX_AGE_SECONDS = 24 * 3600.0

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})[^<>]*?(/?)>")
_VOID = frozenset(
    {
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    }
)
# Their end tags are optional, so they would seem to be nested ever deeper.
_UNCLOSED = frozenset(
    {"p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot", "colgroup", "rp", "rt"}
)
_TITLE = re.compile(r"<title[^>]*>([^<]{0,400})", re.IGNORECASE)
_DROPPED = frozenset(
    {"script", "style", "title", "noscript", "iframe", "object", "embed", "svg", "math", "template", "canvas"}
    | {"form", "select", "textarea", "audio", "video"}
)
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.IGNORECASE | re.DOTALL)
_FETCHES = re.compile(r"url\s*\(|@import|image-set|src\s*\(|\\", re.IGNORECASE)
_PAGE_TAGS = frozenset({"style", "html", "body", "section", "main"})
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class TooDeep(ValueError):
    """The elements are nested so deeply that parsing would take minutes."""


def depth_of(source: str) -> int:
    """Estimate how deeply elements are nested, without parsing."""
    depth = deepest = 0
    for match in _TAG.finditer(source):
        name = match[2].lower()
        if match[3] or name in _VOID or name in _UNCLOSED:
            continue
        depth += -1 if match[1] else 1
        deepest = max(deepest, depth)
        depth = max(depth, 0)
    return deepest


def title_of(source: str) -> str:
    """Return the text of the `title` element; empty if there is none."""
    match = _TITLE.search(source)
    return clean(html.unescape(match[1]).strip()) if match else ""


def to_markdown(source: str) -> str:
    """Convert HTML into Markdown with headings, lists, tables and links, and nothing executable.

    Raises:
        TooDeep: the elements are nested beyond `DEEPEST`.
    """
    import nh3
    from html_to_markdown import ConversionOptions, convert

    _check_depth(source)
    safe = nh3.clean(
        source,
        tags=nh3.ALLOWED_TAGS - {"area", "map"},
        clean_content_tags=set(_DROPPED),
        attributes={"a": {"href"}, "img": {"alt"}, "ol": {"start"}, "td": {"colspan"}, "th": {"colspan"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel=None,
    )
    return clean(convert(safe, ConversionOptions(extract_metadata=False)).content or "").strip()


def browser_copy(source: str) -> str:
    """Return an HTML page with text, tables, links and inline styles that loads and runs nothing.

    Raises:
        TooDeep: the elements are nested beyond `DEEPEST`.
    """
    import nh3

    _check_depth(source)
    safe = nh3.clean(
        source,
        tags=(nh3.ALLOWED_TAGS | _PAGE_TAGS) - {"img", "area", "map"},
        clean_content_tags=set(_DROPPED - {"style"}),
        attributes={
            "*": {"class", "id", "style", "lang", "dir"},
            "a": {"href"},
            "ol": {"start"},
            "td": {"colspan", "rowspan"},
            "th": {"colspan", "rowspan", "scope"},
            "time": {"datetime"},
        },
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
        attribute_filter=_harmless_attribute,
    )
    safe = _STYLE.sub(_harmless_style, safe)
    title = html.escape(title_of(source) or "Report")
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title></head>\n<body>\n{safe}\n</body></html>\n"
    )


def _harmless_attribute(tag: str, name: str, value: str) -> str | None:
    return None if name == "style" and _FETCHES.search(value) else value


def _harmless_style(match: re.Match[str]) -> str:
    # The policy of the page forbids fetching in any case; a style that tries to, or is obfuscated, is removed.
    return "" if _FETCHES.search(match[0]) else match[0]


def write_browser_copy(source: str, origin: Path, folder: Path) -> Path:
    """Write the copy of `origin` for the browser into `folder` and return its path; old copies are removed.

    Raises:
        TooDeep: the elements are nested beyond `DEEPEST`.
        OSError: the copy cannot be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        if time.time() - old.stat(follow_symlinks=False).st_mtime > _MAX_AGE_SECONDS:
            old.unlink(missing_ok=True)
    name = hashlib.sha256(os.fsencode(origin)).hexdigest()[:16]
    page = browser_copy(source).encode("utf-8", "replace")
    copy = folder / f"{name}.html"
    copy.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(copy, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(page)
    return copy


def _check_depth(source: str) -> None:
    if len(source) > LARGEST:
        raise TooDeep("The page is too large to be parsed safely.")
    if depth_of(source) > DEEPEST:
        raise TooDeep("The page is nested too deeply to be parsed safely.")
