"""`ua-tui check`: compares reports with what their sessions have read, or with given files."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path, PurePath

import msgspec

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.description import ClaimDescription, describe_claim
from ua_tui.core.claims.files import FORMATS, LARGEST_REPORT, ReportCheck, report_format
from ua_tui.core.claims.ledger import Ledger, ListedClaim
from ua_tui.core.claims.records import NO_TEXT
from ua_tui.core.errors import SettingsError, UniversalAgentError
from ua_tui.core.history.lookup import find_session
from ua_tui.core.history.versions import TextOrigin, find_origin
from ua_tui.core.knowledge.place import place_of
from ua_tui.core.redaction.redactor import Redactor, seal_json
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line
from ua_tui.observers.check.session import check_against, check_in_session
from ua_tui.observers.knowledge.contents import is_binary
from ua_tui.tui.cli.arguments import WrongUsage, read_given_file, redactor_of, settings_of
from ua_tui.tui.cli.output import (
    agrees,
    complain,
    has_screen,
    page_width,
    print_json,
    print_line,
    quiet_libraries,
    table_lines,
    wrapped,
)
from ua_tui.tui.export.records import PAGE_MARK
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE
from ua_tui.tui.viewers.claims.marks import SIGNS

_INDENT = "    "
_TEXT, _SENTENCE, _ADDRESS, _CELL = 300, 800, 400, 40
"""The longest ones, in characters."""
_WIDE = 100


def page_lines(report: CheckedReport, width: int | None, *, is_table: bool = False) -> Iterator[str]:
    """Give the lines of a report: what was found, then its doubtful claims, or all of them as a table.

    They are for a terminal of `width` cells, or without a width of any length.
    """
    title, file = clean_line(report.title, 200), clean_line(report.file, _ADDRESS)
    of_session = f" of {clean_line(report.session, 200)}" if report.session else ""
    for text in (
        f"{title} ({file})" if title else file,
        report.summary,
        f"Compared with {report.compared_with or 'no sources'}{of_session}.",
        *(f"{fact.rstrip('.')}." for fact in (report.signed, report.second_opinion) if fact),
        *(clean_line(each, _SENTENCE) for each in (*report.notices, report.unsigned) if each),
    ):
        yield from wrapped([(text, False)], width)
    claims = sorted(report.claims, key=lambda claim: claim.risk)
    if is_table:
        yield from _table(report, claims, width or 0)
        return
    for claim in claims:
        if claim.is_doubtful:
            decided = f" · {claim.answer or 'open'}" if claim.decision is not None else ""
            told = describe_claim(claim, report.sources)
            head = f"{_state(claim)}  {told.words}{decided}"
            yield from ("", *wrapped([(head, False)], width, later=_INDENT))
            for text, is_address in _details(told):
                # An address in one piece can be clicked and copied.
                yield from [_INDENT + text] if is_address else wrapped([(text, False)], width, _INDENT)


def _table(report: CheckedReport, claims: Sequence[ListedClaim], width: int) -> Iterator[str]:
    is_wide = not width or width >= _WIDE
    wide = ["source", *(["opinion"] if report.second_opinion else [])]
    names = ["state", *(["kind"] if is_wide else []), "claim", "decision", *(wide if is_wide else [])]
    cells = [[name.upper() for name in (*names, "sentence")]]
    for claim in claims:
        row = report.row(claim) | {"state": _state(claim), "decision": claim.answer or "open"}
        row["source"] = row["source"] or claim.url
        shown = [clean_line(row[name], _CELL) for name in names]
        cells.append([*shown, clean_line(row["sentence"], _SENTENCE)])
    most = max(8, width // 3) if width else _TEXT
    yield ""
    # A cell takes at most a third of the line.
    yield from (tail_cut(line, width) if width else line for line in table_lines(cells, most))


def _details(told: ClaimDescription) -> Iterator[tuple[str, bool]]:
    """The lines about a doubtful claim, and whether each is an address."""
    said = "".join(piece.text for piece in told.said)
    if where := ": ".join(filter(None, (told.section, said if said != told.words else ""))):
        yield where, False
    if told.address:
        yield told.address, True
    yield told.why, False
    for passage in told.passages[:1]:
        near = f"{passage.headers} {passage.text}".strip()
        yield f"{'' if told.state == 'differs' else 'Nearest: '}“{near}”", False
        yield passage.title, passage.title == passage.url
        if passage.url != passage.title:
            yield passage.url, True
    for each in told.judged:
        yield each, False


def _state(claim: ListedClaim) -> str:
    return f"{SIGNS[claim.state].character} {claim.state}"


_INPUT = "-"
_HTML_BEGINS = (b"<!doctype", b"<html", b"<?xml", b"<!--")
# A page begins so, a Markdown text ends so, and a PDF says it in its properties.
_EXPORT = re.compile(
    rb"\A.{,2000}"
    + re.escape(PAGE_MARK.encode())
    + rb"|\n- Exported by: ua-tui .{,100}\Z|\A%PDF.*/Author\(ua-tui ",
    re.DOTALL,
)


def run(args: argparse.Namespace) -> int:
    """Check reports; returns the exit code.

    1 if a claim is red or the model gave no opinion, 2 if a report cannot be checked or there is none, else 0.

    Raises:
        SettingsError: a setting is wrong.
        WrongUsage: options do not go together.
    """
    if args.session is not None and args.sources:
        raise WrongUsage("--session and --sources cannot be used together")
    if args.ask_model and not args.yes and not has_screen():
        raise WrongUsage("--ask-model costs money: without a terminal it needs --yes")

    settings = settings_of(args)
    width = page_width(240 if args.table else 100)
    found: list[CheckedReport] = []
    code = 0
    for file in args.reports:
        try:
            checked = _check(file, args, settings)
        except UniversalAgentError as error:
            code = complain(str(error), EXIT_USAGE)
            continue
        if checked is None:
            continue
        report, problem = checked
        code = max(code, EXIT_FAILED if report.red or problem else 0)
        if problem:
            complain(problem)
        if not args.json:
            for line in [""] * bool(found) + [*page_lines(report, width, is_table=args.table)]:
                print_line(line)
        found.append(report)
    if args.json and (found or len(args.reports) > 1):
        print_json(found)
    return code or (0 if found else EXIT_USAGE)


def _check(file: str, args: argparse.Namespace, settings: Settings) -> tuple[CheckedReport, str] | None:
    """Check one report; gives it, and why there is no second opinion although one was wanted; None for an export."""
    data, name = _read(file)
    shown = clean_line(file, 300)
    if report_format(name) != "pdf" and is_binary(data):
        raise SettingsError(f"{shown} is not text: name it .pdf if it is a PDF, or save it as text")
    if _EXPORT.search(data) and _origin(file) is None:
        # They are in the same folder as the reports, so a pattern names them, too.
        complain(f"{shown} is not checked, because it is an export: name the report itself")
        return None
    session, report = _place(file, name, args, settings)
    redactor = redactor_of(settings)
    if session is None:
        made = check_against(data, report, [Path(each) for each in args.sources], redactor)
    else:
        made = check_in_session(data, report, session, redactor, place_of(settings))
    if NO_TEXT in (notices := made.check.notices):
        why = " ".join(notices[: notices.index(NO_TEXT) + 1])
        raise SettingsError(f"{shown} cannot be checked: {why}")
    # What is printed, and what a model is asked, has no secrets.
    made = msgspec.json.decode(seal_json(msgspec.json.encode(made).decode(), redactor), type=ReportCheck)
    of_session = session.name if session is not None else ""
    found = CheckedReport.of(made, Ledger(session, report).read(), file=file, session=of_session)
    if args.ask_model:
        try:
            ledger = _ask(found, session, settings, redactor, is_agreed=args.yes)
            found = found if ledger is None else found.judged(ledger)
        except UniversalAgentError as error:
            return found, str(error)
    return found, ""


def _ask(
    report: CheckedReport, session: Path | None, settings: Settings, redactor: Redactor, *, is_agreed: bool
) -> Ledger | None:
    """Ask the model if the person agrees to the price."""
    from ua_tui.core.session.opinion import OpinionTerms, ask_opinion, terms_of_past_session

    async def agrees_to(question: str) -> bool:
        sys.stderr.write(f"{question}\n" if is_agreed else "")
        return is_agreed or await asyncio.to_thread(agrees, question)

    terms = (
        nullcontext(OpinionTerms(settings=settings, redactor=redactor, left_usd=settings.max_cost_usd))
        if session is None
        else terms_of_past_session(session, settings, redactor)
    )
    with quiet_libraries(settings.log_level):
        return asyncio.run(ask_opinion(terms, report, agrees_to))


def _origin(file: str) -> TextOrigin | None:
    return None if file == _INPUT else find_origin(Path(os.path.abspath(file)))


def _place(file: str, name: str, args: argparse.Namespace, settings: Settings) -> tuple[Path | None, str]:
    """The session with which a report is compared, None if sources are given, and its path there, or its name."""
    if args.sources:
        return None, name
    origin = _origin(file)
    if args.session is not None:
        folder = find_session(settings.workspace_base, args.session)
        is_own = origin is not None and origin.session.resolve() == folder.resolve()
        return folder, origin.source if origin is not None and is_own else name
    named = "standard input" if file == _INPUT else clean_line(file, 300)
    advice = "name a session, such as --session latest, or sources, such as --sources notes/"
    if origin is None:
        raise SettingsError(f"{named} belongs to no session: {advice}")
    if not (origin.session / JOURNAL).is_file():
        raise SettingsError(f"the session of {named} no longer exists: {advice}")
    return origin.session, origin.source


def _read(file: str) -> tuple[bytes, str]:
    """Read a report, also a compressed one; gives it with a name that tells its format."""
    if file == _INPUT:
        data = sys.stdin.buffer.read(LARGEST_REPORT + 1)
        if len(data) > LARGEST_REPORT:
            raise SettingsError(f"standard input is too large: at most {LARGEST_REPORT >> 20} MB are read")
        is_html = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].lower().startswith(_HTML_BEGINS)
        ending = "pdf" if data.startswith(b"%PDF-") else "html" if is_html else "md"
        return data, f"standard_input.{ending}"
    name, shown = inner_name(PurePath(file).name), clean_line(file, 300)
    if os.path.isdir(file):
        each = f"{shown.rstrip('/')}/*.html"
        raise SettingsError(f"{shown} is a folder: name the reports in it, such as {each}")
    if report_format(name) is None and os.path.exists(file):
        known = f"only HTML, Markdown, text and PDF files are checked ({', '.join(sorted(FORMATS))})"
        raise SettingsError(f"{shown} is not a report: {known}")
    return read_given_file(file, LARGEST_REPORT), name
