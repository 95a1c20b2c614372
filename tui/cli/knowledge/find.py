"""`ua-tui find`: what the sessions of a folder found, from their knowledge base."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.records import KINDS
from ua_tui.tui.cli.arguments import WrongUsage, add_sessions_folder, whole_number, workspace_settings
from ua_tui.tui.cli.knowledge.page import HitPage
from ua_tui.tui.cli.output import complain, print_json, print_line
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.records import Facet, Hit, Kind, Results

EXAMPLES = """\
The words can also have "phrases" in quotes, -word for what must not be there, and site: kind: session: since: until:
tool:. Quote them for the shell.

examples:
  ua-tui find AI chips
  ua-tui find '"export controls" -china since:30d'
  ua-tui find AI chips --kind article --site reuters.com --limit 5
  ua-tui find AI chips --json | jq -r '.hits[].url'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to the parser."""
    parser.add_argument(
        "words", nargs="*", metavar="WORDS", help="what to find; with options alone the newest are shown"
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help=f"only such documents: {', '.join(KINDS[:-1])} or {KINDS[-1]} (repeatable)",
    )
    parser.add_argument(
        "--site", action="append", default=[], metavar="HOST", help="only from this site (repeatable)"
    )
    parser.add_argument(
        "--session", metavar="SESSION", help="only from this session: its name, folder, or latest"
    )
    parser.add_argument("--tool", metavar="NAME", help="only what this tool brought")
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="only what was found since: 2026-11-21, 2026-11, 12h, 30d, 2w, 3mo, 1y, today",
    )
    parser.add_argument("--until", metavar="TIME", help="only what was found until then")
    parser.add_argument(
        "--limit", type=whole_number(1, 1000), default=10, metavar="N", help="at most N hits (default: 10)"
    )
    add_sessions_folder(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the hits; returns the exit code: 0, 1 if there are none, 2 if the knowledge base cannot be read.

    Raises:
        SettingsError: a setting is wrong, the knowledge base is off or missing, or there is no such session.
        WrongUsage: an option is wrong.
    """
    from ua_tui.core.knowledge.access import open_search
    from ua_tui.core.knowledge.search.embeddings import embedder_of
    from ua_tui.core.knowledge.search.search import PATIENT
    from ua_tui.tui.cli.knowledge.place import find_database, session_key

    now = datetime.now().astimezone()
    kinds = _kinds(args.kind, now)
    since, until = _moment("--since", args.since, now), _moment("--until", args.until, now)
    query = " ".join(args.words)
    if not (query.strip() or kinds or args.site or args.session or args.tool or since or until):
        raise WrongUsage("the query is empty")
    if '"' in (args.tool or ""):
        raise WrongUsage(f"--tool: {args.tool!r} is not the name of a tool")
    if args.tool:
        query += f' tool:"{args.tool}"'
    settings = workspace_settings(args)
    path = find_database(settings)
    try:
        session = session_key(path, settings.workspace_base, args.session) if args.session else ""
        search = open_search(path, budget=PATIENT, embedder=embedder_of(settings))
        try:
            results = search.search(
                query,
                limit=args.limit,
                kinds=kinds,
                sites=tuple(args.site),
                session=session,
                since=since,
                until=until,
            )
        finally:
            search.close()
    except KnowledgeError as error:
        return complain(str(error), EXIT_USAGE)
    if args.json:
        print_json(_fields(query, results, path))
    else:
        _print(results, path)
    return 0 if results.hits else EXIT_FAILED


def _kinds(given: list[str], now: datetime) -> tuple[Kind, ...]:
    from ua_tui.core.knowledge.search.query import parse_query

    found: list[Kind] = []
    for text in given:
        query = parse_query(f'kind:"{text}"', now)
        if query.notices or not query.kinds:
            raise WrongUsage(f"--kind: {text!r} is none of {', '.join(KINDS)}")
        found += query.kinds
    return tuple(found)


def _moment(option: str, text: str | None, now: datetime) -> float | None:
    if text is None:
        return None
    from ua_tui.core.knowledge.search.query import parse_date

    moment = parse_date(text, now, end=option == "--until")
    if moment is None:
        raise WrongUsage(
            f"{option}: {text!r} is not a date; write one like {now:%Y-%m-%d}, 30d, 2w, 3mo or today"
        )
    return moment


def _print(results: Results, database: KnowledgePlace) -> None:
    page = HitPage.of_output(database)
    for number, hit in enumerate(results.hits):
        if number:
            print_line("")
        for line in page.lines(hit):
            print_line(line)
    if not results.hits:
        complain("nothing was found")
    if results.relaxed:
        complain("few documents have all of the words, so some words were left out")
    if results.partial:
        complain("the search was stopped early, so there may be more")
    for notice in results.notices:
        complain(notice)


def _fields(query: str, results: Results, database: KnowledgePlace) -> dict[str, Any]:
    def facets(found: tuple[Facet, ...]) -> list[dict[str, Any]]:
        return [{"value": facet.value, "count": facet.count} for facet in found]

    return {
        "query": query,
        "hits": [_hit_fields(hit, database) for hit in results.hits],
        "kinds": facets(results.kinds),
        "sites": facets(results.sites),
        "sessions": facets(results.sessions),
        "relaxed": results.relaxed,
        "partial": results.partial,
        "notices": list(results.notices),
        "ms": round(results.ms, 1),
    }


def _hit_fields(hit: Hit, database: KnowledgePlace) -> dict[str, Any]:
    from ua_tui.core.knowledge.folders import folder_path, is_here

    # The files of another machine are not here.
    is_local = is_here(database, hit.session)
    folder: Path | str = folder_path(database, hit.session) if is_local else hit.session
    return {
        "id": hit.id,
        "kind": hit.kind,
        "title": hit.title,
        "url": hit.url or None,
        "site": hit.site or None,
        "author": hit.author or None,
        "date": hit.date or None,
        "made_at": datetime.fromtimestamp(hit.made_at, UTC).isoformat(timespec="seconds"),
        "trust": hit.trust,
        "session": str(folder),
        "session_title": hit.session_title,
        "demo": hit.demo,
        "tool": hit.tool or None,
        "tool_use_id": hit.tool_use_id,
        "file": str(folder / hit.path) if hit.path and isinstance(folder, Path) else None,
        "part": hit.part,
        "start": hit.start,
        "passage": hit.passage,
        "marks": [list(mark) for mark in hit.marks],
        "copies": hit.copies,
        "same_address": hit.same_address,
        "score": round(hit.score, 4),
    }
