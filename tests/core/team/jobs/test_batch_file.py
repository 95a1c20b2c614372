from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest

from tests.core.cases import cases_of
from ua_tui.core.errors import SettingsError
from ua_tui.core.team.jobs.batch_file import LARGEST_QUERY, BatchProblems, batch_of, read_jobs
from ua_tui.core.team.records import Job

CASES = cases_of(__file__)


def read(text: str | bytes, name: str = "-", **more: Any) -> list[Job]:
    return read_jobs(io.BytesIO(text if isinstance(text, bytes) else text.encode()), name, **more)


def problems(text: str | bytes, name: str = "-", **more: Any) -> list[str]:
    with pytest.raises(BatchProblems) as caught:
        read(text, name, **more)
    return caught.value.lines


def test_lines_json_and_csv_have_queries_and_settings() -> None:
    jobs = read("\ufeffWhat is 1?\r\n\n  # a comment\n  What is 2?  \n", "queries.txt")
    assert [(job.number, job.query) for job in jobs] == [(1, "What is 1?"), (4, "What is 2?")]
    row = '{"query": "q", "model": "m", "allow": "WebFetch, Bash(ls *)", "max_cost_usd": 2}\n'
    (job,) = read(row, rows_may_allow=True)
    assert job.settings == {"model": "m", "allow": ["WebFetch", "Bash(ls *)"], "max_cost_usd": 2.0}
    jobs = read('effort,query\nhigh,"one\ntwo"\n,three\n', "a.CSV")
    assert [(job.number, job.query, dict(job.settings)) for job in jobs] == [
        (2, "one\ntwo", {"effort": "high"}),
        (4, "three", {}),
    ]


@pytest.mark.parametrize(("text", "query"), CASES["without_an_extension_the_beginning_shows_the_format"])
def test_without_an_extension_the_beginning_shows_the_format(text: str, query: str) -> None:
    assert [job.query for job in read(text)] == [query]


@pytest.mark.parametrize(("name", "text", "found"), CASES["what_other_programs_write_is_read"])
def test_what_other_programs_write_is_read(name: str, text: str, found: list[list[Any]]) -> None:
    for data in (text.encode(), text.encode("utf-16"), text.encode("utf-8-sig")):
        rows = [[job.number, job.query, dict(job.settings), dict(job.columns)] for job in read(data, name)]
        assert rows == found


