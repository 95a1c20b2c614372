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
from ua_tui.observers.pages.documents import FoundPages
from ua_tui.observers.pages.fields import CONTENT, address_in, field_of, page_of

_LABEL = re.compile(r"[ \t]*([A-Za-z][A-Za-z_ -]{1,23}):[ \t]*([^\n]{0,2000})(?:\n+|\Z)")
_SERVED = re.compile(r"\A(?:[^\n]{0,300}\n)?Contents of (https?://\S+):\n+")
# Lines between which, or below which, a head stands.
_AROUND = re.compile(r"(?:---[ \t]*|(?:\w+ ){1,3}Results:)\n+", re.IGNORECASE)
_HEADING = re.compile(r"# ([^\n]{0,500})\n(?=URL: )")
_FURTHER = re.compile(r"\n(?=(?:# [^\n]{0,500}\nURL|Title|URL Source|URL): )")
_OTHER_LABELS = ("warning", "favicon", "description", "number of pages", "status", "language", "image")
_MOST_LABELS = 20
_MOST_CANDIDATES = 1_000
_LONGEST_HEAD = 10_000
_RAW = "\nRaw Content: "
_CUT_NOTICE = "<error>Content truncated."
_FAILURE = re.compile(r"Error (?:fetching|reading) https?://\S+ [^\n]{0,300}")
_HTML = ("<!doctype html", "<html", "<?xml", "<head", "<body")
_PROBLEM = re.compile(
    r"\W{0,3}(?:\w+ ){0,2}(?:error|failed|failure|unable|cannot|could not|couldn't|timed? ?out|timeout|forbidden|"
    r"access denied|not found|no content|no results?|invalid|blocked|4\d\d|5\d\d)\b",
    re.IGNORECASE,
)
_LONGEST_PROBLEM = 400
_LONGEST_YAML = 1 << 20


def pages_in_text(text: str, now: datetime, asked: Collection[str], *, bare: bool = True) -> FoundPages:
    """The pages in a text; `asked` are the addresses that the call asked for.

    A text that says nothing about its page is that of the one address that was asked for, if pages may be `bare`.
    """
    text = text.strip("\ufeff \t\r\n\x00").replace("\r\n", "\n")
    found = FoundPages()
    if len(text) <= _LONGEST_PROBLEM and _PROBLEM.match(text):
        return FoundPages(failed=1)
    rest, _, last = text.rpartition("\n")
    # The last lines name the pages that could not be read.
    while found.failed < max(len(asked), 1) and _FAILURE.fullmatch(last):
        text, found.failed = rest, found.failed + 1
        rest, _, last = text.rpartition("\n")
    only = next(iter(asked)) if len(asked) == 1 and bare else None
    if (fields := _yaml(text)) is not None:
        _add(found, fields, fields["content"], now, only)
        return found
    for part in _parts(text, asked):
        fields, content = _head(part)
        _add(found, fields, content, now, only)
    return found


def _add(found: FoundPages, fields: Mapping[str, Any], content: str, now: datetime, only: str | None) -> None:
    url = address_in(fields) or only
    content = content.partition(_CUT_NOTICE)[0].strip()
    if content.startswith("<error>"):
        found.failed += 1
    elif url is not None and content and not content[:20].lower().startswith(_HTML):
        found.pages.append(page_of(fields, {}, url, content, now))


def _parts(text: str, asked: Collection[str]) -> list[str]:
    """The text of each page: another one begins where a head names an address that the call asked for."""
    first, _ = _head(text)
    wanted = {normal_form(url) for url in asked} - {normal_form(address_in(first) or "")}
    starts = [0]
    for match in islice(_FURTHER.finditer(text), _MOST_CANDIDATES if len(asked) > 1 else 0):
        fields, _ = _head(text[match.end() : match.end() + _LONGEST_HEAD])
        form = normal_form(address_in(fields) or "")
        if form in wanted:
            wanted.discard(form)
            starts.append(match.end())
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _head(text: str) -> tuple[dict[str, str], str]:
    """What the first lines of a text say of the page, and the page; nothing if they name no address."""
    if served := _SERVED.match(text):
        return {"url": served[1]}, text[served.end() :]
    fields: dict[str, str] = {}
    begin = _AROUND.match(text)
    position = begin.end() if begin else 0
    if heading := _HEADING.match(text):
        fields["title"], position = heading[1], heading.end()
    is_fenced = text.startswith("---")
    for _ in range(_MOST_LABELS):
        label = _LABEL.match(text, position)
        name = label[1].strip().lower() if label else ""
        if label and field_of(name) == CONTENT:
            raw = text.find(_RAW, label.start(2) - 1)
            position = raw + len(_RAW) if raw >= 0 else label.start(2)
            break
        if label is None or not (is_fenced or field_of(name) or name in _OTHER_LABELS):
            break
        fields.setdefault(name, label[2].strip().strip("\"'"))
        position = label.end()
    if end := _AROUND.match(text, position):
        position = end.end()
    return (fields, text[position:]) if address_in(fields) is not None else ({}, text)


def _yaml(text: str) -> dict[str, Any] | None:
    """The fields of a page that a reader wrote as YAML; None if the text is something else."""
    if len(text) > _LONGEST_YAML or not text.startswith(("url: ", "title: ")) or "\ncontent: " not in text:
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
