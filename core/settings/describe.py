"""Lists every setting with its value and its source, without secrets, and stores settings for a command.

An empty value means the default, as in the sources of settings.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings import parsers as values
from ua_tui.core.settings.folder import HeldBack
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import ENVIRONMENT, SPECS, Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.settings.saving import store_settings, stored_names
from ua_tui.core.settings.sources import (
    SourcedValue,
    ended,
    hint,
    is_empty,
    key_choices,
    winner,
    without_secrets,
)
from ua_tui.core.trust import Answer, FolderTrust, TrustDecision, TrustStore

HIDDEN = "set, not shown"


class SettingOrigin(msgspec.Struct, frozen=True):
    """One place that sets a setting: the place in words, the line of a file, and the value for display.

    `data` is the value in JSON, None if it is empty and so means the default. `held_back` is why the place has no
    effect, as a clause; empty if it has.
    """

    place: str
    line: int | None
    value: str
    data: Any = None
    held_back: str = ""


class SettingListing(msgspec.Struct, frozen=True):
    """A setting: its value for display, and every place that sets it, the winning one first, those held back last.

    Attributes:
        about: what it is for, in a sentence; `notes` has the rest.
        takes: what is allowed.
        variables: the environment's names for it.
        data: its value as JSON has it.
        without: what is meant if it has no value.
        gathered: whether it has what all of its origins give, not only what the first one gives.
    """

    name: str
    value: str
    origins: tuple[SettingOrigin, ...]
    about: str
    notes: str
    takes: str
    variables: tuple[str, ...]
    data: Any = None
    without: str = ""
    gathered: bool = False


class StoredSetting(msgspec.Struct, frozen=True):
    """Where a setting was stored; `warning` says why the stored value does not apply, if so.

    `default` is the default for display, if that was requested; `empty` is whether the file has an empty value for it.
    `changed` is whether the setting was in the file before, or is now.
    """

    path: Path
    warning: str = ""
    default: str = ""
    empty: bool = False
    changed: bool = True


def list_settings(places: Places) -> list[SettingListing]:
    """Every setting, in the order of `Settings`.

    Raises:
        SettingsError: a place cannot be read, or a value is wrong.
    """
    settings = load_settings(None, places)
    sources = places.read()
    texts = field_texts()
    listed = []
    for name, spec in SPECS.items():
        given = [layer[name] for layer in sources.layers if name in layer]
        value = getattr(settings, name)
        if name == "mcp_servers":
            # The user's own servers win over those of a folder.
            given.reverse()
            value = given
        listed.append(
            SettingListing(
                name=name,
                value=_shown(name, value),
                origins=(
                    *(_origin(name, each, places) for each in given),
                    *(_held_back(each) for each in sources.held_back if each.name == name),
                ),
                about=texts[name][0],
                notes=texts[name][1],
                takes=spec.accepts,
                variables=ENVIRONMENT.get(name, ()),
                data=_data(name, value),
                without=spec.unset,
                gathered=bool(spec.table) or spec.adds_up,
            )
        )
    return listed


def field_texts() -> dict[str, tuple[str, str]]:
    """The text below each field of `Settings`: its first paragraph and the rest, each on one line."""
    (definition,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(content))
            ) if name in SPECS:
                summary, _, notes = inspect.cleandoc(content).partition("\n\n")
                texts[name] = (" ".join(summary.split()), " ".join(notes.split()))
    return texts


def setting_of(word: str) -> str:
    """The setting that a person names, written as in a table, an option or a variable.

    Raises:
        SettingsError: there is none.
    """
    name = word.lower().lstrip("-").replace("-", "_").replace(".", "_")
    by_variable = {variable.lower(): each for each, names in ENVIRONMENT.items() for variable in names}
    for found in (name, by_variable.get(name)):
        if found in SPECS:
            return str(found)
    others = hint(name, SPECS) or ": `ua-tui config` lists them"
    raise SettingsError(ended(f"there is no setting {word!r}{others}"))


def store_setting(name: str, text: str | None, places: Places, *, in_project: bool = False) -> StoredSetting:
    """Set a setting in the user's own file or in that of the current folder; None removes it.

    An empty text restores the default: in the user's own file, the last source, the setting is removed; a folder's file
    gets an empty value, which hides that of the user's own file.

    Raises:
        SettingsError: the value is not allowed there, or the file cannot be read or written; it is unchanged then.
    """
    spec = SPECS[name]
    file = places.project_file if in_project else places.user_file
    if name not in ENVIRONMENT:
        raise SettingsError(f"{name} is a table: change it in {file} with an editor.")
    if text is not None and in_project and spec.secret:
        raise SettingsError(
            f"{name} is a secret, and a folder's file is easily shared by mistake. Omit --project to store it in "
            f"{places.user_file}, or put {ENVIRONMENT[name][-1]} into a .env that you do not share."
        )
    value = None
    if text is not None:
        places.checked(name, SourcedValue(text, "option", name, in_folder=in_project))
        if not is_empty(text):
            value = spec.parse(text)
            # A path stays as it was written, so that `~` still means the home of the person who starts the program.
            value = text.strip() if isinstance(value, (Path, Address)) else value
            value = list(value) if isinstance(value, tuple) else value
        elif in_project:
            value = ""
    before = places.folder_trust(places.folder_settings())
    # A file may have it as the key of a table.
    there = stored_names(file)
    parts = name.split("_")
    spellings = (f"{'_'.join(parts[:at])}.{'_'.join(parts[at:])}" for at in range(1, len(parts)))
    written = next((each for each in spellings if each in there), name)
    stored = StoredSetting(
        store_settings(file, {written: value}),
        default=(_shown(name, places.default(name)) or spec.unset) if is_empty(text) else "",
        empty=value == "",
        changed=written in there or value is not None,
    )
    if in_project:
        _keep_trust(before, places)
    return replace(stored, warning=_warning(name, file, places))


def _keep_trust(before: FolderTrust, places: Places) -> None:
    """Trust the user's own change of a folder's file, if nobody else's files in the folder wait for an answer."""
    now = places.folder_trust(places.folder_settings())
    if before.needs_answer or not now.needs_answer:
        return
    decisions = TrustStore(places.state)
    earlier = decisions.read(places.cwd)
    answer: Answer = "trusted" if earlier is None else earlier.answer
    texts = {} if earlier is None else earlier.texts
    try:
        decisions.store(TrustDecision(str(places.cwd), answer, dict(now.fingerprints), texts))
    except WorkspaceError as error:
        raise SettingsError(f"it is stored, but not trusted: {error}") from error


