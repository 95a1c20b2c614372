"""Every setting of a session: add a new one here, as a field of `Settings`.

Each setting is read from the command line, the environment (`UA_<NAME>`, then the names that other tools use), the
`.env` and the `ua-tui.toml` of the current folder, and the user's own `config.toml`; the first source that has it wins.
An empty value means the default, and hides later sources. The files of a folder have no effect, apart from the look,
until the user trusts the folder, and then the user's own file wins over them where data goes and about what may run
(`folder.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from core.errors import SettingsError
from core.settings import parsers as values
from core.settings.folder import PROJECT_FILE, FolderSettings, HeldBack, read_folder_settings, weigh
from core.settings.keymap import KeyChoice, key_choices
from core.settings.sources import (
    KnownNames,
    Layer,
    SourcedValue,
    ended,
    from_overrides,
    from_toml,
    from_variables,
    is_empty,
    winner,
    without_secrets,
)
from core.settings.spec import Spec
from core.trust.decisions import FolderDecisions
from core.trust.files import AGENTS, SKILLS, definition_fingerprints
from core.trust.state import Answer, FolderTrust

__all__ = [
    "EFFORTS",
    "ENVIRONMENT",
    "EXTRA_TOOLS",
    "KNOWN",
    "PROJECT_FILE",
    "SPECS",
    "USER_FILE",
    "Classifier",
    "ComposioMode",
    "Effort",
    "LogLevel",
    "Notify",
    "PermissionMode",
    "Pictures",
    "Places",
    "Settings",
    "Sources",
    "Spec",
    "load_settings",
    "reload_folder",
    "secret_values",
    "set_elsewhere",
    "user_config_dir",
]

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]
Classifier = Literal["off", "rules", "rules+model"]
ComposioMode = Literal["mcp", "native"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
Pictures = Literal["auto", "kitty", "sixel", "blocks"]
Notify = Literal["auto", "bell", "osc9", "osc777", "off"]

EFFORTS: tuple[Effort, ...] = get_args(Effort)
EXTRA_TOOLS = ("Bash", "Write", "Edit", "WebFetch")
USER_FILE = "config.toml"


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """All settings of a session, complete and checked.

    This is the only place that describes a setting: `ua-tui config` and docs/configuration.md show the text below each
    field, the first paragraph as its summary.
    """

    model: Annotated[
        str | None, Spec(values.text, ("ANTHROPIC_MODEL",), unset="the agent chooses", affects="cost")
    ] = None
    """The model that answers; without one the agent chooses."""
    simple_model: Annotated[str | None, Spec(unset="the same as model", affects="cost")] = None
    """The model for simple queries and for the classifier's question; without one it is `model`."""
    fallback_model: Annotated[str | None, Spec(affects="cost")] = None
    """The model to use while the first one is overloaded."""
    effort: Annotated[
        Effort | None, Spec(values.choice(*get_args(Effort)), unset="the model decides", affects="cost")
    ] = None
    """How hard the model thinks: low, medium, high, xhigh or max; if it is not set, the model decides."""
    api_key: Annotated[str | None, Spec(values.text, ("ANTHROPIC_API_KEY",), secret=True, affects="data")] = (
        None
    )
    """The key for the Messages API, sent as x-api-key."""
    auth_token: Annotated[
        str | None, Spec(values.text, ("ANTHROPIC_AUTH_TOKEN",), secret=True, affects="data")
    ] = None
    """The bearer token for the Messages API or a gateway in front of it."""
    base_url: Annotated[
        str | None, Spec(values.url, ("ANTHROPIC_BASE_URL",), unset="Anthropic's own", affects="data")
    ] = None
    """The server that speaks the Messages API; without one it is Anthropic's own."""
    claude_config_dir: Annotated[
        Path | None,
        Spec(values.path, ("CLAUDE_CONFIG_DIR",), user_only=True, unset="~/.claude", affects="data"),
    ] = None
    """The folder in which to look for a login of the Claude command line."""
    workspace_base: Annotated[Path, Spec(values.path, unset="the current folder", affects="data")] = Path()
    """The folder that holds AGENT_RUN_WORKSPACES and SAVED_REPORTS; by default the current one."""
    permission_mode: Annotated[
        PermissionMode,
        Spec(values.choice(*get_args(PermissionMode)), affects="tools", stricter=values.more_careful),
    ] = "default"
    """What happens to calls that no rule decides: default (ask), acceptEdits or plan."""
    dangerously_skip_permissions: Annotated[bool, Spec(values.flag, user_only=True, affects="tools")] = False
    """Run every tool without asking; the only way to the mode bypassPermissions."""
    allow: Annotated[tuple[str, ...], Spec(values.patterns, user_only=True, affects="tools")] = ()
    """Rules for tool calls that run without asking, separated by commas; docs/permissions.md has their grammar."""
    ask: Annotated[tuple[str, ...], Spec(values.patterns, user_only=True, affects="tools")] = ()
    """Rules for tool calls that ask each time, in every mode; they beat allow."""
    deny: Annotated[tuple[str, ...], Spec(values.patterns, user_only=True, affects="tools")] = ()
    """Rules for tool calls that never run, in every mode; they beat ask and allow."""
    extra_tools: Annotated[
        tuple[str, ...], Spec(values.subset(*EXTRA_TOOLS), user_only=True, affects="tools")
    ] = ()
    """Built-in tools to offer although they are off by default."""
    composio_api_key: Annotated[
        str | None, Spec(values.text, ("COMPOSIO_API_KEY",), secret=True, affects="data")
    ] = None
    """The key for Composio; without it a session has no Composio tools."""
    composio_base_url: Annotated[
        str | None,
        Spec(values.url, ("COMPOSIO_BASE_URL",), user_only=True, unset="Composio's own", affects="data"),
    ] = None
    """The server of Composio; without one it is Composio's own."""
    composio_user_id: Annotated[
        str | None, Spec(values.text, ("COMPOSIO_USER_ID",), unset="the same as user_id", affects="data")
    ] = None
    """Whose connected accounts Composio uses; without one those of `user_id`.

    In a file it can also be written as `user_id` in a table `[composio]`."""
    composio_mode: Annotated[ComposioMode, Spec(values.choice(*get_args(ComposioMode)), affects="tools")] = (
        "mcp"
    )
    """How the agent reaches Composio's tools: mcp (directly) or native (through this process, with modifiers)."""
    composio_toolkits: Annotated[
        tuple[str, ...], Spec(values.slugs, unset="all but the disabled ones", affects="tools")
    ] = ()
    """The only toolkits of Composio that a session has, separated by commas; by default all but the disabled ones."""
    composio_disabled_toolkits: Annotated[tuple[str, ...], Spec(values.slugs, affects="tools")] = (
        "exa",
        "firecrawl",
    )
    """Toolkits of Composio that a session does without, unless `composio_toolkits` names its toolkits.

    `none` disables no toolkit. The default ones do what the local toolkit does."""
    web_reader_key: Annotated[
        str | None, Spec(values.text, ("Z_AI_API_KEY", "ZAI_API_KEY"), secret=True, affects="data")
    ] = None
    """The key for Z.AI's web reader; without it a session reads pages only with its own crawler."""
    web_reader_url: Annotated[
        str | None, Spec(values.url, user_only=True, unset="Z.AI's own", affects="data")
    ] = None
    """The MCP server of the web reader; without one it is Z.AI's own."""
    logfire_token: Annotated[
        str | None, Spec(values.text, ("LOGFIRE_TOKEN",), secret=True, affects="data")
    ] = None
    """The write token for Logfire; without it nothing is sent there."""
    skills: Annotated[tuple[str, ...], Spec(values.skills, user_only=True, affects="tools")] = ()
    """The skills that the agent may load: their names separated by commas, or all for those of the user."""
    plugins: Annotated[bool, Spec(values.flag, user_only=True, affects="tools")] = True
    """Load the observers and pipeline handlers of other installed packages; they have the rights of the user."""
    max_cost_usd: Annotated[
        float | None, Spec(values.number(above=0), unset="no limit", affects="cost", stricter=values.smaller)
    ] = None
    """The spending limit of a session in US dollars."""
    max_turns: Annotated[
        int | None, Spec(values.integer(least=1), unset="no limit", affects="cost", stricter=values.smaller)
    ] = None
    """How many model turns one query may take."""
    demo: Annotated[bool, Spec(values.flag, affects="tools")] = False
    """Play a session with a scripted model, without network and keys."""
    demo_pace: Annotated[
        float | None, Spec(values.number(least=0), unset="1 on the screen, else 0", affects="look")
    ] = None
    """How slowly the demo streams: 1 is slow enough to follow, 0 is as fast as possible."""
    user_id: Annotated[str, Spec(affects="data")] = "local-user"
    """Who the session belongs to, as traces and Composio name them."""
    theme: Annotated[str | None, Spec(values.theme, unset="dark", affects="look")] = None
    """The colour theme of the screen: dark, light, ansi (the terminal's 16 colours) or one of Textual's, such as nord.

    A theme chosen on the screen with Ctrl+P is stored in the user's own file."""
    pictures: Annotated[Pictures, Spec(values.choice(*get_args(Pictures)), affects="look")] = "auto"
    """How pictures are drawn: with the terminal's graphics (kitty, sixel), as half blocks (blocks), or auto.

    `auto` uses `kitty` in Kitty and Ghostty, `sixel` in foot, mlterm, WezTerm, contour and Windows Terminal, and
    `blocks` in other terminals and inside tmux, screen and Zellij."""
    notify: Annotated[Notify, Spec(values.choice(*get_args(Notify)), affects="look")] = "auto"
    """How you are notified when you are not looking: bell, a terminal notification (osc9, osc777), off, or auto.

    `auto` uses `osc9` in iTerm2, Kitty, Ghostty and WezTerm, `osc777` in foot and Contour, and the bell in other
    terminals and inside tmux, screen and Zellij."""
    log_level: Annotated[LogLevel, Spec(values.choice(*get_args(LogLevel)), affects="look")] = "INFO"
    """The least severe level of message that is written to run.log."""
    cli_path: Annotated[
        Path | None,
        Spec(values.path, user_only=True, unset="the one that comes with the SDK", affects="tools"),
    ] = None
    """A Claude command line to use instead of the one that comes with the SDK."""
    classifier: Annotated[
        Classifier, Spec(values.choice(*get_args(Classifier), words=True), affects="cost")
    ] = "rules+model"
    """How simple queries are distinguished from complex ones: off (not at all), rules, or rules+model (both)."""
    mcp_servers: Annotated[
        tuple[SourcedValue, ...],
        Spec(
            secret=True,
            table="tables [mcp_servers.NAME] in a settings file, each with a command or a url",
            affects="tools",
        ),
    ] = ()
    """Your own MCP servers, by name; all files count, and your own config.toml wins for a name in two of them."""
    keys: Annotated[
        tuple[KeyChoice, ...],
        Spec(
            table='a table [keys] in a settings file, with lines such as pane.maximise = "f9"', affects="look"
        ),
    ] = ()
    """Your own keys; all files count, and the folder's ua-tui.toml wins for an action in two of them."""
    folder: FolderTrust = field(default_factory=FolderTrust)
    """What of the files of the current folder takes effect; not a setting."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What was given by name when the settings were read; not a setting."""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, spec in SPECS.items() if not spec.secret)
        return f"Settings({', '.join(shown)})"

    @property
    def effective_permission_mode(self) -> PermissionMode:
        """The permission mode, with `dangerously_skip_permissions` taken into account."""
        return "bypassPermissions" if self.dangerously_skip_permissions else self.permission_mode

    @property
    def has_login(self) -> bool:
        """Whether there is a login of the Claude command line."""
        return self.claude_config_dir is not None and (self.claude_config_dir / ".credentials.json").is_file()

    def has_credentials(self) -> bool:
        """Whether a model can be used: the demo, a key, a token, a login, or a custom server."""
        return self.demo or bool(self.api_key or self.auth_token or self.base_url) or self.has_login


