"""Reads the JSON Schema that the answer of a query has to fit."""

from __future__ import annotations

import json
from pathlib import Path

from ua_tui.core.agent.bounds import LONGEST_PROMPT
from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import JsonObject
from ua_tui.core.text import clean_line

NOT_FITTING = "the answer does not fit the output schema"
"""The beginning of the error of a query without such an answer."""
REFUSED_SCHEMA = "--json-schema is not a valid JSON Schema"
"""What the agent says of a schema with keywords that it does not know, when it is started."""
# The agent gets it as an argument of its command line.


def read_output_schema(path: Path) -> JsonObject:
    """Read a schema from a file.

    Raises:
        SettingsError: the file cannot be read, or has no JSON Schema of an object.
    """
    where = f"the output schema {clean_line(str(path), 300)}"
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_PROMPT + 1)
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}") from error
    if len(data) > LONGEST_PROMPT:
        raise SettingsError(f"{where} is larger than {LONGEST_PROMPT // 1000} KB: use a shorter one")
    try:
        schema = json.loads(data)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{where} is not valid JSON: it is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{where} is not valid JSON: {clean_line(str(error), 200)}") from error
    return checked_schema(schema, where)


def checked_schema(schema: object, where: str) -> JsonObject:
    """Return a schema in the form for the agent; `where` begins the message of an error.

    Raises:
        SettingsError: it is no JSON Schema of an object.
    """
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise SettingsError(f'{where} must describe an object: {{"type": "object", "properties": ...}}')
    # Only needed with a schema, and slow to import.
    from jsonschema import SchemaError  # type: ignore[import-untyped]  # it has no type information
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # likewise

    try:
        validator_for(schema).check_schema(schema)
    except RecursionError as error:
        raise SettingsError(f"{where} is not a valid JSON Schema: it is nested too deeply") from error
    except SchemaError as error:
        problem = clean_line(f"{error.json_path}: {error.message}", 300)
        raise SettingsError(f"{where} is not a valid JSON Schema: {problem}") from error
    # The agent refuses schemas that name a dialect.
    return {"type": "object"} | {name: each for name, each in schema.items() if name != "$schema"}
