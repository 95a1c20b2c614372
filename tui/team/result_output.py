"""Where the results of a batch go: standard output, and a file of JSON lines, a CSV file or a folder of reports."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.events.units import duration, money, quantity
from ua_tui.core.storage.csv_text import csv_text, spreadsheet_cell
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.team.jobs.results_file import FIELDS, ResultsFile, fields_of, json_line, own_columns
from ua_tui.core.team.records import OVER, Job, JobResult
from ua_tui.core.text import clean, clean_line

LINES = (".jsonl", ".ndjson")
"""The endings of a file of JSON lines, by which a batch of this machine knows what is done."""
_INDEX = "index.md"
_TITLE = "# Results of "


class CsvFile:
    """A CSV file, in UTF-8 with commas.

    Raises:
        SettingsError: there is a file of that name that has no results.
    """

    def __init__(self, path: Path, jobs: Iterable[Job]) -> None:
        self._root, self._name = Root(path.parent, create=True), path.name
        own = dict.fromkeys(name for job in jobs for name in own_columns(job))
        self._columns = [*FIELDS[:2], *own, *FIELDS[2:]]
        if self._root.exists(self._name):
            text = self._root.read(self._name, csv.field_size_limit()).decode("utf-8", "replace")
            # A column of the row's own may have line breaks in its name.
            if not {"query", "state", "answer"} <= set(next(csv.reader(io.StringIO(text, newline="")), [])):
                raise SettingsError(
                    f"{clean_line(str(path), 300)} has no results of a batch: name another file"
                )

    def add(self, fields: Mapping[str, Any]) -> None:
        """Append a row."""
        text = csv_text([self._cells(fields)])
        self._root.append_lines(self._name, text.removesuffix("\n").encode().split(b"\n"))

    def rewrite(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the header and these rows."""
        self._root.write(
            self._name, csv_text([map(spreadsheet_cell, self._columns), *map(self._cells, rows)]).encode()
        )

    def _cells(self, fields: Mapping[str, Any]) -> list[str | int | float]:
        return [spreadsheet_cell(fields.get(name)) for name in self._columns]


