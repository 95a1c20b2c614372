"""Recognises pages that only say why their text is not there, and says what can be tried instead."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ua_tui.core.toolkit.articles import count_words

# Longer pages are articles, whatever they mention.
_MOST_WORDS = 60
_CONSENT_HOSTS = ("consent.", "guce.", "cmp.", "myprivacy.", "privacywall.")
_LONGEST = 400_000


def obstacle(tree: Any, html: str, text: str, url: str) -> str | None:
    """Return why the readable text of a page is only `text`, as the name of an advice; None if it may be all."""
    words = count_words(text)
    if words > 200:
        return None
    head = html[:_LONGEST]
    title = " ".join(" ".join(tree.xpath("//title//text()"))[:500].split())
    if _is_bot_check(title, head, text, words):
        return "bot_check"
    if words > _MOST_WORDS:
        return None
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    if host.startswith(_CONSENT_HOSTS) or _found("consent", title):
        return "consent"
    has_password = bool(tree.xpath("//input[translate(@type, 'PASWORD', 'pasword') = 'password']"))
    if has_password and _found("login", title):
        return "login"
    # A text with a login or a banner beside it, and the beginning of an article before its paywall, are longer.
    if words > 30:
        return None
    if has_password and (not words or _found("login", text)):
        return "login"
    if _found("paywall", head) and (not words or _found("subscribe", text)):
        return "paywall"
    if text and _found("consent", text) and "cookie" in text.lower():
        return "consent"
    if _found("needs_scripts", text):
        return "javascript"
    if words:
        return None
    if _found("login", title):
        return "login"
    is_script_page = (
        bool(tree.xpath("//script")) or "javascript" in " ".join(tree.xpath("//noscript//text()")).lower()
    )
    return "javascript" if is_script_page else "empty"


def _is_bot_check(title: str, head: str, text: str, words: int) -> bool:
    is_named, is_marked = _found("bot_titles", title), _found("bot_marks", head)
    if is_named and (is_marked or words <= _MOST_WORDS):
        return True
    asks = words <= _MOST_WORDS and _found("are_you_human", f"{title} {text}")
    return (is_marked and words <= 10) or (asks and _found("captchas", head))


def _found(kind: str, text: str) -> bool:
    return _patterns()[kind].search(text) is not None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    data["bot_titles"] = [rf"^\W*(?:{'|'.join(data['bot_titles'])})\b"]
    return {kind: re.compile("|".join(each), re.IGNORECASE) for kind, each in data.items()}
