"""The file of a batch: queries as lines, as JSON or as a table, with settings and custom columns for each."""

from __future__ import annotations

import codecs
import csv
import difflib
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, BinaryIO

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.model import SPECS
from ua_tui.core.settings.sources import is_empty
from ua_tui.core.team.records import Job, JobBatch
from ua_tui.core.text import clean_line, is_encodable

ROW_SETTINGS = (
    "model", "simple_model", "fallback_model", "effort", "classifier", "allow", "deny", "permission_mode",
    "max_cost_usd", "max_turns", "demo", "demo_pace",
)  # fmt: skip
"""The settings that a row may have: those that decide neither where data goes nor what else runs on a worker."""
RIGHTS = ("allow", "permission_mode")
"""Those of them that let a session do more."""
LARGEST_QUERY = 256 << 10
"""The most bytes of a query, in UTF-8."""
_LARGEST = 256 << 20
_SHOWN = 20
# A job with another limit is the same job, so that those that failed by their limit run again with a higher one.
NOT_IN_ID = ("max_cost_usd",)
_SORTED = msgspec.json.Encoder(order="sorted")
_LISTS = ("allow", "deny")
_PLAIN = ("txt", "md")
_JSON = ("json", "jsonl", "ndjson")
_TABLES = ("csv", "tsv")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ARCHIVE = b"PK\x03\x04"
_BLANK = re.compile(r"[\s,]*")

_Problems = list[tuple[int, str]]
"""Numbers of lines, and what is wrong with each."""


class BatchProblems(SettingsError):
    """Rows of a batch's file are wrong; `lines` say which and why, and nothing was submitted."""

    def __init__(self, name: str, problems: _Problems) -> None:
        count = len(problems)
        problems.sort(key=itemgetter(0))
        self.lines = [clean_line(f"line {number}: {what}", 300) for number, what in problems[:_SHOWN]]
        if count > _SHOWN:
            self.lines.append(f"... and {count - _SHOWN:,} more")
        rows = "1 row" if count == 1 else f"{count:,} rows"
        self.summary = f"{rows} of {name} cannot be used, so nothing was submitted:"
        super().__init__(f"{self.summary} {'; '.join(self.lines)}")


class _Wrong(SettingsError):
    """What is wrong with a row."""


def read_jobs(
    file: BinaryIO,
    name: str,
    defaults: Mapping[str, Any] | None = None,
    *,
    owner: str | None = None,
    run: tuple[str, int] = ("", 1),
    rows_may_allow: bool = False,
) -> list[Job]:
    """Read the jobs of a batch, in the order of the file; equal rows have the same id and different numbers.

    Args:
        file: the file.
        name: its name; the ending says how to read it: .json, .jsonl, .ndjson, .csv or .tsv. Otherwise its first line
            does.
        defaults: settings of every job; a row's own ones win, and rules add up.
        owner: the role that alone may see the jobs; another one's are other jobs then.
        run: the name of the batch and its run; the jobs of a later run are others, so that the same queries run again.
        rows_may_allow: whether rows may set `RIGHTS`, because the person wrote the file.

    Raises:
        BatchProblems: rows cannot be used; all of them are named.
        SettingsError: the file looks like one of another format, or has no query.
        OSError: the file cannot be read.
    """
    problems: _Problems = []
    base = checked_settings(defaults or {})
    jobs: list[Job] = []
    try:
        for number, given in _reader(name, _text(file, problems), problems):
            try:
                query = _taken_query(given)
                if not rows_may_allow and (rights := [each for each in RIGHTS if given.get(each)]):
                    raise _Wrong(
                        f"a row may not set {rights[0]}, which grants permissions: use "
                        f"--{rights[0].replace('_', '-')} for all rows, or --rows-may-allow if you wrote the file"
                    )
                own = {key: given[key] for key in given if key not in SPECS and not _refusal(key)}
                settings = _settings_of({key: given[key] for key in given if key not in own}, base)
            except _Wrong as wrong:
                problems.append((number, str(wrong)))
            else:
                id_ = job_id(query, settings, owner, run)
                jobs.append(Job(id=id_, query=query, settings=settings, number=number, columns=own))
    except SettingsError as error:
        raise SettingsError(f"{name} cannot be used, so nothing was submitted: {error}") from error
    if problems:
        raise BatchProblems(name, problems)
    if not jobs:
        raise SettingsError(f"{name} has no query: write one query on each line")
    return jobs


