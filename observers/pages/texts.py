"""Finds the pages in the text of a tool that reads pages.

Some readers put lines in front of a page that say what it is (`Title:`, `URL Source:`, `Published Time:`), others YAML,
and others nothing. Whatever follows is a page's own text, which may look like such lines: a further page is one only if
the call asked for its address.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url, normal_form
from ua_tui.observers.pages.documents import Found
from ua_tui.observers.pages.fields import ADDRESS, CONTENT, address_in, field_of, page_of

_LABEL = re.compile(r"[ \t]*([A-Za-z][A-Za-z_ -]{1,23}):[ \t]*([^\n]{0,2000})(?:\n+|\Z)")
_SERVED = re.compile(r"\A(?:[^\n]{0,300}\n)?Contents of (https?://\S+):\n+")
_PREAMBLE = re.compile(r"(?:\w+ ){1,3}Results:\n+", re.IGNORECASE)
_HEADING = re.compile(r"# ([^\n]{0,500})\n(?=URL: )")
_FENCE = re.compile(r"---[ \t]*\n")
_FURTHER = re.compile(r"^(?:# [^\n]{0,500}\nURL|Title|URL Source|URL): ", re.MULTILINE)
_CONTENT_LABELS = frozenset(
    {"markdown content", "raw content", "page content", "content", "text", "markdown"}
)
_OTHER_LABELS = frozenset(
    {"warning", "favicon", "description", "number of pages", "status", "language", "image"}
)
_MOST_LABELS = 20
_MOST_CANDIDATES = 1_000
_LONGEST_HEAD = 10_000
_CUT_NOTICE = re.compile(r"<error>Content truncated\.[^<]{0,200}</error>\s*\Z")
_LONGEST_NOTICE = 400
_FAILURE = re.compile(r"Error (?:fetching|reading) https?://\S+ [^\n]{0,300}")
_HTML = re.compile(r"\s*(?:<!doctype html|<html|<\?xml|<head|<body)", re.IGNORECASE)
_PROBLEM = re.compile(
    r"\W{0,3}(?:\w+ ){0,2}(?:error|failed|failure|unable|cannot|could not|couldn't|timed? ?out|timeout|forbidden|"
    r"access denied|not found|no content|no results?|invalid|blocked|4\d\d|5\d\d)\b",
    re.IGNORECASE,
)
_LONGEST_PROBLEM = 400
_YAML = re.compile(r"\A(?:url|title): [^\n]*\n", re.IGNORECASE)
_LONGEST_YAML = 1 << 20


def pages_in_text(text: str, now: datetime, asked: Collection[str], *, bare: bool = True) -> Found:
    """The pages in a text; `asked` are the addresses that the call asked for.

    A text that says nothing about its page is that of the one address that was asked for, if pages may be `bare`.
    """
    text = text.strip("\ufeff \t\r\n\x00").replace("\r\n", "\n")
    found = Found()
    if len(text) <= _LONGEST_PROBLEM and _PROBLEM.match(text):
        return Found(failed=1)
    found.failed, text = _without_failures(text, max(len(asked), 1))
    only = next(iter(asked)) if len(asked) == 1 and bare else None
    if (fields := _yaml(text)) is not None:
        _add(found, fields, fields["content"], now, only)
        return found
    for part in _parts(text, asked):
        fields, content = _head(part)
        _add(found, fields, content, now, only)
    return found


def _add(found: Found, fields: Mapping[str, Any], content: str, now: datetime, only: str | None) -> None:
    url = address_in(fields) or only
    if notice := _CUT_NOTICE.search(content[-_LONGEST_NOTICE:]):
        content = content[: len(content) - len(notice[0])]
    content = content.strip()
    if content.startswith("<error>"):
        found.failed += 1
        return
    if url is None or not content or _HTML.match(content):
        return
    found.pages.append(page_of(fields, {}, url, content, now))


def _without_failures(text: str, most: int) -> tuple[int, str]:
    """The number of pages that the last lines of a text say could not be read, and the text before these lines."""
    end, failed = len(text), 0
    while failed < most:
        start = text.rfind("\n", 0, end) + 1
        if not _FAILURE.fullmatch(text, start, end):
            break
        end, failed = start - 1, failed + 1
    return failed, text[: max(end, 0)]


def _parts(text: str, asked: Collection[str]) -> list[str]:
    """The text of each page: another one begins where a head names an address that the call asked for."""
    if len(asked) < 2:
        return [text]
    first, _ = _head(text)
    wanted = {normal_form(url) for url in asked} - {normal_form(address_in(first) or "")}
    starts, end_of_head = [0], _end_of_head(text, 0)
    for match in islice(_FURTHER.finditer(text), _MOST_CANDIDATES):
        start = match.start()
        if not wanted or start <= end_of_head or text[start - 1] != "\n":
            continue
        fields, _ = _head(text[start : start + _LONGEST_HEAD])
        form = normal_form(address_in(fields) or "")
        if form in wanted:
            wanted.discard(form)
            starts.append(start)
            end_of_head = _end_of_head(text, start)
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _end_of_head(text: str, start: int) -> int:
    """Where the text of the page that begins at `start` does."""
    part = text[start : start + _LONGEST_HEAD]
    return start + len(part) - len(_head(part)[1])


def _head(text: str) -> tuple[dict[str, str], str]:
    """What the first lines of a text say of the page, and the page; nothing if they name no address."""
    if served := _SERVED.match(text):
        return {"url": served[1]}, text[served.end() :]
    fields: dict[str, str] = {}
    preamble = _PREAMBLE.match(text)
    position = preamble.end() if preamble else 0
    fence = _FENCE.match(text)
    if fence:
        position = fence.end()
    elif heading := _HEADING.match(text):
        fields["title"], position = heading[1], heading.end()
    for _ in range(_MOST_LABELS):
        label = _LABEL.match(text, position)
        if label is None:
            break
        name = label[1].strip().lower()
        kind = field_of(name)
        if name in _CONTENT_LABELS or kind == CONTENT:
            if ADDRESS in map(field_of, fields):
                position = label.start(2)
                raw = re.search(r"^Raw Content:[ \t]*", text[position:], re.MULTILINE)
                position += raw.end() if raw and name == "content" else 0
            break
        if kind is None and name not in _OTHER_LABELS and not fence:
            break
        fields.setdefault(name, label[2].strip().strip("\"'"))
        position = label.end()
    if fence:
        closing = _FENCE.match(text, position)
        position = closing.end() if closing else 0
    return (fields, text[position:]) if address_in(fields) is not None and position else ({}, text)


def _yaml(text: str) -> dict[str, Any] | None:
    """The fields of a page that a reader wrote as YAML; None if the text is something else."""
    if len(text) > _LONGEST_YAML or not _YAML.match(text) or "\ncontent: " not in text:
        return None
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    match value:
        case {"url": str(url), "content": str()} if is_web_url(url):
            return {str(name): item for name, item in value.items()}
        case _:
            return None
