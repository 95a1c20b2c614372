"""The file of a batch: queries as lines, as JSON lines or as CSV, with settings for each of them."""

from __future__ import annotations

import csv
import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
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
_LARGEST_LINE = LARGEST_QUERY + (64 << 10)
_SHOWN = 20
# A job with another limit is the same job, so that those that failed by their limit run again with a higher one.
NOT_IN_ID = ("max_cost_usd",)
_SORTED = msgspec.json.Encoder(order="sorted")
_LISTS = ("allow", "deny")

_Row = tuple[int, str, Mapping[str, Any]]


class BatchProblems(SettingsError):
    """Rows of a batch's file are wrong; `lines` say which and why, and nothing was submitted."""

    def __init__(self, name: str, problems: list[str]) -> None:
        count = len(problems)
        self.lines = [clean_line(each, 300) for each in problems[:_SHOWN]]
        if count > _SHOWN:
            self.lines.append(f"... and {count - _SHOWN:,} more")
        rows = "1 row" if count == 1 else f"{count:,} rows"
        super().__init__(
            f"{rows} of {name} cannot be used, so nothing was submitted: {'; '.join(self.lines)}"
        )
        self.summary = f"{rows} of {name} cannot be used, so nothing was submitted:"


class _Wrong(Exception):
    """What is wrong with a row."""


def read_jobs(
    file: BinaryIO,
    name: str,
    defaults: Mapping[str, Any] | None = None,
    *,
    owner: str | None = None,
    rows_may_allow: bool = False,
) -> list[Job]:
    """Read the jobs of a batch, in the order of the file; equal rows have the same id and different numbers.

    Args:
        file: the file; it is read line by line.
        name: its name; the extension says how to read it: .txt, .jsonl, .ndjson or .csv. Otherwise its beginning does.
        defaults: settings of every job; a row's own ones win, and rules add up.
        owner: the role that alone may see the jobs; another one's are other jobs then.
        rows_may_allow: whether rows may set `RIGHTS`, because the person wrote the file.

    Raises:
        BatchProblems: rows cannot be used; all of them are named.
        SettingsError: the file cannot be read, or has no query.
    """
    problems: list[str] = []
    lines = _lines(file, problems)
    seen: dict[str, Mapping[str, Any]] = {}
    base = checked_settings(defaults or {})
    jobs: list[Job] = []

    def add(number: int, query: str, given: Mapping[str, Any]) -> None:
        try:
            query = _checked_query(query)
            if not rows_may_allow and (rights := [each for each in RIGHTS if given.get(each)]):
                raise _Wrong(
                    f"a row may not set {rights[0]}, which gives rights: use --{rights[0].replace('_', '-')} for all "
                    "rows, or --rows-may-allow if you wrote the file"
                )
            settings = _settings_of(given, base, seen)
        except _Wrong as wrong:
            problems.append(f"line {number}: {wrong}")
        else:
            jobs.append(Job(id=_id_of(query, settings, owner), query=query, settings=settings, number=number))

    try:
        for number, query, given in _reader(name, lines, problems):
            add(number, query, given)
    except OSError as error:
        raise SettingsError(f"{name} cannot be read: {error.strerror or error}") from error
    if problems:
        problems.sort(key=lambda each: int(each.partition(":")[0].removeprefix("line ")))
        raise BatchProblems(name, problems)
    if not jobs:
        raise SettingsError(f"{name} has no query: write one a line")
    return jobs


def batch_of(
    jobs: Iterable[Job],
    *,
    title: str,
    max_cost_usd: float | None,
    shared: bool = True,
    owner: str | None = None,
) -> JobBatch:
    """Return the batch of these jobs; the same jobs in the same order are the same batch."""
    digest = hashlib.sha256((owner or "").encode())
    for job in jobs:
        digest.update(f"\n{job.number} {job.id}".encode())
    return JobBatch(id=digest.hexdigest()[:32], title=title, max_cost_usd=max_cost_usd, shared=shared)


