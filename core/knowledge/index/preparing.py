"""Computes what can be computed of documents before they are stored, outside of transactions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.knowledge.index.chunks import split_chunks
from ua_tui.core.knowledge.records import Chunk, KnowledgeDocument
from ua_tui.core.net.urls import canonical_url

_GROUP = 200_000
"""Characters of the documents that are prepared and stored together."""
_PIECE = 64 << 10


class Prepared(msgspec.Struct, frozen=True):
    """A document with everything that can be computed before it is stored.

    Attributes:
        document: the document without its text, and with names, titles and addresses as they are stored.
        site: the host of its address.
        digest: the hash of its text.
        words: how many words the text has.
        chunks: the chunks of the text, at least one.
    """

    document: KnowledgeDocument
    site: str
    digest: bytes
    words: int
    chunks: list[Chunk]

    @property
    def place(self) -> tuple[str, int]:
        """Where it is in its session: the file, and the number in the file."""
        return self.document.path, self.document.part


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
    url, site = _address(document.url)
    digest, words = body_hash(document.text)
    facts = msgspec.structs.asdict(document) | {"text": "", "url": url}
    stored: dict[str, Any] = {
        name: storable(fact) if isinstance(fact, str) else fact for name, fact in facts.items()
    }
    return Prepared(
        KnowledgeDocument(**stored),
        site,
        digest,
        words,
        [Chunk(chunk.start, chunk.end, storable(chunk.text)) for chunk in chunks],
    )


def storable(text: str) -> str:
    """A text as the database can hold it; its length does not change."""
    text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1_000)
def _address(url: str) -> tuple[str, str]:
    """An address as it is stored, and its host; a session names most of its addresses several times."""
    if not url:
        return "", ""
    key = storable(canonical_url(url))
    return key, host_of(key)


def host_of(url: str) -> str:
    """The host of an address; empty if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def body_hash(text: str) -> tuple[bytes, int]:
    """Return the hash by which equal texts are found, without regard to white space, and the number of words."""
    found, count = hashlib.sha256(), 0
    # In pieces: to split a long text at once would block all other threads.
    for at in range(0, len(text), _PIECE):
        if words := text[at : at + _PIECE].split():
            # Whether the first word began in the piece before.
            goes_on = at > 0 and not (text[at - 1].isspace() or text[at].isspace())
            space = "" if goes_on or not count else " "
            found.update(f"{space}{' '.join(words)}".encode("utf-8", "surrogatepass"))
            count += len(words) - goes_on
    return found.digest()[:16], count
