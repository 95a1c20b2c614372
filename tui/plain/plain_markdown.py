"""Markdown as plain text for screen readers: without its markup, and with everything that the markup means.

What is too long or too deep stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ua_tui.core.text import clean

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_LONGEST = 20_000
"""Characters of an answer that is converted: plain mode waits for the conversion."""


def unmarked(source: str) -> str:
    """Write Markdown as text: links with their addresses, code as it is, lists with their signs, tables by rows."""
    if len(source) > _LONGEST:
        return clean(source)
    from markdown_it.tree import SyntaxTreeNode

    from ua_tui.tui.render.markdown.parser import MAX_LEVELS, parse_markdown

    tokens = parse_markdown(source)
    if any(token.level >= MAX_LEVELS - 1 for token in tokens):
        # The parser omits what is nested more deeply.
        return clean(source)
    try:
        lines = "\n".join(_blocks(SyntaxTreeNode(tokens).children))
    except RecursionError:
        # It does not limit emphasis.
        return clean(source)
    # Entities were decoded by the parser: what they stand for is as untrusted as the source.
    return clean(lines).strip("\n")


def _blocks(nodes: list[SyntaxTreeNode], *, tight: bool = False) -> Iterator[str]:
    """The lines of blocks, with an empty one between two of them unless they stand close."""
    for number, node in enumerate(nodes):
        if number and not tight:
            yield ""
        yield from _block(node)


def _block(node: SyntaxTreeNode) -> Iterator[str]:
    match node.type:
        case "paragraph" | "heading":
            yield from "".join(map(_inline, node.children)).split("\n")
        case "fence" | "code_block":
            yield from node.content.rstrip("\n").split("\n")
        case "bullet_list" | "ordered_list":
            yield from _list(node)
        case "blockquote":
            for line in _blocks(node.children):
                yield f"> {line}".rstrip()
        case "table":
            yield from _table(node)
        case "hr":
            yield "---"
        case _:
            yield from node.content.split("\n")


def _list(node: SyntaxTreeNode) -> Iterator[str]:
    first = int(node.attrs.get("start", 1))
    tight = all(each.hidden for item in node.children for each in item.children if each.type == "paragraph")
    for number, item in enumerate(node.children):
        sign = f"{first + number}. " if node.type == "ordered_list" else "- "
        if number and not tight:
            yield ""
        for at, line in enumerate(list(_blocks(item.children, tight=tight)) or [""]):
            yield f"{' ' * len(sign) if at else sign}{line}".rstrip()


def _table(node: SyntaxTreeNode) -> Iterator[str]:
    rows = [
        ["".join(map(_inline, cell.children)).strip() for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    names, *others = rows
    if not others:
        yield ", ".join(names)
    for row in others:
        yield "; ".join(
            f"{name}: {value}" if name else value for name, value in zip(names, row, strict=False) if value
        )


def _inline(node: SyntaxTreeNode) -> str:
    match node.type:
        case "text" | "code_inline":
            return node.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "link":
            return _with_address("".join(map(_inline, node.children)), str(node.attrs.get("href", "")))
        case "image":
            caption = "".join(map(_inline, node.children)).strip()
            return _with_address(f"image: {caption}" if caption else "image", str(node.attrs.get("src", "")))
        case _:
            return "".join(map(_inline, node.children)) if node.children else node.content


def _with_address(text: str, address: str) -> str:
    if not address or text.strip() in {address, address.removeprefix("mailto:")}:
        return text
    return f"{text} ({address})"
