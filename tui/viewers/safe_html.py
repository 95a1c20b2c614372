"""Makes HTML of unknown origin safe: as Markdown to be shown, and as a copy for a browser.

Neither has scripts, forms, frames, pictures or anything else that would be fetched or run. Parsers of HTML can be kept
busy for hours by a small page, so both are made in a worker process that has a time and a memory limit.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.text import SOFT_HYPHEN, clean
from ua_tui.core.toolkit.html_text import separate, write_indices
from ua_tui.tui.viewers.conversion import conversions

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

LARGEST = 4 * 1024 * 1024
_SECONDS = 5.0
_COPY_SECONDS = 30.0

_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,400})", re.IGNORECASE)
_DROPPED = frozenset(
    {"script", "style", "title", "noscript", "iframe", "object", "embed", "svg", "math", "template", "canvas"}
    | {"form", "select", "textarea", "audio", "video"}
)
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.IGNORECASE | re.DOTALL)
_FETCHES = re.compile(r"url\s*\(|@import|image-set|src\s*\(|\\", re.IGNORECASE)
# The property as a word of its own: its value can be in a variable, or in capitals, or behind a comment.
_POSITION = re.compile(r"(?<![\w-])position(?![\w-])", re.IGNORECASE)
# A user name in an address, as browsers read it: they take a backslash for a slash, and remove line breaks and tabs.
_USER = re.compile(r"[\x00-\x20]*(https?):[/\\]*[^/\\?#]*@", re.IGNORECASE)
_REMOVED_IN_ADDRESSES = re.compile(r"[\t\r\n]")
_SECTIONS = frozenset(
    {"address", "button", "dialog", "fieldset", "label", "legend", "main", "search", "section"}
)
_PAGE_TAGS = frozenset({"style", "html", "body", "section", "main"})
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def title_of(source: str) -> str:
    """Return the text of the `title` element; empty if there is none."""
    match = _TITLE.search(source)
    return clean(html.unescape(match[1]).strip()) if match else ""


def convert_to_markdown(source: str) -> str:
    """Convert HTML as `to_markdown` does, in a worker process.

    Raises:
        ConversionFailed: it takes too long or needs too much memory.
        Stopped: the result is no longer needed.
    """
    return str(conversions().run(f"{__name__}:to_markdown", source, seconds=_SECONDS))


def to_markdown(_: TaskContext | None, source: str) -> str:
    """Convert HTML into Markdown with headings, lists, tables and links, and nothing executable.

    It may take any time and memory: use `convert_to_markdown`.
    """
    import nh3
    from html_to_markdown import ConversionOptions, convert

    safe = nh3.clean(
        separate(write_indices(source)),
        tags=(nh3.ALLOWED_TAGS | _SECTIONS) - {"area", "map"},
        clean_content_tags=set(_DROPPED),
        attributes={"a": {"href"}, "img": {"alt"}, "ol": {"start"}, "td": {"colspan"}, "th": {"colspan"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel=None,
    )
    text = convert(safe, ConversionOptions(extract_metadata=False)).content or ""
    return clean(text.replace(SOFT_HYPHEN, "")).strip()


def browser_copy(_: TaskContext | None, source: str) -> str:
    """Return an HTML page with text, tables, links and inline styles that loads and runs nothing.

    Nothing in it covers another part of the page, and no link has a user name that looks like a host. It may take any
    time and memory: use `write_browser_copy`.
    """
    import nh3

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
    safe = _STYLE.sub(lambda match: _harmless_style(match[0]), safe)
    title = html.escape(title_of(source) or "Report")
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title></head>\n<body>\n{safe}\n</body></html>\n"
    )


def _harmless_attribute(tag: str, name: str, value: str) -> str | None:
    if name == "href":
        return _USER.sub(r"\1://", _REMOVED_IN_ADDRESSES.sub("", value))
    return _harmless_style(value) or None if name == "style" else value


def _harmless_style(style: str) -> str:
    """Remove from a style what would fetch something, and what could put a part of the page above others."""
    # The policy of the page forbids fetching in any case; a style that tries to, or is obfuscated, is removed.
    return "" if _FETCHES.search(style) else _POSITION.sub("no-position", style)


def write_browser_copy(source: str, origin: Path, folder: Path) -> Path:
    """Write the copy of `origin` for the browser into `folder` and return its path; old copies are removed.

    Raises:
        ConversionFailed: making it takes too long or needs too much memory.
        OSError: the copy cannot be written.
        Stopped: the result is no longer needed.
    """
    page = conversions().run(f"{__name__}:browser_copy", source, seconds=_COPY_SECONDS)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        if time.time() - old.stat(follow_symlinks=False).st_mtime > (24 * 3600.0):
            old.unlink(missing_ok=True)
    name = hashlib.sha256(os.fsencode(origin)).hexdigest()[:16]
    copy = folder / f"{name}.html"
    copy.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(copy, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(str(page).encode("utf-8", "replace"))
    return copy
