"""Reads the places of settings into layers: the command line, variables, `.env` and TOML files.

A layer has the unchecked values of one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.model import ENVIRONMENT, SPECS
from ua_tui.core.settings.sources import (
    Layer,
    SourcedValue,
    bindings,
    ended,
    flat,
    hint,
    load_toml,
    read_text,
    read_toml_text,
    with_plain_breaks,
)

_OPTIONS = {"workspace_base": "--workspace", "extra_tools": "--tool", "max_cost_usd": "--max-cost"}
"""Options whose names differ from those of their settings."""


_VARIABLES = [each for names in ENVIRONMENT.values() for each in names]


def from_overrides(overrides: Mapping[str, Any], *, by_name: bool = False) -> Layer:
    """Read settings given by name, as on the command line; None means not given.

    Messages name them as options, or by their names with `by_name`.

    Raises:
        SettingsError: there is no setting of a name.
    """
    for name in overrides:
        if name not in SPECS:
            raise SettingsError(ended(f"there is no setting {name!r}{hint(name, SPECS)}"))
    return {
        name: SourcedValue(
            value, "option", name if by_name else _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        )
        for name, value in overrides.items()
        if value is not None
    }


def from_variables(variables: Mapping[str, str]) -> Layer:
    """Read settings from the environment.

    Raises:
        SettingsError: a variable begins with UA_ but is not known.
    """
    _refuse_unknown(variables, "environment variable", "")
    return {
        name: SourcedValue(variables[variable], "environment", variable)
        for name, variable in _set_by(variables)
    }


def from_dotenv(path: Path) -> Layer:
    """Read settings from a `.env` file, which may also be meant for other programs.

    Raises:
        SettingsError: it cannot be read, or a line that sets one of our variables cannot.
    """
    content = with_plain_breaks(read_text(path))
    if content is None:
        return {}
    variables: dict[str, str] = {}
    for name, value, number, text in bindings(content):
        if name is not None:
            variables[name] = value
            continue
        # Lines for other programs may be anything; a broken line with one of our variables is an error.
        if (ours := next((each for each in _VARIABLES if each in text), None)) is not None:
            raise SettingsError(
                f"line {number} of {path} sets {ours} but cannot be read: write NAME=value, with quotes closed."
            )
    _refuse_unknown(variables, "variable", f" of {path}")
    return {
        name: SourcedValue(variables[variable], ".env", variable, path, content, in_folder=True)
        for name, variable in _set_by(variables)
    }


def from_toml(path: Path, *, in_folder: bool) -> Layer:
    """Read settings from a TOML file; `mode` in a table `[composio]` is the setting `composio_mode`.

    Raises:
        SettingsError: it cannot be read, is not valid TOML, or has a name that is not a setting.
    """
    content = with_plain_breaks(read_toml_text(path))
    if content is None:
        return {}
    layer: Layer = {}
    for written, value in flat(load_toml(content, path), tuple(SPECS)):
        given = SourcedValue(value, "file", written, path, content, in_folder)
        name = written.replace(".", "_")
        if name not in SPECS:
            raise SettingsError(
                ended(f"there is no setting {written!r}, which {given.file} sets{hint(name, SPECS)}")
            )
        if name in layer:
            raise SettingsError(
                f"{layer[name].origin} and {given.origin} are the same setting: remove one of them."
            )
        layer[name] = given
    return layer


def _refuse_unknown(variables: Iterable[str], what: str, where: str) -> None:
    for variable in variables:
        if variable.startswith("UA_") and variable not in _VARIABLES:
            raise SettingsError(
                ended(f"there is no setting for the {what} {variable}{where}{hint(variable, _VARIABLES)}")
            )


def _set_by(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each setting that variables set, with the first of its names that is set."""
    for name, candidates in ENVIRONMENT.items():
        if (variable := next((each for each in candidates if each in variables), None)) is not None:
            yield name, variable