SPECS: Mapping[str, Spec] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
"""How each setting is read."""

DEFAULTS: Mapping[str, Any] = {each.name: each.default for each in fields(Settings) if each.name in SPECS}
"""The default of each setting; `Places.default` replaces those that depend on the current folder."""

ENVIRONMENT: Mapping[str, tuple[str, ...]] = {
    name: ("UA_" + name.upper(), *spec.variables) for name, spec in SPECS.items() if not spec.table
}
"""The environment variables of each setting; the first that is set wins."""

KNOWN = KnownNames(tuple(SPECS), ENVIRONMENT)
"""The names of all settings and their variables."""


@dataclass(frozen=True)
class Sources:
    """What every place sets, the winning one first, and what of the folder has no effect."""

    layers: tuple[Layer, ...]
    held_back: tuple[HeldBack, ...]
    trust: FolderTrust


@dataclass(frozen=True)
class Places:
    """The sources of settings, and the folders for relative paths in them.

    Attributes:
        environ: the environment.
        cwd: the folder of `.env` and `ua-tui.toml`, and the base of relative paths.
        home: what `~` means.
        config_dir: the folder of the user's `config.toml`.
        state: where the decisions about folders are stored; by default the state folder of the program.
        trust: the answer about the folder for this run only; by default the stored one counts.
    """

    environ: Mapping[str, str]
    cwd: Path
    home: Path
    config_dir: Path
    state: Path | None = None
    trust: Answer | None = None

    @classmethod
    def of(
        cls,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        home: Path | None = None,
        config_dir: Path | None = None,
        state: Path | None = None,
        trust: Answer | None = None,
    ) -> Places:
        """The given places, and those of the process for the others."""
        return cls(
            environ=os.environ if environ is None else environ,
            cwd=Path.cwd() if cwd is None else cwd,
            home=Path.home() if home is None else home,
            config_dir=config_dir or user_config_dir(),
            state=state,
            trust=trust,
        )

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
        options = from_overrides(overrides or {}, KNOWN, by_name=by_name)
        environment = from_variables(self.environ, KNOWN)
        user = from_toml(self.user_file, KNOWN, in_folder=False)
        written = self.folder_settings()
        trust = self.folder_trust(written, skills=self._names_skills((options, environment, user)))
        weighed = weigh(written, trust, user, SPECS, self._value_of)
        held_back = dict.fromkeys(each.name for each in weighed.held_back)
        trust = replace(trust, held_back=tuple(held_back))
        return Sources((options, environment, *weighed.layers, user), weighed.held_back, trust)

    def folder_settings(self) -> FolderSettings:
        """Read what the files of the current folder set."""
        return read_folder_settings(self.cwd, KNOWN, SPECS)

    def folder_trust(self, written: FolderSettings, *, skills: bool = True) -> FolderTrust:
        """Find out what of the current folder takes effect; `skills` is whether the user has switched any on."""
        fingerprints = dict(written.fingerprints)
        if not self._has_own_definitions:
            fingerprints |= definition_fingerprints(self.cwd, skills=skills)
        if self.trust is not None:
            return FolderTrust(self.cwd, self.trust, fingerprints, once=True)
        if not fingerprints:
            return FolderTrust(self.cwd)
        decision = FolderDecisions(self.state).read(self.cwd)
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
        user = from_toml(self.user_file, KNOWN, in_folder=False)
        return self._names_skills((from_variables(self.environ, KNOWN), user))

    def _names_skills(self, layers: Sequence[Layer]) -> bool:
        given = winner(layers, "skills")
        names = () if given is None else self.checked("skills", given)
        return bool(names) and names != ("all",)

    @property
    def _has_own_definitions(self) -> bool:
        """Whether the definitions in the folder are the user's own, as in the home folder."""
        own = {self.home / SKILLS, self.home / AGENTS, self.config_dir / "agents", self.config_dir / "skills"}
        return any(
            (self.cwd / each).resolve() in {path.resolve() for path in own} for each in (AGENTS, SKILLS)
        )

    def _value_of(self, name: str, given: SourcedValue | None) -> Any:
        return self.default(name) if given is None else self.checked(name, given)

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
            shown = "a value that" if spec.secret else f"{value!r}, which"
            raise SettingsError(
                f"{given.origin} is {shown} is not allowed: it must be {ended(str(error))}"
            ) from error
        if isinstance(value, Path):
            parts = value.parts
            value = self.home.joinpath(*parts[1:]) if parts[:1] == ("~",) else self.cwd / value
        return value


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    home: Path | None = None,
    config_dir: Path | None = None,
    state: Path | None = None,
    trust: Answer | None = None,
    by_name: bool = False,
) -> Settings:
    """Read the settings from every place and check each value that is found.

    Args:
        overrides: settings by name, as the command line gave them; None means not given.
        environ: the environment; the process's own by default.
        cwd: the folder of `.env` and `ua-tui.toml`; the current one by default.
        home: what `~` means.
        config_dir: the folder of the user's `config.toml`.
        state: where the decisions about folders are stored; the state folder of the program by default.
        trust: the answer about the folder for this run only; by default the stored one counts.
        by_name: whether a program gave the overrides, so that errors name the setting instead of the option.

    Raises:
        SettingsError: a file cannot be read, or a name or value in one of the places is wrong.
    """
    places = Places.of(environ=environ, cwd=cwd, home=home, config_dir=config_dir, state=state, trust=trust)
    sources = places.read(overrides, by_name=by_name)
    layers = sources.layers
    found: dict[str, Any] = {name: places.default(name) for name in ("workspace_base", "claude_config_dir")}
    for layer in reversed(layers):
        for name, given in layer.items():
            if name == "keys":
                choices = key_choices(given.value, f"keys in {given.path}", given.in_folder)
                found["keys"] = (*found.get("keys", ()), *choices)
            elif name == "mcp_servers":
                found[name] = (given, *found.get(name, ()))
            else:
                found[name] = places.checked(name, given)
    _refuse_redirected_secrets(layers)
    settings = Settings(**found, folder=sources.trust, options=dict(overrides or {}))
    if settings.permission_mode == "bypassPermissions" and not settings.dangerously_skip_permissions:
        raise SettingsError(
            "permission_mode is bypassPermissions, which runs every tool without asking: "
            "use default, acceptEdits or plan, or give --dangerously-skip-permissions."
        )
    return settings


