"""`ua-tui find`: what the sessions of a folder found, from the knowledge base that its options name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ua_tui.core.errors import KnowledgeError, SettingsError
from ua_tui.core.events.units import quantity
from ua_tui.core.history.lookup import find_session
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import KnowledgePlace, exists, folder_key, folder_path, place_of
from ua_tui.core.knowledge.records import Hit, Results
from ua_tui.core.knowledge.search.embeddings import embedder_of
from ua_tui.core.knowledge.search.query import QUOTES, parse_query
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line
from ua_tui.observers.knowledge.figures import day_of_figure, figures_near
from ua_tui.tui.cli.arguments import WrongUsage, settings_of
from ua_tui.tui.cli.output import complain, page_width, print_json, print_line, table_lines, wrapped
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.screens.knowledge.hit_text import day_of, kind_name, notes_of, pieces_of, title_of
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE

_INDENT = "    "
_BEFORE = 40
"""Characters of a sentence up to the end of its figure that are shown in a terminal."""


def run(args: argparse.Namespace) -> int:
    """Print the hits; returns the exit code: 0, 1 if there are none, 2 if the knowledge base cannot be read.

    Raises:
        SettingsError: a setting is wrong, the knowledge base is off or missing, or there is no such session.
        WrongUsage: an option or a filter is wrong.
    """
    words = " ".join(args.words)
    query = _query(args, words)
    settings = settings_of(args)
    place = find_database(settings)
    try:
        session = session_key(place, settings.workspace_base, args.session) if args.session else ""
        with closing(KnowledgeSearch(place, embedder=embedder_of(settings))) as search:
            find = partial(figures_near, search) if args.figures else search.search
            found = find(query, limit=args.limit, session=session)
            unread = [] if found.hits else unread_sessions(place, settings.workspace_base)
    except KnowledgeError as error:
        return complain(str(error), EXIT_USAGE)
    notices = [*found.notices, *unread]
    if args.json:
        print_json(_fields(words, found, notices, place, of_figures=args.figures))
    else:
        _print(found, notices, place)
    return 0 if found.hits else EXIT_FAILED


def _print(found: Results, notices: Sequence[str], place: KnowledgePlace) -> None:
    """Print what was found, and on standard error why there is nothing, or not everything."""
    if any(hit.figure for hit in found.hits):
        print_figures(found.hits, page_width(200))
    else:
        for number, hit in enumerate(found.hits):
            for line in (*([""] if number else []), *hit_lines(hit, place, page_width(100))):
                print_line(line)
    facts = {
        "no document has all of the words: these have some of them": found.relaxed,
        "nothing was found": not found.hits,
        "the search was stopped early, so there may be more": found.partial,
    }
    for notice in (*(fact for fact, is_so in facts.items() if is_so), *notices):
        complain(notice)


def _query(args: argparse.Namespace, words: str) -> str:
    """The filters that options stand for, then the words, which may have a quotation mark too few."""
    query = ""
    for name in ("kind", "site", "tool", "since", "until"):
        given = getattr(args, name) or []
        for value in [given] if isinstance(given, str) else given:
            if set(QUOTES) & set(value):
                raise WrongUsage(f"--{name} {value!r} cannot be searched")
            query += f'{name}:"{value}" '
    query += words
    if wrong := parse_query(query, datetime.now().astimezone()).wrong:
        raise WrongUsage(" ".join(wrong).rstrip("."))
    return query


def hit_lines(hit: Hit, place: KnowledgePlace, width: int | None) -> Iterator[str]:
    """Give the lines of a hit: its title, what it is, its address, the passage, and its file.

    They are wrapped and marked for a terminal of `width` cells; without a width they are plain and of any length.
    """
    yield from wrapped([(title_of(hit), True)], width)
    name = Path(hit.session).name
    session_title = hit.session_title if hit.session_title != hit.title else ""
    facts = (kind_name(hit.kind), hit.site, day_of(hit), *notes_of(hit), name, session_title)
    yield from wrapped([(" · ".join(clean_line(fact, 120) for fact in facts if fact), False)], width, _INDENT)
    # An address or a path in one piece can be clicked and copied.
    if hit.url:
        yield _INDENT + clean_line(hit.url, 2000)
    if pieces := pieces_of(hit):
        yield from wrapped(pieces, width, _INDENT)
    yield _INDENT + clean_line(_shown_file(hit, place), 4000)


def _shown_file(hit: Hit, place: KnowledgePlace) -> str:
    """The path of the file, or of the session's folder for what is only in the journal."""
    folder = folder_path(place, hit.session)
    path = Path(folder or hit.session) / hit.path
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)


