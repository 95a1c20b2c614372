"""The file with the JSON Schema that answers have to fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ua_tui.core.agent.output_schema import read_output_schema
from ua_tui.core.errors import SettingsError


def test_a_schema_is_given_to_the_agent_without_its_dialect(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"$schema": "https://json-schema.org/draft/2020-12/schema", "required": ["a"]}')
    assert read_output_schema(path) == {"type": "object", "required": ["a"]}


def test_a_file_that_is_no_schema_is_refused_with_the_reason(tmp_path: Path) -> None:
    for text, problem in (
        (None, "cannot be read: No such file"),
        ("{", "is not valid JSON"),
        ("[" * 50_000, "is not valid JSON"),
        ('{"type": "array"}', "must describe an object"),
        ("[]", "must describe an object"),
        ('{"properties": {"a": {"type": "nonsense"}}}', r"not a valid JSON Schema: \$\.properties\.a\.type"),
        ('{"title": "%s"}' % ("x" * 100_000), "larger than 100 KB"),
    ):  # fmt: skip
        path = tmp_path / "schema.json"
        if text is not None:
            path.write_text(text)
        with pytest.raises(SettingsError, match=problem):
            read_output_schema(path)
    path.write_bytes(b'{"title": "\xe0"}')
    with pytest.raises(SettingsError, match="it is not UTF-8 text"):
        read_output_schema(path)