def _warning(name: str, file: Path, places: Places) -> str:
    """Why a file's setting does not apply; empty if it does."""
    try:
        sources = places.read()
        holds = winner(sources.layers, name)
        held_back = next((each for each in sources.held_back if each.name == name), None)
        if held_back is not None and held_back.given.path == file:
            return f"It has no effect: {held_back.reason}."
        if holds is not None and holds.path != file and not SPECS[name].adds_up:
            return f"{holds.origin} overrides it: remove that to use the stored value."
        load_settings(None, places)
    except SettingsError as error:
        return f"The next start from this folder will fail: {error}"
    return ""


def _held_back(each: HeldBack) -> SettingOrigin:
    """Describe a value that has no effect, which may be wrong."""
    given = each.given
    value = HIDDEN if SPECS[each.name].secret else without_secrets(str(given.value))
    return SettingOrigin(given.listed, given.line, value, value, each.reason)


def _origin(name: str, given: SourcedValue, places: Places) -> SettingOrigin:
    if is_empty(given.value):
        return SettingOrigin(given.listed, given.line, "")
    value = given.value
    if name == "keys":
        value = key_choices(value, "", given.in_folder)
    elif name == "mcp_servers":
        value = (given,)
    elif SPECS[name].parse is not values.path:
        value = places.checked(name, given)
    return SettingOrigin(given.listed, given.line, _shown(name, value) or "none", _data(name, value))


def _shown(name: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    match _data(name, value):
        case bool() as data:
            return "true" if data else "false"
        case float() as data:
            return f"{data:g}"
        case [] if name == "composio_disabled_toolkits":
            return "none"
        case dict() | list() as data:
            return ", ".join(data)
        case data:
            return str(data)


def _data(name: str, value: Any) -> Any:
    """A value in JSON, without secrets."""
    if value is None:
        return None
    match name:
        case "keys":
            return {each.action or "?": each.keys for each in value}
        case "mcp_servers":
            tables = [each.value for each in value if isinstance(each.value, Mapping)]
            return list(dict.fromkeys(server for table in tables for server in table))
    if SPECS[name].secret:
        return HIDDEN if value else None
    match value:
        case bool() | int() | float():
            return value
        case Address():
            return value.url
        case list() | tuple():
            return [without_secrets(str(each)) for each in value]
        case _:
            return without_secrets(str(value))
