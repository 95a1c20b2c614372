from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # comes with mcp, without types
import pytest

from tests.observers.formats import closed, problems_in
from tests.paths import DOCS
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import Observer, ObserverContext
from ua_tui.observers.corpus import Corpus
from ua_tui.observers.output.saving import artifact_schemas
from ua_tui.observers.search.keys import KINDS
from ua_tui.observers.search_results import SearchResults
from ua_tui.observers.workbench_activity import WorkbenchActivity
from ua_tui.tui.cli import main

Make = Callable[..., ToolResult]
FORMATS = artifact_schemas()
ROW: dict[str, Any] = {
    "position": 1, "title": "One", "url": "https://one.example/", "source": None, "date": "2026-03-10",
    "snippet": None, "extra": {},
}  # fmt: skip
FOUND: dict[str, Any] = {
    "type": "web", "tool": "search", "query": None, "timestamp": "2026-03-10T12:00:00.000000+01:00",
    "tool_use_id": "toolu_1", "results": [ROW], "url_count": 1, "duplicates": 0, "rejected": 0,
}  # fmt: skip
PAGE = {"reader_result": {"url": "https://one.example/", "title": "One", "content": "A long text."}}


def validator(kind: str, prepared: Callable[[Any], Any] = lambda schema: schema) -> Any:
    return jsonschema.Draft202012Validator(prepared(FORMATS[kind]))


def documented_fields(heading: str) -> list[set[str]]:
    """The fields in each table of one section of the page about artifacts."""
    page = (DOCS / "artifacts.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    tables = re.split(r"^\| field \| type .*\n\|[-|]+\n", section, flags=re.MULTILINE)[1:]
    return [
        {
            name
            for cell in re.findall(r"^\| (`[^|]+) \|", table.split("\n\n")[0], flags=re.MULTILINE)
            for name in re.findall(r"`([^`]+)`", cell)
        }
        for table in tables
    ]


def test_the_documented_schema_is_the_one_of_the_program() -> None:
    shipped = (DOCS / "search_results.schema.json").read_text(encoding="utf-8")
    made = json.dumps(FORMATS["search_results"], indent=2) + "\n"
    assert shipped == made, "run: ua-tui schema search_results > docs/search_results.schema.json"


@pytest.mark.parametrize("kind", FORMATS)
def test_the_command_prints_every_schema(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out) == FORMATS[kind]


def test_the_command_takes_no_other_format(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["schema", "pictures"])
    printed = capsys.readouterr().err
    assert all(kind in printed for kind in ("journal", *FORMATS))


@pytest.mark.parametrize("kind", FORMATS)
def test_schemas_are_schemas_and_describe_what_they_are_of(kind: str) -> None:
    schema = FORMATS[kind]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["description"].endswith("skip those you do not know.")
    for part in (schema, *schema.get("$defs", {}).values()):
        assert part["additionalProperties"] is True
        assert list(part["required"]) == [name for name in part["properties"] if name in part["required"]]


def test_the_page_about_artifacts_has_every_field_and_no_other() -> None:
    search, row = documented_fields("Search results")
    assert search == set(FORMATS["search_results"]["properties"])
    assert row == set(FORMATS["search_results"]["$defs"]["ResultRow"]["properties"])
    assert documented_fields("Articles")[0] == set(FORMATS["article"]["properties"])
    upload, uploaded = documented_fields("Uploads")
    assert upload == set(FORMATS["upload"]["properties"])
    assert uploaded == set(FORMATS["upload"]["$defs"]["UploadedFile"]["properties"])
    (run,) = documented_fields("Runs in the workbench")
    parts = FORMATS["workbench_activity"]
    inner = {
        f"{name}.{field}"
        for name, part in (("input", "RunInput"), ("output", "RunOutput"))
        for field in parts["$defs"][part]["properties"]
    }
    assert run == (set(parts["properties"]) - {"input", "output"}) | inner


def test_the_example_on_the_page_about_artifacts_follows_the_schema() -> None:
    page = (DOCS / "artifacts.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    validator("search_results", closed).validate(json.loads(example))


def test_the_page_about_artifacts_has_every_kind_of_results() -> None:
    page = (DOCS / "artifacts.md").read_text(encoding="utf-8")
    (documented,) = re.findall(r"^\| `type` \| string \| (.+) \|$", page, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", documented)) == {*KINDS.values(), "error"}
    kinds = FORMATS["search_results"]["properties"]["type"]["examples"]
    assert kinds == [*dict.fromkeys(KINDS.values()), "error"]


@pytest.mark.parametrize(
    "change",
    [
        {"results": [{**ROW, "url": 7}]},
        {"results": [{key: value for key, value in ROW.items() if key != "extra"}]},
        {"results": [{**ROW, "date": "12 hours ago"}]}, {"results": [{**ROW, "duplicate": False}]},
        {"results": {}}, {"duplicates": -1}, {"truncated": "yes"}, {"tool_use_id": None},
    ],
)  # fmt: skip
def test_what_is_no_artifact_is_refused(change: dict[str, Any]) -> None:
    check = validator("search_results")
    assert check.is_valid(FOUND)
    assert not check.is_valid(FOUND | change)


@pytest.mark.parametrize("value", ["2026", "2026-03", "2026-03-10", "2026-03-10T12:00:00+01:00", None])
def test_dates_may_be_as_exact_as_they_are(value: str | None) -> None:
    assert validator("search_results").is_valid(FOUND | {"results": [{**ROW, "date": value}]})


def test_fields_and_kinds_of_later_versions_are_taken() -> None:
    later = FOUND | {"type": "recipes", "results": [{**ROW, "rating": 5}], "pages": 3}
    assert validator("search_results").is_valid(later)


def test_a_session_of_all_kinds_follows_the_schemas(context: ObserverContext, result: Make) -> None:
    many = [
        {"title": f"T{n}", "url": f"https://many.example/{n}", "snippet": "s" * 900} for n in range(1_400)
    ]
    one = {"results": [{"title": "One", "url": "https://one.example"}]}
    cut = '{"results": [{"title": "A", "url": "https://a.example"}, {"ti'
    bash, run = "COMPOSIO_REMOTE_BASH_TOOL", "COMPOSIO_REMOTE_WORKBENCH"
    bodies = (one, {"results": many}, cut, {"error": "quota exceeded", "successful": False})
    calls: list[tuple[Observer, ToolResult]] = [
        *((SearchResults(), result("a_search", body, f"{number}")) for number, body in enumerate(bodies)),
        (WorkbenchActivity(), result(bash, {"data": {"stdout": "1"}}, "5", command="ls")),
        (WorkbenchActivity(), result(run, '{"data": {"stdout": "1', "6", thought=["x"])),
        (Corpus(), result("mcp__web_reader__webReader", PAGE, "7", url="https://one.example/")),
    ]
    context.public_searches = ("a_search",)
    for observer, call in calls:
        assert observer.observe(call, context).artifacts
    assert problems_in(context.workspace) == []
    assert any(entry.name.endswith(".json.zst") for entry in context.workspace.list("search_results"))


def test_a_field_that_is_in_no_schema_is_found(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path)
    workspace.write_json("search_results/a.json", FOUND | {"results": [{**ROW, "rating": 5}]})
    assert len(problems_in(workspace)) == 1
