"""Reports and sources for tests of quotations and names, without files."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from ua_tui.core.evidence.records import Source, SourceKind, Verdict
from ua_tui.observers.evidence.report import Block, BlockKind, Link, Report, Sentence
from ua_tui.observers.evidence.sources import Sources, SourceText


@dataclass
class Known(Sources):
    """Sources that are cited by their exact addresses."""

    def cited(self, url: str) -> Sequence[SourceText]:
        return [text for text in self.texts if text.record.url == url]

    def verdict(self, url: str) -> tuple[Verdict, SourceText | None, str]:
        found = self.cited(url)
        return (Verdict.READ, found[0], "") if found else (Verdict.INVENTED, None, "")


def page(
    text: str, number: int = 0, kind: SourceKind = "article", title: str = "", *, gone: bool = False
) -> SourceText:
    """A source with the address `https://a.example/<number>`."""
    record = Source(kind=kind, title=title, url=f"https://a.example/{number}", gone=gone)
    return SourceText(number, record, text)


def block(
    text: str,
    kind: BlockKind = "paragraph",
    *,
    cites: Sequence[int] = (),
    is_hidden: bool = False,
    is_bibliography: bool = False,
) -> Block:
    """A block that ends with a footnote for each of the sources that it cites."""
    links = []
    for number in cites:
        links.append(Link(len(text), len(text) + 3, f"https://a.example/{number}"))
        text += f"[{number}]"
    return Block(
        kind=kind,
        text=text,
        offsets=array("L", range(len(text))),
        links=links,
        is_hidden=is_hidden,
        is_bibliography=is_bibliography,
    )


def report(*blocks: Block, title: str = "") -> Report:
    """A report of blocks, each of them a single sentence."""
    sentences = [
        Sentence(number, each, 0, len(each.text), tuple(link.url for link in each.links))
        for number, each in enumerate(blocks)
    ]
    return Report(
        source="\n".join(each.text for each in blocks), title=title, blocks=blocks, sentences=sentences
    )
