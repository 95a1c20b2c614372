"""Turns reports and answers of unknown origin into HTML that runs and loads nothing.

Parsers can be kept busy for hours by a small text, so this is done in a worker process with a time and a memory limit.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ua_tui.core.claims.files import ReportFormat
from ua_tui.tui.viewers.conversion import conversions

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from ua_tui.core.concurrency.worker_child import TaskContext

SECONDS = 10.0
PICTURE = "x-picture:"
"""The scheme of pictures in converted HTML; the rest is the quoted address of the original."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TAGS = _names(
    "a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt "
    "em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li mark ol p pre q rp rt ruby s samp "
    "section small span strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr"
)
_DROPPED = _names(
    "script style title noscript iframe object embed svg math template canvas form select textarea audio video head "
    "button input"
)
_ATTRIBUTES = {
    "*": {"id", "lang", "dir"},
    "a": {"href"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
}
_LINE = re.compile(r"\r\n|\r|\n")
# An even number of backslashes escapes nothing behind them.
_MARKUP = re.compile(r"(?<!\\)((?:\\\\)*+)<(?=[a-zA-Z/!?])(?!https?://)")
_BRACKET = re.compile(r"(?<!\\)((?:\\\\)*+)\[")
_PICTURE_SIGN = re.compile(r"(?<!!)!++(?=\[)")
_UNSAFE_LINK = re.compile(r"([(<:]\s*)(?:javascript|vbscript|data|file)\s*:", re.IGNORECASE)
_SPEAKER = re.compile(r"([.!?…\"'”’»;](?:</(?:b|em|i|q|span|strong)>)*+)\s*+(?=<cite\b)", re.IGNORECASE)
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def convert(texts: Sequence[tuple[ReportFormat, str]], prefix: str) -> list[str]:
    """Convert texts into sanitised HTML; ids begin with the prefix and the number of the text, and are unique.

    Links lead only to the web, to mail, or into the same text. The `src` of a picture begins with `PICTURE`.

    Raises:
        ConversionFailed: it takes too long or needs too much memory.
        Stopped: the result is no longer needed.
    """
    argument = [prefix, [list(each) for each in texts]]
    result = conversions().run(f"{__name__}:convert_in_child", argument, seconds=SECONDS)
    return [str(each) for each in result]


def speakers_apart(text: str) -> str:
    """Put a line break before the speaker of a quotation in HTML, which the style sheet of a report does otherwise."""
    return _SPEAKER.sub(r"\1<br>", text)


def convert_in_child(_: TaskContext, argument: Sequence[Any]) -> list[str]:
    """Convert texts as `convert` does, in the worker process."""
    prefix, texts = argument
    return [_converted(kind, text, f"{prefix}{number}-") for number, (kind, text) in enumerate(texts)]


def harmless_markdown(texts: Sequence[str]) -> list[str]:
    """Take HTML, pictures and dangerous links out of Markdown; in blocks of code everything stays.

    Raises:
        ConversionFailed: it takes too long or needs too much memory.
        Stopped: the result is no longer needed.
    """
    task = f"{__name__}:harmless_markdown_in_child"
    return [str(each) for each in conversions().run(task, list(texts), seconds=SECONDS)]


def harmless_markdown_in_child(_: TaskContext, texts: Sequence[str]) -> list[str]:
    """Do what `harmless_markdown` does in the worker process."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # Links that it would not show are those to look for.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return [_harmless(parser, text) for text in texts]


def _harmless(parser: MarkdownIt, text: str) -> str:
    lines = _LINE.split(text)
    code = {
        number
        for token in parser.parse(text)
        if token.type in {"fence", "code_block"} and token.map
        for number in range(*token.map)
    }
    lines = [
        line
        if number in code
        else _UNSAFE_LINK.sub(r"\1unsafe:", _PICTURE_SIGN.sub("", _MARKUP.sub(r"\1\\<", line)))
        for number, line in enumerate(lines)
    ]
    # The address of a link may be on another line, or have its characters written in other ways.
    for token in parser.parse("\n".join(lines)):
        if token.map and any(map(_leads_elsewhere, token.children or ())):
            for number in range(*token.map):
                lines[number] = _BRACKET.sub(r"\1\\[", lines[number])
    return "\n".join(lines)


def _leads_elsewhere(token: Token) -> bool:
    """Whether a link leads neither to the web, nor to mail, nor to a file beside the text."""
    address = str(token.attrs.get("href", ""))
    return ":" in address and not _SAFE_LINK.match(address)


def plain_html(text: str) -> str:
    """Write a plain text as HTML, with its line breaks."""
    return f'<p class="plain">{html.escape(text)}</p>'


def _converted(kind: ReportFormat, text: str, prefix: str) -> str:
    import nh3

    if kind == "text":
        return plain_html(text)
    if kind == "markdown":
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        # Whatever is unsafe in an address is removed below.
        parser.validateLink = lambda url: True  # type: ignore[method-assign]
        text = parser.render(text)
    return nh3.clean(
        speakers_apart(text),
        tags=set(_TAGS),
        clean_content_tags=set(_DROPPED),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_filter(prefix),
        url_schemes={"http", "https", "mailto", "data"},
        url_relative="pass_through",
        link_rel="noopener noreferrer nofollow",
    )


def _filter(prefix: str) -> Callable[[str, str, str], str | None]:
    seen: set[str] = set()

    def filtered(tag: str, name: str, value: str) -> str | None:
        if name == "id":
            if value in seen:
                return None
            seen.add(value)
            return f"{prefix}{value}"
        if name == "src":
            return f"{PICTURE}{quote(value, safe='')}" if len(value) <= (2 << 20) else PICTURE
        if name == "href":
            if value.startswith("#"):
                return f"#{prefix}{value[1:]}"
            return value if _SAFE_LINK.match(value) else None
        return value

    return filtered
