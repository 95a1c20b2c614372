"""Lists of results in HTML, read as the Markdown that a converter makes of them."""

from __future__ import annotations

import re

_MAX_HTML = 1 << 20
_LINK = re.compile(r"<a\s[^<>]{0,2000}\bhref\s*=", re.IGNORECASE)
_PLACE = re.compile(r"<(?:li|div|p|td|h[1-6]|article|section|dt|br)\b", re.IGNORECASE)
_PAGE = re.compile(r"<(?:!doctype|html|body|head|nav|form)\b", re.IGNORECASE)


def is_html_list(text: str) -> bool:
    """Whether a text has links or tables in elements of HTML and is no page with menus."""
    return (
        ("</a" in text or "</td" in text)
        and len(text) <= _MAX_HTML
        and ("</td" in text or _LINK.search(text) is not None)
        and _PAGE.search(text) is None
    )


def as_markdown(text: str) -> str:
    """The text with Markdown in place of its HTML; where no element divides it, its lines do."""
    if _PLACE.search(text) is None:
        text = text.replace("\n", "<br>")
    from html_to_markdown import ConversionOptions, convert

    return convert(text, ConversionOptions(extract_metadata=False)).content or ""