def print_figures(figures: Sequence[Hit], width: int | None) -> None:
    """Print a table of figures; in a terminal of `width` cells sentences begin near the figures and are cut."""
    table = [["DATE", "FIGURE", "SOURCE", "SENTENCE"]]
    for each in figures:
        first = 0 if width is None else max(0, each.place[1] - _BEFORE)
        sentence = f"{'…' if first else ''}{each.passage[first:].lstrip()}"
        source = each.site or each.session_title or each.session
        cells = ((day_of_figure(each), 10), (each.figure, 40), (source, 40), (sentence, 1000))
        table.append([clean_line(text, most) for text, most in cells])
    for line in table_lines(table):
        print_line(line if width is None else tail_cut(line, width))


def _fields(
    query: str, found: Results, notices: list[str], place: KnowledgePlace, *, of_figures: bool
) -> dict[str, Any]:
    fields = {"query": query, "partial": found.partial, "notices": notices}
    hits = [_hit_fields(hit, place) for hit in found.hits]
    if of_figures:
        return {**fields, "figures": hits}
    return {**fields, "hits": hits, "relaxed": found.relaxed, "ms": round(found.ms, 1)}


def _hit_fields(hit: Hit, place: KnowledgePlace) -> dict[str, Any]:
    folder = folder_path(place, hit.session)
    hidden = ("more", "full", "path", "figure", "place")
    fields = {name: getattr(hit, name) for name in Hit.__struct_fields__ if name not in hidden}
    figure = {"figure": hit.figure, "day": day_of_figure(hit), "place": list(hit.place)} if hit.figure else {}
    empty = ("url", "site", "author", "date", "tool", "older", "newer")
    return {
        **figure,
        **fields,
        **{name: fields[name] or None for name in empty},
        "made_at": datetime.fromtimestamp(hit.made_at, UTC).isoformat(timespec="seconds"),
        "session": hit.session if folder is None else str(folder),
        "file": str(folder / hit.path) if folder is not None and hit.path else None,
        "marks": [list(mark) for mark in hit.marks],
        "same_address": hit.more,
        "score": round(hit.score, 4),
    }


def find_database(settings: Settings, *, must_exist: bool = True) -> KnowledgePlace:
    """Return where the knowledge base is.

    Raises:
        SettingsError: it is turned off, or missing although it must exist.
    """
    path = place_of(settings)
    if path is None:
        raise SettingsError("the knowledge base is off; `ua-tui config set knowledge on` turns it on")
    if must_exist and not exists(path):
        raise SettingsError(
            f"there is no knowledge base {clean_line(str(path), 700)}: the next session "
            "or `ua-tui knowledge update` creates it"
        )
    return path


def unread_sessions(place: KnowledgePlace, base: Path) -> list[str]:
    """A sentence on sessions that may have more than was found; none if all are indexed."""
    unread = len(read_status(place, base).lagging)
    of = quantity(unread, "session")
    sentence = f"{of} may have content that is not indexed yet; `ua-tui knowledge update` indexes it"
    return [sentence] if unread else []


def session_key(database: KnowledgePlace, base: Path, wanted: str) -> str:
    """Return the session that a person names, as the knowledge base does; its folder may be gone.

    Raises:
        SettingsError: there is no such session.
        KnowledgeError: the knowledge base cannot be read.
    """
    try:
        return folder_key(database, find_session(base, wanted))
    except SettingsError:
        with open_store(database, read_only=True) as reader, reader.reading():
            known: set[str] = {folder for folder, *_ in reader.rows("cursors")}
        for key in (wanted, f"session_{wanted}", str(Path(wanted).absolute()), Path(wanted).name):
            if key in known:
                return key
        # Those of a team have the names of their machines.
        named = [key for key in known if key.rpartition("/")[2] in (wanted, f"session_{wanted}")]
        if len(named) == 1:
            return named[0]
        raise