def refuse_skip_as_root(what: str) -> None:
    """Refuse `what`, which runs every tool without asking, to the user root.

    Raises:
        SettingsError: the program runs as root.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        raise SettingsError(f"{what} is refused for root: run as another user, or use --allow.")


def reload_folder(settings: Settings, **places: Any) -> Settings:
    """Read the settings of the current folder again after an answer about it; all other settings stay as they are.

    `places` are those of `load_settings`.

    Raises:
        SettingsError: as for `load_settings`.
    """
    before = load_settings(settings.options, **places | {"trust": "ignored"})
    after = load_settings(settings.options, **places)
    changed = {name: getattr(after, name) for name in SPECS if getattr(after, name) != getattr(before, name)}
    return replace(settings, **changed, folder=after.folder)


def set_elsewhere(
    names: Iterable[str],
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    config_dir: Path | None = None,
    trust: Answer | None = None,
) -> dict[str, SourcedValue]:
    """Return where settings are set in a place that wins over the user's own file, without the command line.

    `trust` is the answer about the folder for this run only.

    Raises:
        SettingsError: a file cannot be read, or a name in one of the places is wrong.
    """
    layers = Places.of(environ=environ, cwd=cwd, config_dir=config_dir, trust=trust).read().layers
    return {name: where for name in names if (where := winner(layers[:-1], name)) is not None}


# Only the user may name servers of tools, as some of their tools run without asking.
_SENT_TO = {"base_url": ("api_key", "auth_token")}


def _refuse_redirected_secrets(layers: Sequence[Layer]) -> None:
    """Refuse a folder's server with a key of the user; a folder may only name a server for its own key."""
    for address, keys in _SENT_TO.items():
        where = winner(layers, address)
        if where is None or not where.in_folder or not where.value:
            continue
        for key in keys:
            secret = winner(layers, key)
            if secret is not None and secret.value and not secret.in_folder:
                raise SettingsError(
                    f"{where.origin} would send the secret of {secret.origin.removeprefix('The ')} "
                    f"to {without_secrets(str(where.value))}: "
                    f"set {ENVIRONMENT[address][0]} in the environment if you mean it, or the key in the same file."
                )


def user_config_dir() -> Path:
    """The folder of the user's own settings file."""
    from platformdirs import user_config_path

    return user_config_path("ua-tui")


def secret_values(settings: Settings) -> frozenset[str]:
    """Return the values of the settings that are secret."""
    values = (getattr(settings, name) for name, spec in SPECS.items() if spec.secret)
    return frozenset(value for value in values if value and isinstance(value, str))
