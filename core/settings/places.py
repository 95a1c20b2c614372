"""The places of settings, each read once: options, environment, the files of the folder, the user's own file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.errors import SettingsError
from ua_tui.core.settings.folder import (
    PROJECT_FILE,
    FolderSettings,
    HeldBack,
    apply_trust,
    read_folder_settings,
)
from ua_tui.core.settings.layers import from_overrides, from_toml, from_variables
from ua_tui.core.settings.model import DEFAULTS, ENVIRONMENT, SPECS
from ua_tui.core.settings.sources import (
    Layer,
    SourcedValue,
    ended,
    is_empty,
    winner,
    without_secrets,
)
from ua_tui.core.trust import (
    AGENTS,
    COMMANDS,
    SKILLS,
    Answer,
    FolderTrust,
    TrustStore,
    definition_fingerprints,
)

USER_FILE = "config.toml"


class Sources(msgspec.Struct, frozen=True):
    """Layers of settings by precedence, and folder settings that are ignored."""

    layers: tuple[Layer, ...]
    held_back: tuple[HeldBack, ...]
    trust: FolderTrust


def _config_dir() -> Path:
    from platformdirs import user_config_path

    return user_config_path("ua-tui")


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of settings, and the folders for relative paths in them; by default those of the process.

    Attributes:
        environ: the environment.
        cwd: the folder of `.env` and `ua-tui.toml`, and the base of relative paths.
        home: what `~` means.
        config_dir: the folder of the user's `config.toml`.
        state: where the decisions about folders are stored; by default the state folder of the program.
        trust: the answer about the folder for this run only; by default the stored one counts.
    """

    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    cwd: Path = msgspec.field(default_factory=Path.cwd)
    home: Path = msgspec.field(default_factory=Path.home)
    config_dir: Path = msgspec.field(default_factory=_config_dir)
    state: Path | None = None
    trust: Answer | None = None

    @property
    def user_file(self) -> Path:
        """The user's own settings file."""
        return self.config_dir / USER_FILE

    @property
    def project_file(self) -> Path:
        """The settings file of the current folder."""
        return self.cwd / PROJECT_FILE

    def read(self, overrides: Mapping[str, Any] | None = None, *, by_name: bool = False) -> Sources:
        """Read every place, the winning ones first; with `by_name` a program gave the overrides.

        Raises:
            SettingsError: a file cannot be read, or a name in one of the places is wrong.
        """
        options = from_overrides(overrides or {}, by_name=by_name)
        environment = from_variables(self.environ)
        user = from_toml(self.user_file, in_folder=False)
        written = self.folder_settings()
        trust = self.folder_trust(written, skills=self._names_skills((options, environment, user)))
        layers, held_back = apply_trust(
            written,
            trust,
            user,
            lambda name, given: self.default(name) if given is None else self.checked(name, given),
        )
        trust = replace(trust, held_back=tuple(dict.fromkeys(each.name for each in held_back)))
        return Sources((options, environment, *layers, user), tuple(held_back), trust)

    def folder_settings(self) -> FolderSettings:
        """Read what the files of the current folder set."""
        return read_folder_settings(self.cwd)

    def folder_trust(self, written: FolderSettings, *, skills: bool = True) -> FolderTrust:
        """Find out what of the current folder takes effect; `skills` is whether the user has switched any on."""
        fingerprints = dict(written.fingerprints)
        # In the home folder they are the user's own.
        kinds = (AGENTS, COMMANDS, SKILLS)
        own = [path for each in kinds for path in (self.home / each, self.config_dir / Path(each).name)]
        if {path.resolve() for path in own}.isdisjoint((self.cwd / each).resolve() for each in kinds):
            fingerprints |= definition_fingerprints(self.cwd, skills=skills)
        if self.trust is not None:
            return FolderTrust(self.cwd, self.trust, fingerprints, once=True)
        if not fingerprints:
            return FolderTrust(self.cwd)
        decision = TrustStore(self.state).read(self.cwd)
        if decision is None:
            return FolderTrust(self.cwd, "undecided", fingerprints)
        known = decision.fingerprints
        changed = tuple(path for path, each in fingerprints.items() if known.get(path) != each)
        return FolderTrust(self.cwd, "changed" if changed else decision.answer, fingerprints, changed)

    def uses_folder_skills(self) -> bool:
        """Whether the user has switched on skills by name, which a folder may have.

        Raises:
            SettingsError: the user's own file cannot be read.
        """
        user = from_toml(self.user_file, in_folder=False)
        return self._names_skills((from_variables(self.environ), user))

    def _names_skills(self, layers: Sequence[Layer]) -> bool:
        given = winner(layers, "skills")
        names = () if given is None else self.checked("skills", given)
        return bool(names) and names != ("all",)

    def default(self, name: str) -> Any:
        """The default of a setting."""
        return {"workspace_base": self.cwd, "claude_config_dir": self.home / ".claude"}.get(
            name, DEFAULTS[name]
        )

    def checked(self, name: str, given: SourcedValue) -> Any:
        """Read the value of a setting.

        Raises:
            SettingsError: it is wrong, or a folder may not set it.
        """
        spec = SPECS[name]
        if given.in_folder and spec.user_only:
            by = [ENVIRONMENT[name][0], "the command line option"] if name in ENVIRONMENT else []
            raise SettingsError(
                f"{given.origin} may not be set by the files of a folder: "
                f"set {', '.join([*by, 'or your own ' + USER_FILE])} instead."
            )
        if is_empty(given.value):
            return self.default(name)
        try:
            value = spec.parse(given.value)
        except ValueError as error:
            value = ", ".join(given.value) if isinstance(given.value, tuple) else given.value
            value = without_secrets(value) if isinstance(value, str) else value
            shown = "not valid: it" if spec.secret or spec.hidden_if_wrong else f"{value!r}, but"
            raise SettingsError(f"{given.origin} is {shown} must be {ended(str(error))}") from error
        if isinstance(value, Path):
            parts = value.parts
            value = self.home.joinpath(*parts[1:]) if parts[:1] == ("~",) else self.cwd / value
        return value