@pytest.mark.parametrize(
    ("name", "text", "words"), CASES["a_file_of_another_format_is_refused_with_the_remedy"]
)
def test_a_file_of_another_format_is_refused_with_the_remedy(name: str, text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(text, name)
    assert words in str(caught.value)
    assert "nothing was submitted" in str(caught.value)


def test_equal_rows_are_one_job_whatever_their_limit_and_a_private_one_is_another() -> None:
    one, two, three = read('{"query": "a"}\n{"query": " a "}\n{"query": "a", "model": "m"}\n')
    assert one.id == two.id != three.id
    assert (one.number, two.number) == (1, 2)
    assert len(one.id) == 32
    (one,) = read("a", defaults={"max_cost_usd": 1})
    (two,) = read("a", defaults={"max_cost_usd": 2})
    (private,) = read("a", owner="ann")
    assert one.id == two.id != private.id


def test_defaults_hold_where_a_row_says_nothing_and_rules_add_up() -> None:
    jobs = read(
        '{"query": "a", "allow": ["B"]}\n{"query": "b", "model": "y"}\n',
        defaults={"allow": ["A"], "model": "x"},
        rows_may_allow=True,
    )
    assert [dict(job.settings) for job in jobs] == [
        {"allow": ["A", "B"], "model": "x"},
        {"allow": ["A"], "model": "y"},
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        *CASES["a_row_that_is_no_query_is_named_with_its_reason"],
        ('{"query": "' + "\u00e4" * (LARGEST_QUERY // 2 + 1) + '"}', "longer than 256 KB"),
        ('{"query": ' + "[" * 100_000 + "}", "JSON"),
    ],
)
def test_a_row_that_is_no_query_is_named_with_its_reason(row: str, words: str) -> None:
    (line,) = problems(f'{{"query": "good"}}\n{row}\n{{"query": "good too"}}\n')
    assert line.startswith("line 2: ")
    assert words in line


@pytest.mark.parametrize("row", ['{"query": "\\ud800"}', '{"query": "a", "note": ["\\udc00"]}'])
def test_half_a_character_is_refused_before_anything_is_paid_for(row: str) -> None:
    for name, text in (("a.json", f"[{row}]"), ("a.jsonl", f"{row}\n")):
        (line,) = problems(text, name)
        assert line.startswith("line 1: it is not valid JSON")


@pytest.mark.parametrize(("name", "form"), [("a.txt", "{}"), ("a", "{}"), ("a.jsonl", '{{"query": "{}"}}')])
def test_a_query_of_the_first_line_may_be_long(name: str, form: str) -> None:
    query = "x" * (LARGEST_QUERY - 1)
    assert [job.query for job in read(form.format(query), name)] == [query]


@pytest.mark.parametrize(
    ("text", "words"),
    [*CASES["a_wrong_csv_is_named_with_its_reason"], ('"query\nHello\n', "line 1: it is not valid CSV")],
)
def test_a_wrong_csv_is_named_with_its_reason(text: str, words: str) -> None:
    (line,) = problems(text, "a.csv")
    assert words in line


def test_problems_are_named_up_to_twenty_also_bytes_and_a_missing_query() -> None:
    assert problems(b"good\nb\xff\nc\xff\n") == ["line 2: it is not UTF-8 text: save the file as UTF-8"]
    lines = problems("".join('{"query": ""}\n' for _ in range(30)))
    assert len(lines) == 21
    assert lines[-1] == "... and 10 more"
    with pytest.raises(SettingsError, match="has no query"):
        read("# nothing\n\n")


def test_the_same_jobs_are_the_same_batch() -> None:
    jobs = read("a\nb\n")
    first = batch_of(jobs, max_cost_usd=1)
    assert batch_of(read("a\nb\n"), max_cost_usd=2).id == first.id
    assert batch_of(read("b\na\n"), max_cost_usd=1).id != first.id


def test_many_lines_are_read_in_little_memory() -> None:
    lines = [f'{{"query": "What is the capital of country {n}?", "model": "m"}}\n' for n in range(10_000)]
    tracemalloc.start()
    assert len(read("".join(lines))) == 10_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize(
    "text",
    [
        '{"query": "a", "allow": ["WebFetch"]}',
        '{"query": "a", "allow": "WebFetch"}',
        '{"allow": {"x": 1}, "query": "a"}',
        '{"query": "a", "permission_mode": "acceptEdits"}',
        '{"query": "a", "model": "m", "permission_mode": "plan"}',
        "query,allow\na,WebFetch",
        "permission_mode,query\nacceptEdits,a",
    ],
)
def test_rows_give_no_rights_unless_the_person_says_so(text: str) -> None:
    (line,) = problems(text)
    assert "which grants permissions: use --" in line
    assert "or --rows-may-allow if you wrote the file" in line


@pytest.mark.parametrize(
    "text", ['{"query": "a", "allow": []}', '{"query": "a", "deny": "Bash"}', "query,allow\na,"]
)
def test_rows_without_rights_need_nothing(text: str) -> None:
    assert [job.query for job in read(text)] == ["a"]


def test_arrays_written_by_hand_or_by_pandas_are_read() -> None:
    text = '[\n{"query": "a", "score": NaN},\n{"query": "b"},\n]\n'
    assert [(job.number, job.query) for job in read(text, "a.json")] == [(2, "a"), (3, "b")]
    assert [job.query for job in read('[{"query": "a"}\n{"query": "b"}]', "a.json")] == ["a", "b"]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_table_has_no_query(text: str) -> None:
    with pytest.raises(SettingsError, match="has no query"):
        read(text, "a.csv")


def test_a_table_that_is_not_utf_8_has_one_problem() -> None:
    assert problems(b"query\na\nb\xff\n", "a.csv") == ["line 3: it is not UTF-8 text: save the file as UTF-8"]