def checked_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a row with their values checked, as JSON has them; empty ones are left out.

    Raises:
        SettingsError: there is no such setting, a row may not have it, or its value is wrong.
    """
    try:
        return _checked(given)
    except _Wrong as wrong:
        raise SettingsError(str(wrong)) from None


def _id_of(query: str, settings: Mapping[str, Any], owner: str | None) -> str:
    same = {name: value for name, value in settings.items() if name not in NOT_IN_ID}
    return hashlib.sha256(_SORTED.encode([query, same, owner])).hexdigest()[:32]


def _checked_query(given: Any) -> str:
    if not isinstance(given, str):
        raise _Wrong("the query is not a text")
    query = given.strip()
    if not query:
        raise _Wrong("the query is empty")
    if "\0" in query:
        raise _Wrong("the query has a NUL character, so it is not text")
    if not is_encodable(query):
        raise _Wrong("the query has half a character (a lone surrogate)")
    if len(query) > LARGEST_QUERY or len(query.encode()) > LARGEST_QUERY:
        raise _Wrong(_too_long())
    return query


def _too_long() -> str:
    return f"the query is longer than {LARGEST_QUERY >> 10} KB; put the text into a file that the session can read"


def _settings_of(
    given: Mapping[str, Any], base: Mapping[str, Any], seen: dict[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The settings of a row: most rows of a file have the same ones, which are kept once."""
    if not given:
        return base
    key = json.dumps(given, sort_keys=True, default=str)
    if key not in seen:
        own = _checked(given)
        for name in _LISTS:
            if own.get(name) and base.get(name):
                own[name] = list(dict.fromkeys((*base[name], *own[name])))
        seen[key] = {**base, **own}
    return seen[key]


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name == "ask" and isinstance(value, bool):
            # Not the rules of that name, but whether a person may be asked.
            if value:
                checked[name] = True
            continue
        if name not in ROW_SETTINGS:
            raise _Wrong(_refusal(name))
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
            raise _Wrong(f"{name} has half a character (a lone surrogate)")
        checked[name] = list(parsed) if isinstance(parsed, tuple) else parsed
    return checked


def _refusal(name: Any) -> str:
    shown = clean_line(str(name), 60)
    if name in SPECS:
        return f"a row may not set {shown}; it may set {', '.join(ROW_SETTINGS)}"
    close = difflib.get_close_matches(shown, ("query", *ROW_SETTINGS), n=1)
    hint = f"; did you mean {close[0]}?" if close else f"; a row has a query, and {', '.join(ROW_SETTINGS)}"
    return f"there is no setting {shown!r}{hint}"


def _lines(file: BinaryIO, problems: list[str]) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; those that are too long or not UTF-8 become problems."""
    number = 0
    while line := file.readline(_LARGEST_LINE):
        number += 1
        if len(line) == _LARGEST_LINE and not line.endswith(b"\n"):
            while (rest := file.readline(_LARGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            problems.append(f"line {number}: {_too_long()}")
            continue
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            problems.append(f"line {number}: it is not UTF-8 text")


def _reader(name: str, lines: Iterator[tuple[int, str]], problems: list[str]) -> Iterator[_Row]:
    ending = name.lower().rpartition(".")[2]
    by_ending: dict[str, Callable[[Iterator[tuple[int, str]], list[str]], Iterator[_Row]]] = {
        "txt": _plain_rows, "md": _plain_rows, "jsonl": _json_rows, "ndjson": _json_rows, "csv": _csv_rows,
    }  # fmt: skip
    if ending in by_ending:
        return by_ending[ending](lines, problems)
    first = next((each for each in lines if each[1].strip()), None)
    if first is None:
        return iter(())
    lines = chain((first,), lines)
    if first[1].lstrip().startswith("{"):
        return _json_rows(lines, problems)
    columns = [each.strip() for each in first[1].strip().split(",")]
    if "query" in columns and all(each in ("query", *ROW_SETTINGS) for each in columns):
        return _csv_rows(lines, problems)
    return _plain_rows(lines, problems)


def _plain_rows(lines: Iterator[tuple[int, str]], _problems: list[str]) -> Iterator[_Row]:
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, text, {}


def _json_rows(lines: Iterator[tuple[int, str]], problems: list[str]) -> Iterator[_Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            problems.append(f"line {number}: it is not valid JSON ({clean_line(str(error), 120)})")
            continue
        if not isinstance(row, dict) or "query" not in row:
            problems.append(f'line {number}: it is not an object with a query, such as {{"query": "..."}}')
            continue
        yield number, row.pop("query"), row


def _csv_rows(lines: Iterator[tuple[int, str]], problems: list[str]) -> Iterator[_Row]:
    # The number of the line that the reader has read last; those that were skipped count, too.
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for at, line in lines:  # noqa: B007
            yield line

    before = csv.field_size_limit(4 * LARGEST_QUERY)
    try:
        rows = csv.reader(texts(), strict=True)
        header = [each.strip() for each in next(rows, [])]
        if "query" not in header:
            problems.append(f"line {at or 1}: the header has no column query")
            return
        if twice := next((each for each in header if header.count(each) > 1), None):
            problems.append(f"line {at}: the header has the column {twice!r} twice")
            return
        unknown = [each for each in header if each not in ("query", *ROW_SETTINGS)]
        if unknown:
            problems.append(f"line {at}: {_refusal(unknown[0])}")
            return
        while True:
            begins = at + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                problems.append(f"line {begins}: it is not valid CSV ({error})")
                # Where the next row begins is unknown.
                return
            if not any(map(str.strip, cells)):
                continue
            if len(cells) > len(header):
                problems.append(f"line {begins}: it has {len(cells)} columns, and the header {len(header)}")
                continue
            row: dict[str, Any] = dict(zip(header, cells, strict=False))
            yield begins, row.pop("query", ""), {name: cell for name, cell in row.items() if cell.strip()}
    finally:
        csv.field_size_limit(before)
