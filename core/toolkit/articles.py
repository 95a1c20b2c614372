"""Extracted articles, and their Markdown files.

An article file is YAML front matter between two `---` lines, an empty line, the text, and the addresses of its links.
Every value in the front matter is written as JSON on one line, which YAML reads alike and which nothing in a page can
break out of. It says how many lines at the end are addresses, so that no text of a page is taken for one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime
from email.utils import parsedate_to_datetime

import msgspec

from ua_tui.core.net.urls import canonical_url
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import ARTICLE_FOLDER, ARTICLE_PREFIX
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.text import clean, clean_line, escape_unsafe

FENCE = "---"

# Invisible characters that pages use for typesetting: soft hyphen, zero-width, bidi and word-joining marks, tags.
_INVISIBLE_RANGES = (
    (0x00AD, 0x00AD),
    (0x180E, 0x180E),
    (0xFEFF, 0xFEFF),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0xE0000, 0xE007F),
)
_INVISIBLE = dict.fromkeys(code for first, last in _INVISIBLE_RANGES for code in range(first, last + 1))
_LINE_SEPARATORS = {0x2028: "\n", 0x2029: "\n"}
_LINK_TARGET = re.compile(r"\]\((?:[^)\s\]]|\](?!\())*\)|\]\[\d+\]")
_REFERENCE = re.compile(r"\[([^\n]+)\]: <([^<>\n]+)>")
_MOST_REFERENCES = 10_000
# Compiled when it is used first, which `re` remembers: a set of so many characters takes milliseconds.
_WORD = r"[぀-ヿ㐀-䶿一-鿿가-힣]|[^\W_぀-ヿ㐀-䶿一-鿿가-힣]+(?:['’.,-][^\W_]+)*"


class Reference(msgspec.Struct, frozen=True):
    """The address of a link: of `[label]` in a text, or of `[words][label]` if the label is a number."""

    label: str
    url: str


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """The readable part of one page.

    `date` is the day of publication as YYYY-MM-DD and None if the page does not state it; `fetched_at` is an
    ISO 8601 time with its zone. `text` is Markdown; `links` are those of its links that have no address in it.
    `final_url` is the address to which `url` was redirected; None if it was not. `partial` is why the text is only the
    beginning of that of the page (`paywall`); None if it is all.
    """

    title: str
    url: str
    author: str | None = None
    site: str | None = None
    date: str | None = None
    words: int = 0
    fetched_at: str | None = None
    final_url: str | None = None
    partial: str | None = None
    text: str = ""
    links: tuple[Reference, ...] = ()


# Built as the module is imported: see `ua_tui.core.events.codec`.
msgspec.json.Decoder(Article)
FRONT_MATTER = ("title", "url", "author", "site", "date", "words", "fetched_at")
RARE = ("final_url", "partial")
"""What only the front matter of some articles has."""
LINKS = "links"


def visible(text: str) -> str:
    """Drop invisible typesetting characters from a page's text, then clean it."""
    return clean(text.translate(_LINE_SEPARATORS).translate(_INVISIBLE))


def count_words(markdown: str) -> int:
    """Count the words a reader sees: link targets do not count, and each CJK character counts as one."""
    return sum(1 for _ in re.finditer(_WORD, _LINK_TARGET.sub("]", markdown)))


def day_in(text: str) -> str | None:
    """Return the day of a date as pages and feeds write it, as YYYY-MM-DD."""
    text = text.strip()
    for read in (datetime.fromisoformat, parsedate_to_datetime, lambda each: date.fromisoformat(each[:10])):
        with suppress(ValueError, TypeError, OverflowError, IndexError):
            return read(text).strftime("%Y-%m-%d")
    return None


def article_path(url: str, redactor: Redactor | None = None) -> str:
    """Name the file of a URL's article: the same URL always gets the same name, different URLs never share one.

    The name has no secret of the URL; `redactor` knows those that do not look like one.
    """
    canonical = canonical_url(url)
    # Masked before it is lower-cased and cut: what is left of a secret would not be known for one.
    readable = (redactor or Redactor()).redact(canonical).partition("://")[2].partition("?")[0]
    stem = re.sub(r"[^a-z0-9]+", "_", readable.lower()).strip("_")[:48].strip("_")
    digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{ARTICLE_FOLDER}/{ARTICLE_PREFIX}{safe_name(stem or 'page')}_{digest}.md"


def encode_article(article: Article) -> str:
    """Write an article as the text of its file."""
    lines = [FENCE]
    for name in (*FRONT_MATTER, *(each for each in RARE if getattr(article, each))):
        value = getattr(article, name)
        if isinstance(value, str):
            value = clean_line(visible(value), 2_000)
        lines.append(f"{name}: {escape_unsafe(msgspec.json.encode(value).decode())}")
    references = reference_lines(article.links)
    if references:
        lines.append(f"{LINKS}: {len(references)}")
    lines += [FENCE, "", visible(article.text).strip(), ""]
    if references:
        lines += [*references, ""]
    return "\n".join(lines)


def reference_lines(links: Iterable[Reference]) -> list[str]:
    """Write links as definitions of Markdown, one a line; what cannot be written so is left out."""
    lines = (f"[{visible(each.label)}]: <{visible(each.url)}>" for each in links)
    return [line for line in lines if _REFERENCE.fullmatch(line)][:_MOST_REFERENCES]


def text_end(source: str) -> int:
    """Return where the text of an article file ends and the addresses of its links begin.

    It is the length of a file without them, and of a file that is no article.
    """
    article = decode_article(source)
    if article is None or not article.links:
        return len(source)
    return len(source.rstrip().rsplit("\n", len(article.links))[0].rstrip())


def decode_article(source: str) -> Article | None:
    """Read the text of an article file; None when it is not one.

    Front matter that is not ours is refused as a whole: unknown keys are skipped, a wrong type is not.
    """
    if not source.startswith(f"{FENCE}\n"):
        return None
    head, found, text = source.partition(f"\n{FENCE}\n")
    lines = head.split("\n")
    if not found:
        return None
    values: dict[str, object] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(": ")
        if not colon:
            return None
        if name in (*FRONT_MATTER, *RARE, LINKS):
            try:
                values[name] = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError):
                return None
    text, links = _split_references(text.strip(), values.pop(LINKS, 0))
    try:
        return msgspec.convert({**values, "text": text, "links": links}, Article)
    except msgspec.ValidationError:
        return None


def _split_references(text: str, count: object) -> tuple[str, tuple[Reference, ...]]:
    """Split the last `count` lines from a text; all of it is text if one of them is no reference."""
    if type(count) is not int or not 0 < count <= _MOST_REFERENCES:
        return text, ()
    head, *lines = f"\n{text}".rsplit("\n", count)
    found = [_REFERENCE.fullmatch(line) for line in lines]
    if len(found) < count or not all(found):
        return text, ()
    return head.strip(), tuple(Reference(match[1], match[2]) for match in found if match is not None)
