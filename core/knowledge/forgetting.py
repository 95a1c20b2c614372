"""Forgets: removes what a person names from the knowledge base, and remembers by tombstones what must not come back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgotten import (
    ForgottenEntry,
    document_tombstone,
    session_tombstone,
    source_tombstone,
    title_tombstone,
)
from ua_tui.core.knowledge.index.database import reporting
from ua_tui.core.knowledge.place import KnowledgePlace, exists, folder_key, folder_path
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.knowledge.search.candidates import Choice, Filters, Term
from ua_tui.core.knowledge.search.query import conditions, parse_query
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.sqlite import files_set_aside

_TITLES = 100
_QUICKLY_SCRUBBED = 32 << 20
"""Bytes of a file from which the bytes of a deleted session are removed at once."""

_FILES = (
    "the sessions still have it in their files, kept versions, journal and conversation, until they are deleted "
    "(`ua-tui sessions`), and copies in SAVED_REPORTS have it, too"
)
_AGAIN = "a page that is fetched again can be found again, unless its address is forgotten, too (`--source`)"
_SERVER = "the server's log, backups and replicas may have it until they are overwritten"
_READ = "another program still reads the knowledge base: the bytes are removed when the next session runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was removed, or with `dry_run` would be.

    Attributes:
        titles: the titles of the first hundred documents, each once.
        sessions: the folders of the sessions from which they are, as the file names them.
        kept: what still has the texts, and problems: sentences for a person.
    """

    documents: int = 0
    passages: int = 0
    titles: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def forget(
    place: KnowledgePlace, *, session: str = "", source: str = "", match: str = "", dry_run: bool = False
) -> Forgotten:
    """Remove the documents of a session, of an address, or that match a query, so that no byte of them remains; blocks.

    Documents for which all of the given conditions hold are removed. A session or an address that is named alone stays
    forgotten, whatever is found there later. The files and records of sessions stay.

    `session` is the folder of a session, as the knowledge base names it, `source` the address of a page, and `match` a
    query, as `KnowledgeSearch.search` reads it; all of its words must match. A `dry_run` changes nothing.

    Raises:
        KnowledgeError: no condition is given, or the file cannot be read or written.
    """
    session, source, match = session.strip(), source.strip(), match.strip()
    if not session and not source and not match:
        raise KnowledgeError("nothing to forget: name a session, an address, or words")
    all_of, without, filters = _read_query(match) if match else ((), (), ())
    with open_store(place, read_only=True) as database, database.reading() as notices:
        if notices is None:
            raise KnowledgeError(f"there is no knowledge base {place}: it is created when a session runs")
        where = [
            *filters,
            *conditions(session=session, source=source and canonical_url(source)),
            *(("without", [term]) for term in without),
            *(("having", [term]) for term in all_of),
        ]
        found = [Hit(**row) for row in database.records("matching", where)]
        ((passages,),) = database.rows("count_passages", ids=[each.id for each in found])
        known = bool(database.rows("knows", folder=session))
    if session and not known and not os.path.isdir(folder_path(place, session) or ""):
        raise KnowledgeError(f"there is no session {session}: `ua-tui sessions` lists them")
    kept = [_FILES, *([_SERVER] if isinstance(place, Address) else [])] if found else []
    if match and any(each.path for each in found):
        kept.append(_AGAIN)
    if not dry_run and (found or session):
        kept += _remove(place, _entry(found, _titled(found, all_of), session, source, match))
    return Forgotten(
        documents=len(found),
        passages=passages,
        titles=tuple(dict.fromkeys(each.title for each in found if each.title))[:_TITLES],
        sessions=tuple(dict.fromkeys(each.session for each in found)),
        kept=tuple(kept),
    )


def forget_deleted(place: KnowledgePlace, folder: Path) -> None:
    """Forget a session whose folder was deleted; quick, so what is left in the bytes of a large file is removed later.

    In the database of a team it is only removed, and one of the team stays: the folder was a copy of it.

    Raises:
        KnowledgeError: it cannot be written.
    """
    if not exists(place):
        return
    key = folder_key(place, folder)
    with open_store(place) as store:
        if isinstance(place, Address):
            if not store.rows("is_shared", folder=key):
                store.remove_session(key)
            return
        store.forgotten_of().append(ForgottenEntry(tombstones=(session_tombstone(key),)))
        store.remove_session(key)
        with reporting(place, "read"):
            is_small = os.lstat(place).st_size < _QUICKLY_SCRUBBED
        if is_small:
            store.finish_forgetting()


def _entry(
    found: Iterable[Hit], named: Iterable[str], session: str, source: str, match: str
) -> ForgottenEntry:
    """What is put on the list: a session or an address that is named alone as such, all else document by document."""
    if session and not source and not match:
        return ForgottenEntry(tombstones=(session_tombstone(session),))
    tombstones = [title_tombstone(folder) for folder in named]
    if source and not session and not match:
        tombstones.append(source_tombstone(source))
    else:
        tombstones += [document_tombstone(each.session, each.path, each.part) for each in found]
    return ForgottenEntry(tombstones=tuple(dict.fromkeys(tombstones)))


def _remove(place: KnowledgePlace, entry: ForgottenEntry) -> Iterator[str]:
    """Remove from the knowledge base what an entry lists; gives sentences about what is left."""
    with open_store(place) as store:
        store.forgotten_of().append(entry)
        is_clean = store.finish_forgetting()
    if isinstance(place, Address):
        return
    if not is_clean:
        yield _READ
    for damaged in files_set_aside(place):
        try:
            os.unlink(damaged)
        except OSError as error:
            yield f"the damaged file {damaged} may still have it and cannot be removed: {error.strerror}"


def _titled(found: Iterable[Hit], terms: Iterable[Term]) -> list[str]:
    """The sessions of documents whose titles have a word of the query, as most are made of the first question."""
    titles = {each.session: each.session_title for each in found}
    wanted = {word for term in terms for word in term.choices[0].words}
    with closing(Tokenizer()) as tokenizer:
        words_of = tokenizer.words([*titles.values()])
    return [folder for folder, words in zip(titles, words_of, strict=True) if wanted & {*words}]


def _read_query(text: str) -> tuple[Sequence[Term], Sequence[Term], Filters]:
    """Read what documents must have, must not have and must be; raises a `KnowledgeError` if a query is not clear.

    Every word counts, also those that say nothing, which a search leaves out.
    """
    query = parse_query(text, datetime.now().astimezone())
    if query.notices:
        raise KnowledgeError(
            f"nothing is forgotten, because the query is not clear: {' '.join(query.notices)}"
        )
    typed = [each.text for each in (*query.terms, *query.without)]
    with closing(Tokenizer()) as tokenizer:
        every = tokenizer.words(typed)
    if not all(every) or not (query.terms or query.filters):
        raise KnowledgeError(
            "nothing is forgotten, because the query has no words, or a part without letters"
        )
    terms = [
        Term((Choice(each, tuple(words)),), phrase=True) for each, words in zip(typed, every, strict=True)
    ]
    count = len(query.terms)
    return terms[:count], terms[count:], query.filters
