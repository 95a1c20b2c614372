"""Makes texts of files fit for the knowledge base: without control characters, and of bounded length.

What another program wrote may have secrets: mask a text before it is cut, and then clean it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

from ua_tui.core.agent.permissions.arguments import leaves
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean, clean_line
from ua_tui.observers.decoding.urls import is_public_address, is_web_url

LONGEST_TEXT = 2_000_000
"""Characters of a document; the rest of a longer text is left out."""

_PIECE = 64 << 10
_LONGEST_TITLE = 150
_LONGEST_FIRST_LINE = 90
_LONGEST_SENTENCE = 60
_LONGEST_ADDRESS = 2_000
_MOST_ADDRESS_WORDS = 30
_MOST_TEXTS = 100
_WORD = re.compile(r"[^\W_]+")
_NO_WORD = frozenset({"www", "com", "net", "org", "index", "html", "htm", "php", "aspx", "amp"})
_MARK = re.compile(r"^[#>*\-\s|]+")
_NO_END = (",", ";", ":", "{", "[")
"""What a line that is a title does not end with."""
_SENTENCE_WORDS = 3
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def web_address(url: object, masked: object, redactor: Redactor) -> str:
    """Return a clean web address, given also as it is without secrets; empty if it is none.

    The signature of a public page is no secret.
    """
    if not isinstance(url, str) or len(url) > _LONGEST_ADDRESS or not is_web_url(url):
        return ""
    try:
        urlsplit(url).port  # noqa: B018 - raises an error for an invalid port
    except ValueError:
        return ""
    return clean(url if masked == url or is_public_address(url, redactor) else str(masked))


def clean_text(text: object) -> str:
    """Return at most `LONGEST_TEXT` characters of a text without the white space around it; empty if it is none."""
    # One search through a long text would block all other threads.
    return "".join(map(clean, _pieces(text[:LONGEST_TEXT]))).strip() if isinstance(text, str) else ""


def clean_title(text: object, limit: int = 300) -> str:
    """Return a text on one line; empty if it is none."""
    return clean_line(" ".join(text[: 8 * limit].split()), limit) if isinstance(text, str) else ""


def short_title(text: object, limit: int = _LONGEST_TITLE) -> str:
    """Return a title on one line, a long one cut between two words; empty if it is none."""
    line = clean_title(text, 2 * limit)
    if len(line) <= limit:
        return line
    end = line.rfind(" ", limit // 2, limit)
    return f"{line[: end if end > 0 else limit - 1].rstrip(' ,;:–—-')}…"


def is_heading(text: str) -> bool:
    """Whether a text begins with a heading: one of Markdown, or a line in bold type."""
    line = text.lstrip().partition("\n")[0].rstrip()
    return line.startswith("#") or (line.startswith("**") and line.endswith("**") and "**" not in line[2:-2])


def title_in(text: str) -> str:
    """Return the title that a text begins with, a heading or a short line; empty without one."""
    lines = text[: 8 * _LONGEST_TITLE].split("\n")
    line = next((line.strip() for line in lines if _WORD.search(line)), "")
    if line.startswith("#"):
        return short_title(_MARK.sub("", line))
    line = _MARK.sub("", line).strip("*_ ")
    is_title = len(line) <= (_LONGEST_SENTENCE if line.endswith(".") else _LONGEST_FIRST_LINE)
    is_title = is_title and line[-1:] not in _NO_END and line[:1] not in ("{", "[", "<")
    return short_title(line) if is_title else ""


def address_words(url: str) -> str:
    """Return the words of an address or of a path, without those that most addresses have."""
    _, _, rest = url.rpartition("://")
    words = (word for word in _WORD.findall(unquote(rest)[:_LONGEST_ADDRESS]) if word.lower() not in _NO_WORD)
    return clean(" ".join(list(dict.fromkeys(words))[:_MOST_ADDRESS_WORDS]))


def seconds_of(value: object, latest: float) -> float | None:
    """Return the seconds since the epoch of an ISO 8601 time; None if it is none, or later than `latest`."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return seconds if 0 < seconds <= latest else None


def texts_in(value: Any) -> Iterator[str]:
    """Give the sentences in a value of JSON, at most a hundred: no dates, identifiers or addresses, and no JSON.

    Members such as `related_titles` are about other things.
    """
    texts = (
        item
        for names, item in leaves(value)
        if isinstance(item, str) and not any(name.lower().startswith("related") for name in names)
    )
    return islice(filter(_is_sentence, texts), _MOST_TEXTS)


def _is_sentence(text: str) -> bool:
    if text.count(" ") < _SENTENCE_WORDS or text.lstrip()[:1] in ("{", "["):
        return False
    return len(list(islice(_LETTERS.finditer(text), _SENTENCE_WORDS))) == _SENTENCE_WORDS


def _pieces(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        # The two characters of a line break stay together.
        end = at + _PIECE + (text[at + _PIECE - 1 : at + _PIECE] == "\r")
        yield text[at:end]
        at = end
