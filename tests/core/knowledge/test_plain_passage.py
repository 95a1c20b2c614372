"""Tests of passages without the marks of Markdown."""

from __future__ import annotations

from core.knowledge.plain_passage import plain_passage


def test_marks_are_removed() -> None:
    plain = {
        "# Heading and more ## Next": "Heading and more Next",
        "C# and #1 stay": "C# and #1 stay",
        "**bold** and *slanted* `code`": "bold and slanted code",
        "2 * 3 * 4 snake_case_word": "2 * 3 * 4 snake_case_word",
        "[words] of [a link](https://a.example/) ![picture](x.png)": "words of a link picture",
        "a source [1] and [words][2]": "a source [1] and words",
        "for [red]90[/nope] items[name]": "for [red]90[/nope] items[name]",
        "[open and **open": "[open and open",
        "": "",
    }
    assert {text: plain_passage(text, ())[0] for text in plain} == plain


def test_what_matches_stays_marked() -> None:
    text = "# The [memory market](https://memory.example/) **grows** fast"
    places = [(text.index(word), text.index(word) + len(word)) for word in ("memory", "**grows**", "fast")]
    address = text.index("memory.example")
    plain, marks = plain_passage(text, [*places, (address, address + 6)])
    assert plain == "The memory market grows fast"
    assert [plain[start:end] for start, end in marks] == ["memory", "grows", "fast"]