class ReportFolder:
    """A folder with a Markdown file for each row, and a list of them.

    Raises:
        SettingsError: the folder has other files.
    """

    def __init__(self, path: Path, title: str) -> None:
        self._root, self._title = Root(path, create=True), f"{_TITLE}{clean_line(title, 200)}"
        if self._root.list():
            begins = ""
            with suppress(WorkspaceError):
                begins = self._root.read(_INDEX, len(_TITLE)).decode("utf-8", "replace")
            if begins != _TITLE:
                raise SettingsError(
                    f"the folder {clean_line(str(path), 300)} has other files: name another one"
                )

    def add(self, fields: Mapping[str, Any]) -> None:
        """Write the report of a row, and add it to the list."""
        self._write(fields)
        self._root.append_lines(_INDEX, [_entry(fields).encode()])

    def rewrite(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the reports of all rows, and the list."""
        for fields in rows:
            self._write(fields)
        lines = [self._title, "", "| row | query | state | cost |", "|---|---|---|---|", *map(_entry, rows)]
        self._root.write(_INDEX, ("\n".join(lines) + "\n").encode())

    def _write(self, fields: Mapping[str, Any]) -> None:
        facts = [
            f"{name}: {clean_line(str(spreadsheet_cell(value)), 500)}"
            for name, value in fields.items()
            if name not in ("query", "answer", "error", "number", "job") and value not in (None, "", [])
        ]
        body = _body(str(fields["state"]), str(fields["answer"]), str(fields["error"]))
        text = f"# {clean_line(str(fields['query']), 500)}\n\n{body}\n\n---\n\n" + "\n".join(
            f"- {each}" for each in facts
        )
        self._root.write(_file_of(fields), (text + "\n").encode())


Target = CsvFile | ReportFolder
"""Where results go for people and other programs; nothing is read from it."""


def _file_of(fields: Mapping[str, Any]) -> str:
    return f"{fields['number']:04d}-{safe_name(str(fields['query']), 50).strip('.')}.md"


def _entry(fields: Mapping[str, Any]) -> str:
    query = clean_line(str(fields["query"]), 120).translate({ord(each): f"\\{each}" for each in "|[]<`\\"})
    cost = money(fields["cost_usd"])
    return f"| {fields['number']} | [{query}]({_file_of(fields)}) | {fields['state']} | {cost} |"


def target_of(path: Path, jobs: Sequence[Job], title: str) -> Target | None:
    """The target that the ending of a path names; None for JSON lines.

    Raises:
        SettingsError: the ending means nothing here, or something else is there.
    """
    ending = path.suffix.lower()
    if ending in LINES:
        return None
    if ending == ".csv":
        return CsvFile(path, jobs)
    if ending and not path.is_dir():
        raise SettingsError(
            f"--output {clean_line(str(path), 300)}: results are written as .jsonl, as .csv, or to a folder"
        )
    return ReportFolder(path, title)


@dataclass(eq=False)
class ResultOutput:
    """Gives the results of a batch out as they come, and all in the order of the file at the end.

    Args:
        jobs: the rows of the file.
        as_json: write a line of JSON for each row as it is over, instead of texts at the end.
        write: writes to standard output.
        target: a file or folder for people and other programs.

    `rows` are those of each job, `results` has the jobs that are over, and `file` is the file of JSON lines, if there
    is one. `since` is when the command began, in seconds since the epoch by the clock of the results: those that are
    older came before it.
    """

    jobs: Sequence[Job]
    _: KW_ONLY
    as_json: bool
    write: Callable[[str], None]
    target: Target | None = None
    file: ResultsFile | None = None
    results: dict[str, JobResult] = field(default_factory=dict, init=False)
    since: float = field(default_factory=time.time, init=False)
    rows: dict[str, list[Job]] = field(default_factory=dict, init=False)
    _shown: set[str] = field(default_factory=set, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        for job in self.jobs:
            self.rows.setdefault(job.id, []).append(job)

    def show(self, result: JobResult) -> None:
        """Give out a job that is over, once."""
        job_id = result.job.id
        self.results[job_id] = result
        if job_id in self._shown or job_id not in self.rows:
            return
        if self.file is not None and result.attempt:
            known = self.file.known.get(job_id)
            if known is None or (known.attempt, known.state) != (result.attempt, result.state):
                self.file.add(result)
        if not self._shown and self.target is not None:
            self.target.rewrite([])
        self._shown.add(job_id)
        for row in self.rows[job_id]:
            fields = fields_of(result, row, since=self.since)
            if self.as_json:
                self.write(json_line(fields))
            if self.target is not None:
                self.target.add(fields)

    @property
    def left(self) -> int:
        """How many jobs have no result."""
        return len(self.rows.keys() - self.results.keys())

    def finish(self) -> None:
        """Write all results that there are in the order of the file."""
        found = [(job, self.results[job.id]) for job in self.jobs if job.id in self.results]
        for job, result in found:
            self.show(result)
            if not self.as_json:
                self.write(result_text(result, job.number))
        if self.file is not None:
            self.file.rewrite(self.jobs, self.results)
        # A run without a result leaves what others wrote.
        if self.target is not None and found:
            self.target.rewrite([fields_of(result, job, since=self.since) for job, result in found])

    def summary(self, where: str) -> str:
        """What came of the batch, in a line: how many ended how, since when, time, cost, and where the files are."""
        results = self.results
        states = [result.state for result in results.values()]
        parts = [
            ", ".join(f"{states.count(state):,} {state}" for state in OVER if state in states)
            or "nothing done"
        ]
        ends = [result.finished for result in results.values() if result.finished is not None]
        ages = [self.since - end for end in ends if end < self.since]
        if ages:
            earlier = "all" if len(ages) == len(results) else f"{len(ages):,}"
            parts.append(f"{earlier} already done by an earlier run, the oldest {duration(max(ages))} ago")
        parts.append(f"took {duration(time.monotonic() - self._began)}")
        costs = [each.cost_usd for each in results.values() if each.cost_usd is not None]
        if costs:
            parts.append(f"cost {money(sum(costs))}, {money(sum(costs) / len(costs))} a query")
        unknown = sum(bool(each.unknown) for each in results.values())
        if unknown:
            parts.append(f"{quantity(unknown, 'query', 'queries')} with actions of unknown outcome")
        return "; ".join(filter(None, [*parts, where]))


def result_text(result: JobResult, number: int) -> str:
    """A result for a person: the query, and its answer or why there is none."""
    head = f"{number}. {clean_line(result.job.query, 200)}"
    return f"{head}\n\n{_body(result.state, result.answer, result.error)}\n"


def _body(state: str, answer: str, error: str) -> str:
    if state == "done":
        return clean(answer).strip() or "(no answer)"
    return f"({state}{': ' + clean_line(error, 500) if error else ''})"
