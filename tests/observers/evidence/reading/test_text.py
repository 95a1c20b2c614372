from __future__ import annotations

from tests.observers.evidence.reading.reading import blocks, links


def test_blocks() -> None:
    source = """THE TITLE

1. Introduction

A paragraph
on two lines & 5 < 6.

Underlined
----------
Text.

- one
  more of it
- two
1) three

> quoted
> words

a | b
--|--
1 | 2

Sources:
[1] Title. https://a.de
[2] Other.
    https://b.de
"""
    assert blocks(source, "a.txt") == [
        ("heading", "THE TITLE"), ("heading", "1. Introduction"),
        ("paragraph", "A paragraph on two lines & 5 < 6."), ("heading", "Underlined"), ("paragraph", "Text."),
        ("item", "one more of it"), ("item", "two"), ("item", "three"), ("quote", "quoted words"),
        ("cell", "a"), ("cell", "b"), ("cell", "1"), ("cell", "2"), ("heading", "Sources:"),
        ("item", "Title. https://a.de"), ("item", "Other. https://b.de"),
    ]  # fmt: skip


def test_markup_is_text_and_addresses_are_links() -> None:
    assert blocks("<b>5</b> &amp; **x**", "a.txt") == [("paragraph", "<b>5</b> &amp; **x**")]
    assert links("see (https://a.de/b), or www.c.de!", "a.txt") == [
        ("https://a.de/b", "https://a.de/b"),
        ("www.c.de", "https://www.c.de"),
    ]
