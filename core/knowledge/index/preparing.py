"""Computes what can be computed of documents before they are stored; another process may do it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ua_tui.core.knowledge.index.chunks import count_words, split_chunks
from ua_tui.core.knowledge.index.fingerprints import body_hash, simhash
from ua_tui.core.knowledge.records import Chunk, KnowledgeDocument

_GROUP = 200_000
"""Characters of the documents that are prepared and stored together."""


class Prepared(msgspec.Struct, frozen=True):
    """A document with everything that can be computed before it is stored."""

    document: KnowledgeDocument
    digest: bytes
    words: int
    chunks: list[tuple[int, int, int, str]]


def prepared_groups(documents: Iterable[KnowledgeDocument]) -> Iterator[list[Prepared]]:
    """Prepare documents, and give those together that are stored in one transaction."""
    group: list[Prepared] = []
    size = 0
    for document in documents:
        prepared = _prepare(document)
        group.append(prepared)
        size += len(document.text) + 500
        if size > _GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _prepare(document: KnowledgeDocument) -> Prepared:
    # A document without a text is found by its title.
    chunks = [*split_chunks(document.text)] or [Chunk(0, 0, "")]
    return Prepared(
        document,
        body_hash(document.text),
        count_words(document.text),
        [(chunk.start, chunk.end, simhash(chunk.text), storable(chunk.text)) for chunk in chunks],
    )


def storable(text: str) -> str:
    """A text as the database can hold it; its length does not change."""
    text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