def batch_of(
    jobs: Iterable[Job],
    *,
    max_cost_usd: float | None,
    owner: str | None = None,
    run: tuple[str, int] = ("", 1),
) -> JobBatch:
    """Return the batch of these jobs; the same jobs in the same order are the same batch of that name.

    With an `owner` it is private, as its jobs are.
    """
    digest = hashlib.sha256(f"{owner or ''}\n{run[0]}".encode())
    for job in jobs:
        digest.update(f"\n{job.number} {job.id}".encode())
    id_, (name, number) = digest.hexdigest()[:32], run
    return JobBatch(id=id_, name=name, run=number, max_cost_usd=max_cost_usd, shared=owner is None)


def job_id(query: str, settings: Mapping[str, Any], owner: str | None, run: tuple[str, int]) -> str:
    """The id of a job: the same query with the same settings is the same job, in each run of a name."""
    same = {name: value for name, value in settings.items() if name not in NOT_IN_ID}
    content = [query, same, owner, *(run if run[1] > 1 else ())]
    return hashlib.sha256(_SORTED.encode(content)).hexdigest()[:32]


def _taken_query(row: Any) -> str:
    """The query of a row, in which the settings and columns are left."""
    named = {name.lower(): name for name in row if isinstance(name, str)} if isinstance(row, dict) else {}
    if "query" not in named:
        raise _Wrong('it is not an object with a query, such as {"query": "..."}')
    given = row.pop(named["query"])
    if not isinstance(given, str):
        raise _Wrong("the query is not text")
    query = given.strip()
    if not query:
        raise _Wrong("the query is empty")
    if "\0" in query:
        raise _Wrong("the query has a NUL character, so it is not text: save the file as UTF-8")
    if len(query) > LARGEST_QUERY or len(query.encode()) > LARGEST_QUERY:
        raise _Wrong(
            f"the query is longer than {LARGEST_QUERY >> 10} KB; put the text into a file that the session can read"
        )
    return query


