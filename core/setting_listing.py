"""What every setting is and where that comes from, told without the secrets, and settings that are set by a command."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SettingsError
from core.setting_sources import Given, ended
from core.settings import ENVIRONMENT, SPECS, Places, Settings, load_settings
from core.user_file import SettingsFile, UserFile

__all__ = ["Listed", "Origin", "StoredSetting", "list_settings", "setting_of", "store_setting"]

HIDDEN = "set, not shown"


@dataclass(frozen=True)
class Origin:
    """One place that gives a setting: the place in words, the line of a file, and the value as it is shown."""

    place: str
    line: int | None
    value: str


@dataclass(frozen=True)
class Listed:
    """A setting as it stands: its value as it is shown, and every place that gives it, the one that holds first.

    `about` and `takes` say what it is for and what is allowed, `variables` the environment's names for it.
    A setting without origins has its default.
    """

    name: str
    value: str
    origins: tuple[Origin, ...]
    about: str
    takes: str
    variables: tuple[str, ...]


@dataclass(frozen=True)
class StoredSetting:
    """Where a setting was stored, and what makes that it does not hold; empty when it does."""

    path: Path
    warning: str = ""


def list_settings(places: Places) -> list[Listed]:
    """Every setting, in the order of `Settings`.

    Raises:
        SettingsError: a place cannot be read, or a value is wrong.
    """
    settings = load_settings(**vars(places))
    layers = places.layers()
    texts = _about()
    listed = []
    for name, spec in SPECS.items():
        given = [layer[name] for layer in layers if name in layer]
        listed.append(
            Listed(
                name=name,
                value=_shown(name, getattr(settings, name)),
                origins=tuple(_origin(name, each) for each in given),
                about=texts[name],
                takes=spec.takes,
                variables=ENVIRONMENT.get(name, ()),
            )
        )
    return listed


def setting_of(word: str) -> str:
    """The setting that somebody means, who may write it as in a table, an option or a variable.

    Raises:
        SettingsError: there is none.
    """
    name = word.lower().lstrip("-").replace("-", "_").replace(".", "_")
    by_variable = {variable.lower(): each for each, names in ENVIRONMENT.items() for variable in names}
    for found in (name, by_variable.get(name)):
        if found in SPECS:
            return str(found)
    from difflib import get_close_matches

    close = get_close_matches(name, SPECS, n=1)
    raise SettingsError(
        ended(f"There is no setting {word!r}{f'; did you mean {close[0]}?' if close else ''}")
    )


def store_setting(name: str, text: str | None, places: Places, *, in_project: bool = False) -> StoredSetting:
    """Set a setting in a file, the user's own or that of the current folder; None takes it out.

    Raises:
        SettingsError: the value is not allowed there, or the file cannot be read or written; it is as it was then.
    """
    spec = SPECS[name]
    file = SettingsFile(places.project_file) if in_project else UserFile(places.config_dir)
    if name not in ENVIRONMENT:
        raise SettingsError(f"{name} is a table: change it in {file.path} with an editor.")
    if text is not None and in_project and spec.secret:
        raise SettingsError(
            f"{name} is a secret, and a folder's file is easily passed on: leave out --project to store it in "
            f"{UserFile(places.config_dir).path}, or put {ENVIRONMENT[name][-1]} into a .env that is kept back."
        )
    value = None
    if text is not None:
        places.checked(name, Given(text, "option", name, in_folder=in_project))
        value = _as_toml(spec.parse(text), text)
    # In a file it may stand as the key of a table.
    written = next((each for each in _spellings(name) if each in _written(file)), name)
    path = file.store({written: value})
    try:
        layers = places.layers()
    except SettingsError as error:
        return StoredSetting(path, f"The next start from this folder will fail: {error}")
    holds = next((layer[name] for layer in layers if name in layer), None)
    mine = file.path if holds is not None else None
    if holds is not None and holds.path != mine:
        return StoredSetting(path, f"{holds.origin} wins over it: take it out there for this to hold.")
    return StoredSetting(path, _fails(places))


def _fails(places: Places) -> str:
    try:
        load_settings(**vars(places))
    except SettingsError as error:
        return f"The next start from this folder will fail: {error}"
    return ""


def _spellings(name: str) -> list[str]:
    parts = name.split("_")
    return [f"{'_'.join(parts[:at])}.{'_'.join(parts[at:])}" for at in range(1, len(parts))]


def _written(file: SettingsFile) -> frozenset[str]:
    return frozenset(f"{name}.{each}" for name, table in file.tables().items() for each in table)


def _as_toml(value: Any, text: str) -> Any:
    if isinstance(value, tuple):
        return list(value)
    # A path stays as it was written, so that `~` goes on to mean the home of whoever starts.
    return text.strip() if isinstance(value, Path) else value


def _origin(name: str, given: Given) -> Origin:
    match given.place:
        case "option":
            place = "command line"
        case "environment":
            place = f"environment, {given.name}"
        case ".env":
            place = f"{given.path}, {given.name}"
        case _:
            place = str(given.path)
    return Origin(place, given.line, _shown(name, given.value))


def _shown(name: str, value: Any) -> str:
    if value is None or value in ("", ()):
        return ""
    if name not in ENVIRONMENT:
        return f"{len(value)} of them"
    if SPECS[name].secret:
        return HIDDEN
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case list() | tuple():
            return ", ".join(str(each) for each in value)
        case _:
            return str(value)


def _about() -> dict[str, str]:
    """What `Settings` says of each of its fields, in the text below it."""
    (defined,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(defined, ast.ClassDef)
    about = {}
    for field, text in zip(defined.body, defined.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                about[name] = inspect.cleandoc(said)
            case _:
                pass
    return about
