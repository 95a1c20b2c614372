"""`ua-tui check`: compares a report with what its session has read, without a model."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ua_tui.core.errors import SettingsError, UniversalAgentError
from ua_tui.core.evidence.files import FORMATS, LARGEST_REPORT, report_format
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import (
    WrongUsage,
    add_sessions_folder,
    read_given_file,
    redactor_of,
    workspace_settings,
)
from ua_tui.tui.cli.output import complain, print_line
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE

if TYPE_CHECKING:
    from ua_tui.core.evidence.records import ReportCheck
    from ua_tui.core.settings.model import Settings

_INPUT = "-"
_HTML_BEGINS = (b"<!doctype", b"<html", b"<?xml", b"<!--")
EXAMPLES = """\
Links, quotations, figures and names are compared with what the session has read. No model is asked, nothing is written,
and nothing leaves the machine. It exits with 1 if something is not supported.

examples:
  ua-tui check SAVED_REPORTS/ai-chip-news_20261121_074232.html
  ua-tui check AGENT_RUN_WORKSPACES/session_20261121_074110/work_products/ai-chip-news.html --all
  ua-tui check draft.md --session latest
  ua-tui check draft.md --session latest --json | jq -r '.claims[]? | select(.verdict == "untraced") | .text'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ua-tui check`."""
    parser.add_argument(
        "file", metavar="FILE", help="an HTML, Markdown or text file, also compressed; - is standard input"
    )
    parser.add_argument(
        "--session",
        metavar="SESSION",
        help="the session with whose sources it is compared: its name, its folder, or latest "
        "(default: the session of the file)",
    )
    parser.add_argument("--all", action="store_true", help="list supported claims, too")
    parser.add_argument("--json", action="store_true", help="print the check as JSON, with all claims")
    add_sessions_folder(parser)


def run(args: argparse.Namespace) -> int:
    """Check a report; returns the exit code: 0, 1 if something is not supported, 2 if it cannot be checked.

    Raises:
        SettingsError: a setting is wrong, or there is no such session.
        WrongUsage: the session of standard input is missing.
    """
    if args.file == _INPUT and args.session is None:
        raise WrongUsage("standard input needs a session, such as --session latest")

    settings = workspace_settings(args)
    try:
        data, name = _read_input() if args.file == _INPUT else _read_file(args.file)
        folder, report = _session_of(args.file, name, args.session, settings)
        check, starts = _check(data, report, folder, settings)
    except SettingsError:
        raise
    except UniversalAgentError as error:
        return complain(str(error), EXIT_USAGE)
    if args.json:
        _print_json(check)
    else:
        from ua_tui.tui.cli.session.check_page import CheckPage

        for line in CheckPage.of_output().lines(check, folder.name, starts, everything=args.all):
            print_line(line)
    return EXIT_FAILED if check.unsupported else 0


def _check(data: bytes, report: str, folder: Path, settings: Settings) -> tuple[ReportCheck, Sequence[int]]:
    """Check a report; gives the check without secrets, and where each line of the report begins."""
    from ua_tui.core.knowledge.place import place_of
    from ua_tui.observers.evidence.check import check_in_session
    from ua_tui.observers.evidence.reading.document import read_report
    from ua_tui.tui.export.redaction import Redaction

    redactor = redactor_of(settings)
    check = check_in_session(data, report, folder, redactor, place_of(settings))
    source = read_report(data, report).source if check.claims else ""
    starts = [0, *(at + 1 for at, character in enumerate(source) if character == "\n")]
    return Redaction(redactor).record(check), starts


def _session_of(file: str, name: str, wanted: str | None, settings: Settings) -> tuple[Path, str]:
    """The folder of the session with whose sources it is compared, and its path in it, or only its name."""
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.history.versions import find_origin

    origin = None if file == _INPUT else find_origin(Path(os.path.abspath(file)))
    if wanted is not None:
        folder = find_session(settings.workspace_base, wanted)
        is_own = origin is not None and origin.session.resolve() == folder.resolve()
        return folder, origin.source if origin is not None and is_own else name
    if origin is None:
        raise SettingsError(f"{_shown(file)} belongs to no session: name one, such as --session latest")
    if not (origin.session / JOURNAL).is_file():
        raise SettingsError(
            f"the session of {_shown(file)} no longer exists: name another one with --session"
        )
    return origin.session, origin.source


def _read_input() -> tuple[bytes, str]:
    """Read standard input; gives it with a name for its format."""
    data = sys.stdin.buffer.read(LARGEST_REPORT + 1)
    if len(data) > LARGEST_REPORT:
        raise SettingsError(f"standard input is too large: at most {LARGEST_REPORT >> 20} MB are read")
    is_html = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].lower().startswith(_HTML_BEGINS)
    return data, "standard_input.html" if is_html else "standard_input.md"


def _read_file(path: str) -> tuple[bytes, str]:
    """Read a report, also a compressed one; gives it with its name."""
    name = inner_name(PurePath(path).name)
    if report_format(name) is None and Path(path).is_file():
        raise SettingsError(
            f"{_shown(path)} is not a report: only HTML, Markdown and text files are checked "
            f"({', '.join(sorted(FORMATS))})"
        )
    return read_given_file(path, LARGEST_REPORT), name


def _print_json(check: ReportCheck) -> None:
    import msgspec

    from ua_tui.core.text import escape_unsafe

    encoded = msgspec.json.format(msgspec.json.encode(check), indent=2)
    print_line(escape_unsafe(encoded.decode()))


def _shown(path: str) -> str:
    return clean_line(path, 300)