def _settings_of(given: Mapping[str, Any], base: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a row; those of a row without its own are kept once."""
    if not given:
        return base
    own = checked_settings(given)
    for name in _LISTS:
        if own.get(name) and base.get(name):
            own[name] = list(dict.fromkeys((*base[name], *own[name])))
    return {**base, **own}


def checked_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a row with their values checked, as JSON has them; empty ones are left out.

    Raises:
        SettingsError: there is no such setting, a row may not have it, or its value is wrong.
    """
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name == "ask" and isinstance(value, bool):
            # Not the rules of that name, but whether a person may be asked.
            if value:
                checked[name] = True
            continue
        if name not in ROW_SETTINGS:
            raise _Wrong(_refusal(name) or f"there is no setting {clean_line(str(name), 60)!r}")
        if value is None or is_empty(value):
            continue
        try:
            parsed = SPECS[name].parse(value)
        except ValueError as error:
            raise _Wrong(f"{name} must be {error}") from None
        if name == "permission_mode" and parsed == "bypassPermissions":
            raise _Wrong(
                "permission_mode may not be bypassPermissions in a batch: allow what it needs instead"
            )
        if isinstance(parsed, str) and not is_encodable(parsed):
            raise _Wrong(f"{name} is not valid Unicode: it has a lone surrogate")
        checked[name] = list(parsed) if isinstance(parsed, tuple) else parsed
    return checked


@lru_cache(1000)
def _refusal(name: str) -> str:
    """Why a row may not have a setting; empty if it is none, so that it is a column of the person's own."""
    shown, own = clean_line(name, 60), "rename the column if it is your own"
    if name in SPECS:
        return f"a row may not set {shown}, but only {', '.join(ROW_SETTINGS)}; {own}"
    close = difflib.get_close_matches(shown.lower(), ("query", *ROW_SETTINGS), n=1, cutoff=0.8)
    return f"there is no setting {shown!r}; did you mean {close[0]}? Otherwise {own}" if close else ""


def _text(file: BinaryIO, problems: _Problems) -> str:
    """The content of the file; empty with a problem if it is not UTF-8, which all but UTF-16 has to be."""
    data = file.read(_LARGEST + 1).removeprefix(codecs.BOM_UTF8)
    if data.startswith(_ARCHIVE):
        raise SettingsError("it is a spreadsheet or an archive: save it as CSV, in UTF-8")
    if len(data) > _LARGEST:
        raise SettingsError(f"it is larger than {_LARGEST >> 20} MB: split it into several files")
    try:
        text = data.decode("utf-16", "replace") if data.startswith(_UTF_16) else data.decode()
        # As some programs on a Mac end lines.
        return text if "\n" in text else text.replace("\r", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        problems.append((number, "it is not UTF-8 text: save the file as UTF-8"))
        return ""


def _reader(name: str, text: str, problems: _Problems) -> Iterator[tuple[int, Any]]:
    """Read the rows as the ending of the name says, and a plain text or any other file as the first line looks."""
    ending = name.lower().rpartition(".")[2]
    lines: Iterator[tuple[int, str]] = enumerate(io.StringIO(text, newline="\n"), 1)
    number, first = next((each for each in lines if each[1].strip()), (0, ""))
    if not number:
        return iter(())
    lines = chain([(number, first)], lines)
    is_json = first.lstrip().startswith(("{", "[{", '["')) or first.strip() == "["
    # In a plain text the word alone is a query.
    delimiter = "" if ending in _PLAIN and first.strip().lower() == "query" else _delimiter(first)
    if ending in _TABLES or (ending not in _JSON and delimiter):
        return _table_rows(number, (line for _, line in lines), problems, delimiter or ",")
    if ending in _JSON or is_json:
        return _json_rows(text, problems)
    if "\t" in first.strip():
        raise SettingsError(
            f"line {number} has tabs, like a table. Rename the file to .tsv if that is its format, or change line "
            f"{number} if each line is a query; a table needs a column query"
        )
    stripped = ((number, line.strip()) for number, line in lines)
    return ((number, {"query": text}) for number, text in stripped if text and not text.startswith("#"))


def _delimiter(header: str) -> str:
    """What separates the columns of a header that has a column query; empty if it is no such header."""
    for delimiter in (",", ";", "\t"):
        # A long query, say, is no header.
        with suppress(csv.Error):
            cells = next(csv.reader([header.strip("\r\n")], delimiter=delimiter), [])
            if any(cell.strip().lower() == "query" for cell in cells):
                return delimiter
    return ""


def _json_rows(text: str, problems: _Problems) -> Iterator[tuple[int, Any]]:
    """The rows of an array, or one after the other, however their lines are broken, with the lines where they begin.

    People write some by hand, and other programs have numbers that JSON lacks: commas too many and NaN are no fault.
    """
    decoder, is_array = json.JSONDecoder(), text.lstrip().startswith("[")
    begin, number, counted = text.index("[") + 1 if is_array else 0, 1, 0
    while True:
        begin = _BLANK.match(text, begin).end()  # type: ignore[union-attr]
        number, counted = number + text.count("\n", counted, begin), begin
        first = text[begin : begin + 1]
        if (first == "]" and not text[begin + 1 :].strip()) if is_array else not first:
            return
        try:
            row, begin = decoder.raw_decode(text, begin)
            # Half a character, which an escape can be, is no text.
            json.dumps(row, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            problems.append((number, f"it is not valid JSON ({clean_line(str(error), 120)})"))
            begin = text.find("\n", begin)
            if is_array or begin < 0:
                return
        else:
            yield number, row


def _table_rows(
    first: int, lines: Iterator[str], problems: _Problems, delimiter: str
) -> Iterator[tuple[int, Any]]:
    """The rows of a table whose header is in that line of the file."""
    begins = first
    before = csv.field_size_limit(4 * LARGEST_QUERY)
    try:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        header = [_column(each) for each in next(rows, [])]
        if problem := _problem_of(header):
            problems.append((first, problem))
            return
        begins = first + rows.line_num
        for cells in rows:
            if any(map(str.strip, cells[len(header) :])):
                problems.append((begins, f"it has {len(cells)} columns, but the header has {len(header)}"))
            elif any(map(str.strip, cells)):
                named = zip(header, cells, strict=False)
                yield begins, {"query": "", **{name: cell for name, cell in named if name}}
            begins = first + rows.line_num
    except csv.Error as error:
        # Where the next row begins is unknown.
        problems.append((begins, f"it is not valid CSV ({error})"))
    finally:
        csv.field_size_limit(before)


def _problem_of(header: list[str]) -> str:
    if "query" not in header:
        return (
            f"the header has no column query, but {clean_line(', '.join(header), 100)}: name the column query"
        )
    if twice := next((each for each in header if each and header.count(each) > 1), None):
        return f"the header has the column {twice!r} twice"
    return next(filter(None, map(_refusal, set(header) - {"query", *ROW_SETTINGS})), "")


def _column(cell: str) -> str:
    """The name of a column: those that mean something are found whatever their case."""
    name = cell.strip()
    return name.lower() if name.lower() in ("query", *ROW_SETTINGS) else name
