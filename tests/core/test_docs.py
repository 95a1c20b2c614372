from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import stale_pages
from ua_tui.core.events.codec import EVENT_TYPES
from ua_tui.core.events.types import McpServer, Usage
from ua_tui.core.observation import AnyObservation, ImageContent, Observation, TextContent
from ua_tui.core.settings.model import ENVIRONMENT, SPECS
from ua_tui.core.storage.large_results import INLINE_LIMIT

ROOT = Path(__file__).parents[2]
JOURNAL = (ROOT / "docs" / "journal.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^#{2,3} (.+)$", text, flags=re.MULTILINE)
    return {title.strip("` "): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(section: str) -> set[str]:
    return set(re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE))


def test_the_journal_page_has_every_event_field_and_limit_and_no_other() -> None:
    named = {title for title in sections(JOURNAL) if re.fullmatch(r"[a-z]+(_[a-z]+)+", title)}
    assert named == {str(kind.__struct_config__.tag) for kind in EVENT_TYPES}
    found = {title: rows(section) for title, section in sections(JOURNAL).items()}
    parts = {part.__name__: set(part.__struct_fields__) for part in (Usage, McpServer)}
    events = {
        str(kind.__struct_config__.tag): {*kind.__struct_fields__} - {"seq", "at", "place"}
        for kind in EVENT_TYPES
    }
    assert {name: found[name] for name in parts | events} == parts | events
    section = sections(JOURNAL)["Blocks"]
    for block in (TextContent, ImageContent):
        (row,) = re.findall(rf"^\| `{block.__struct_config__.tag}` \| (.+)$", section, flags=re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) == set(block.__struct_fields__)
    assert f"more than {INLINE_LIMIT >> 10} KiB" in sections(JOURNAL)["Large results"]


def test_the_journal_page_has_every_kind_and_field_of_an_observation() -> None:
    section = sections(JOURNAL)["Observation"]
    kinds = {str(kind.__struct_config__.tag): kind for kind in AnyObservation.__args__}
    assert rows(section) == {"kind", *Observation.__struct_fields__, *kinds}
    for name, kind in kinds.items():
        (row,) = re.findall(rf"^\| `{name}` \| (.+)$", section, flags=re.MULTILINE)
        base = re.search(r"also an? `(\w+)`", row)
        inherited = kinds[base[1]] if base else Observation
        added = set(kind.__struct_fields__) - set(inherited.__struct_fields__)
        assert set(re.findall(r"`(\w+)` \(", row)) == added, name


def test_the_generated_parts_of_the_pages_are_up_to_date() -> None:
    assert [page.name for page in stale_pages()] == [], "run `python -m tests.docs`"


def test_the_configuration_page_has_every_setting_with_its_environment_variables() -> None:
    table = sections((ROOT / "docs" / "configuration.md").read_text(encoding="utf-8"))["Settings"]
    assert rows(table) == set(SPECS)
    for name, variables in ENVIRONMENT.items():
        (row,) = re.findall(rf"^\| `{name}` \|([^|]+)\|", table, flags=re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == list(variables)


def test_the_architecture_page_names_only_what_there_is() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:core|observers|styles|tests|tui|ua_tui)/[\w./]*)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert len(text.splitlines()) <= 150


def test_the_page_about_the_design_names_the_tests_that_there_are() -> None:
    text = (ROOT / "docs" / "design-coverage.md").read_text(encoding="utf-8")
    table = [re.split(r" \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")]
    for statement, state, *tests in [row for row in table if row[0] != "statement"]:
        assert re.match(r"(holds|(departs|does not hold): \w)", state), statement
        assert tests, statement
        for path, name in re.findall(r"`([^`]+)::(\w+)`", " ".join(tests)):
            assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_documents_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if anchor:
            titles = sections(found.read_text(encoding="utf-8"))
            assert anchor in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}, target
