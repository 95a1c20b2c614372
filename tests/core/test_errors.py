"""The catalogue of advice: each entry reads well, is used, and can be filled."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from string import Formatter

import pytest

from tests.dependencies_page import EXTRAS
from ua_tui.core import errors
from ua_tui.core.errors import advice_catalogue, advice_code, advise, missing_extra, recognise

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("advice.txt")


def facts_of(code: str) -> dict[str, str]:
    """A value for each placeholder of an entry: its own name in angle brackets."""
    entry = advice_catalogue()[code]
    fields = [field for text in (entry.problem, entry.remedy) for _, field, _, _ in Formatter().parse(text)]
    return {name: f"<{name}>" for name in fields if name}


def test_the_sentences_are_those_that_were_read_and_accepted() -> None:
    """To accept changed ones, replace the file by the text that the failure shows, and read the difference."""
    shown = []
    for code in advice_catalogue():
        facts: dict[str, object] = {**facts_of(code)}
        # These are formatted as numbers.
        facts |= {name: 7 for name in ("limit", "seconds") if name in facts}
        shown.append(f"{code}\n    {advise(code, **facts).sentence}\n")
    assert "".join(shown) == GOLDEN.read_text(encoding="utf-8")


def test_every_entry_is_found_by_an_error_or_named_in_the_code() -> None:
    named = set()
    for package in ("core", "tui", "observers"):
        for file in (ROOT / package).rglob("*.py"):
            named.update(re.findall(r'"([a-z_]+(?:\.[a-z_]+)?)"', file.read_text(encoding="utf-8")))
    unused = [
        code
        for code, entry in advice_catalogue().items()
        if not (entry.codes or entry.patterns or {code, code.partition(".")[2]} & named)
    ]
    assert unused == []


def test_the_groups_of_a_pattern_are_placeholders_and_no_code_means_two_things() -> None:
    given = {
        "mcp": {"error"},
        "model": {"server", "status", "detail", "model", "models", "more", "milliseconds"},
    }
    meanings = defaultdict(list)
    for code, entry in advice_catalogue().items():
        source = code.partition(".")[0]
        for sign in entry.codes:
            meanings[source, sign].append(code)
        for pattern in entry.patterns:
            filled = set(re.compile(pattern).groupindex) | given.get(source, set())
            assert set(facts_of(code)) <= filled, code
    assert [codes for codes in meanings.values() if len(codes) > 1] == []


def test_the_longest_code_wins_and_an_unknown_error_has_no_entry() -> None:
    assert [advice_code("site", status) for status in ("404", "503", "306")] == [
        "site.no_page",
        "site.broken",
        "",
    ]
    assert advice_code("database", "SQLITE_READONLY_DBMOVED") == "database.read_only"
    # Trying each beginning of so long a code would take hours.
    assert advice_code("database", "SQLITE_READONLY_" + "A" * 5_000_000) == "database.read_only"
    assert recognise("mcp", "nobody knows this") == ("", {})


def test_braces_of_facts_are_left_alone() -> None:
    advice = advise("servers.bad_character", server="{0} of {file}")
    assert (advice.problem, advice.code) == (
        "{0} of {file} contains a character that no program accepts",
        "servers.bad_character",
    )


def test_the_command_for_a_missing_extra_keeps_the_installed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*errors.EXTRAS} == {*EXTRAS}
    for installed, missing, named in (
        ((), "team", "team"),
        (("composio", "keyring", "logfire", "textual_serve"), "documents", "standard,documents"),
        (
            ("composio", "keyring", "logfire", "textual_serve", "psycopg"),
            "documents",
            "standard,documents,team",
        ),
        (("composio", "keyring", "logfire"), "serve", "standard"),
        (("psycopg", "keyring"), "documents", "documents,keyring,team"),
    ):
        monkeypatch.setattr(errors, "find_spec", lambda name, found=installed: name in found or None)
        assert f"uv tool install -c constraints.txt '.[{named}]'" in missing_extra(missing, "it").remedy
