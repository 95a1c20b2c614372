"""Every setting of a session: add a new one here, as a field of `Settings`.

Each setting is read from the command line, the environment (`UA_<NAME>`, then the names that other tools use), the
`.env` and the `ua-tui.toml` of the current folder, and the user's own `config.toml`; the first source that has it wins.
An empty value means the default, and hides later sources. Rules that ask or deny add up. The files of a folder have no
effect, apart from the look, until the user trusts the folder, and then the user's own file wins over them where data
goes and about what may run (`folder.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints
from urllib.parse import unquote, urlsplit

from ua_tui.core.errors import SettingsError
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings import parsers as values
from ua_tui.core.settings.sources import KeyChoice, Place, SourcedValue
from ua_tui.core.trust import Affects, FolderTrust

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]
Classifier = Literal["off", "rules", "rules+model"]
ComposioMode = Literal["mcp", "native"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
Pictures = Literal["auto", "kitty", "sixel", "blocks"]
Notify = Literal["auto", "bell", "osc9", "osc777", "off"]

Cloud = Literal["bedrock", "vertex", "foundry"]

CLOUD_NAMES: tuple[Cloud, ...] = get_args(Cloud)
EFFORTS: tuple[Effort, ...] = get_args(Effort)
EXTRA_TOOLS = ("Bash", "Write", "Edit", "WebFetch")


@dataclass(frozen=True)
class Spec:
    """How a setting is read.

    Attributes:
        variables: further environment variables; `UA_<NAME>` comes before them.
        parse: makes the value of a text or of a value in a file; by default what the type of the field says.
        affects: what it decides about. The files of a folder that is not trusted may only set what affects the look,
            and about data and tools the user's own file wins over them.
        stricter: returns the stricter one of two values: a folder may set such a value, and no other.
        secret: its value is never shown.
        hidden_if_wrong: a wrong value is not shown, as it may have a password.
        user_only: the files of a folder may not set it.
        unset: what is meant when it has no value.
        adds_up: the values of all places count, and not only that of the first one.
        table: how it is written if it is a table in a settings file; it has no variables then.
    """

    variables: tuple[str, ...] = ()
    _: KW_ONLY
    parse: values.Parse = values.text
    affects: Affects
    stricter: Callable[[Any, Any], Any] | None = None
    secret: bool = False
    hidden_if_wrong: bool = False
    user_only: bool = False
    unset: str = "none"
    adds_up: bool = False
    table: str = ""

    @property
    def accepts(self) -> str:
        """What is allowed, in words."""
        if self.table:
            return self.table
        try:
            # No parser accepts this; its error says what it accepts.
            self.parse(object())
        except ValueError as error:
            return str(error)
        return "anything"


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """All settings of a session, complete and checked.

    This is the only place that describes a setting: `ua-tui config` and docs/configuration.md show the text below each
    field, the first paragraph as its summary.
    """

    model: Annotated[str | None, Spec(("ANTHROPIC_MODEL",), unset="the agent chooses", affects="cost")] = None
    """The model that answers; without one the agent chooses."""
    simple_model: Annotated[str | None, Spec(unset="the same as model", affects="cost")] = None
    """The model for simple queries and for the classifier; by default the same as `model`.

    With only a Claude login, the classifier uses `haiku` by default."""
    fallback_model: Annotated[str | None, Spec(affects="cost")] = None
    """The model to use while the first one is overloaded."""
    effort: Annotated[Effort | None, Spec(unset="the model decides", affects="cost")] = None
    """How hard the model thinks: low, medium, high, xhigh or max; if it is not set, the model decides."""
    api_key: Annotated[str | None, Spec(("ANTHROPIC_API_KEY",), secret=True, affects="data")] = None
    """The key for the Messages API, sent as x-api-key."""
    auth_token: Annotated[str | None, Spec(("ANTHROPIC_AUTH_TOKEN",), secret=True, affects="data")] = None
    """The bearer token for the Messages API or a gateway in front of it."""
    base_url: Annotated[
        str | None, Spec(("ANTHROPIC_BASE_URL",), parse=values.url, unset="Anthropic's own", affects="data")
    ] = None
    """The server that speaks the Messages API; by default Anthropic's own."""
    bedrock: Annotated[bool, Spec(("CLAUDE_CODE_USE_BEDROCK",), affects="data")] = False
    """Use the models on Amazon Bedrock, with the credentials from the AWS variables or ~/.aws."""
    vertex: Annotated[bool, Spec(("CLAUDE_CODE_USE_VERTEX",), affects="data")] = False
    """Use the models on Google Vertex AI, with the credentials from the Google variables or gcloud."""
    foundry: Annotated[bool, Spec(("CLAUDE_CODE_USE_FOUNDRY",), affects="data")] = False
    """Use the models on Microsoft Foundry, with the credentials from the Azure variables or az."""
    custom_headers: Annotated[
        str | None, Spec(("ANTHROPIC_CUSTOM_HEADERS",), parse=values.headers, secret=True, affects="data")
    ] = None
    """Headers that are sent with every request to the model, one `Name: value` per line."""
    claude_config_dir: Annotated[
        Path | None,
        Spec(("CLAUDE_CONFIG_DIR",), user_only=True, unset="~/.claude", affects="data"),
    ] = None
    """The folder in which to look for a Claude login."""
    workspace_base: Annotated[Path, Spec(unset="the current folder", affects="data")] = Path()
    """The folder that holds AGENT_RUN_WORKSPACES and SAVED_REPORTS; by default the current one."""
    knowledge: Annotated[
        Path | Address | Literal["on", "off"],
        Spec(parse=values.knowledge, user_only=True, unset="on", affects="data"),
    ] = "on"
    """The knowledge base, for searching everything that sessions found: on, off, or its location.

    By default it is knowledge.db in AGENT_RUN_WORKSPACES, one for all sessions there. It can be the path of another
    file, or the address of a team's database (postgresql://user@host/database, without a password)."""
    embeddings_url: Annotated[
        str | None, Spec(parse=values.url, user_only=True, unset="no search by meaning", affects="data")
    ] = None
    """The server that computes vectors for the search by meaning, such as http://127.0.0.1:11434/v1 for Ollama.

    Any server with an OpenAI-compatible `/embeddings` works. The passages of the knowledge base and your queries are
    sent there; without it, or without `embeddings_model`, nothing is sent."""
    embeddings_model: Annotated[
        str | None, Spec(user_only=True, unset="no search by meaning", affects="data")
    ] = None
    """The model that makes the vectors, such as nomic-embed-text. If you change it, all vectors are requested again."""
    embeddings_key: Annotated[str | None, Spec(user_only=True, secret=True, affects="data")] = None
    """The key for `embeddings_url`, sent as a bearer token; a server on your own machine needs none."""
    team: Annotated[
        str | None, Spec(parse=values.team, user_only=True, hidden_if_wrong=True, affects="data")
    ] = None
    """The PostgreSQL database of a team, such as postgresql://user@host/database, to which sessions are copied.

    Whoever has access to it can follow and resume them. The password comes from ~/.pgpass or PGPASSWORD. It needs the
    extra `ua-tui[team]`."""
    permission_mode: Annotated[
        PermissionMode,
        Spec(affects="tools", stricter=values.more_careful),
    ] = "default"
    """What happens to calls that no rule decides: default (ask), acceptEdits or plan."""
    dangerously_skip_permissions: Annotated[bool, Spec(user_only=True, affects="tools")] = False
    """Run every tool without asking; the only way to use the mode bypassPermissions."""
    allow: Annotated[tuple[str, ...], Spec(user_only=True, affects="tools")] = ()
    """Rules for tool calls that run without asking, separated by commas; see docs/permissions.md."""
    ask: Annotated[tuple[str, ...], Spec(user_only=True, affects="tools", adds_up=True)] = ()
    """Rules for tool calls that ask each time, in every mode; they override allow. The rules of all sources apply."""
    deny: Annotated[tuple[str, ...], Spec(user_only=True, affects="tools", adds_up=True)] = ()
    """Rules for tool calls that never run, in every mode; they override ask and allow.

    The rules of all sources apply."""
    extra_tools: Annotated[
        tuple[str, ...], Spec(parse=values.subset(*EXTRA_TOOLS), user_only=True, affects="tools")
    ] = ()
    """Built-in tools that are off by default, to be turned on."""
    public_searches: Annotated[tuple[str, ...], Spec(user_only=True, affects="data")] = ()
    """Tools that search public content, such as mcp__acme__search, separated by commas.

    Their results are saved even if their rows do not look public. Most public searches are already known."""
    composio_api_key: Annotated[str | None, Spec(("COMPOSIO_API_KEY",), secret=True, affects="data")] = None
    """The key for Composio; without it a session has no Composio tools."""
    composio_base_url: Annotated[
        str | None,
        Spec(
            ("COMPOSIO_BASE_URL",), parse=values.url, user_only=True, unset="Composio's own", affects="data"
        ),
    ] = None
    """The server of Composio; by default Composio's own."""
    composio_user_id: Annotated[
        str | None, Spec(("COMPOSIO_USER_ID",), unset="the same as user_id", affects="data")
    ] = None
    """The user whose connected accounts Composio uses; by default `user_id`.

    In a file it can also be written as `user_id` in a table `[composio]`."""
    composio_mode: Annotated[ComposioMode, Spec(affects="tools")] = "mcp"
    """How the agent reaches Composio's tools: mcp (directly) or native (through this process, with modifiers)."""
    composio_toolkits: Annotated[
        tuple[str, ...], Spec(parse=values.slugs, unset="all but the disabled ones", affects="tools")
    ] = ()
    """The Composio toolkits that a session may use, separated by commas; by default all but the disabled ones."""
    composio_disabled_toolkits: Annotated[tuple[str, ...], Spec(parse=values.slugs, affects="tools")] = (
        "exa",
        "firecrawl",
    )
    """Toolkits of Composio that a session does not use, unless `composio_toolkits` is set.

    `none` disables no toolkit. The toolkits that are disabled by default duplicate the local toolkit."""
    web_reader_key: Annotated[
        str | None, Spec(("Z_AI_API_KEY", "ZAI_API_KEY"), secret=True, affects="data")
    ] = None
    """The key for Z.AI's web reader; without it a session reads pages only with its own crawler."""
    web_reader_url: Annotated[
        str | None, Spec(parse=values.url, user_only=True, unset="Z.AI's own", affects="data")
    ] = None
    """The MCP server of the web reader; by default Z.AI's own."""
    page_age: Annotated[int, Spec(parse=values.number(least=0, whole=True), affects="data")] = 0
    """A page that a session read at most this many seconds ago is not fetched again; the agent may accept older pages.
    `ua-tui again` sets it."""
    logfire_token: Annotated[str | None, Spec(("LOGFIRE_TOKEN",), secret=True, affects="data")] = None
    """The write token for Logfire; without it nothing is sent there."""
    trace_content: Annotated[bool, Spec(affects="data")] = True
    """Whether traces contain inputs and outputs: queries, answers, thinking, arguments and results of tools."""
    trace_agent: Annotated[bool, Spec(affects="data")] = False
    """Whether exported traces also contain the spans of the Claude Code CLI, which repeat turns and tool calls."""
    skills: Annotated[tuple[str, ...], Spec(parse=values.skills, user_only=True, affects="tools")] = ()
    """The skills that the agent may load: their names separated by commas, or `all` for all of your own."""
    plugins: Annotated[bool, Spec(user_only=True, affects="tools")] = True
    """Load the observers, pipeline handlers, viewers and panes of other packages; they run with your rights."""
    max_cost_usd: Annotated[
        float | None,
        Spec(parse=values.number(above=0), unset="no limit", affects="cost", stricter=values.smaller),
    ] = None
    """The spending limit of a session in US dollars."""
    max_turns: Annotated[
        int | None,
        Spec(
            parse=values.number(least=1, whole=True),
            unset="no limit",
            affects="cost",
            stricter=values.smaller,
        ),
    ] = None
    """How many model turns one query may take."""
    prices: Annotated[tuple[str, ...], Spec(parse=values.prices, user_only=True, affects="cost")] = ()
    """Prices of models: `MODEL=INPUT/OUTPUT`, optionally followed by cache read and cache write; separated by commas.

    The amounts are US dollars per million tokens. The agent knows the prices of Anthropic's models; the cost of any
    other model is unknown unless you set its price here, and a spending limit needs it. `my-model=0/0` costs nothing.
    If you give no prices for cached tokens, they cost as much as other input. A price here overrides the agent's
    own."""
    context_window: Annotated[
        int | None,
        Spec(
            ("CLAUDE_CODE_MAX_CONTEXT_TOKENS",),
            parse=values.number(least=1000, whole=True),
            unset="unknown",
            affects="cost",
        ),
    ] = None
    """The context window, in tokens, of a model that the agent does not know: the agent compacts the context to fit."""
    demo: Annotated[bool, Spec(affects="tools")] = False
    """Play a session with a scripted model, without a network or keys."""
    demo_pace: Annotated[
        float | None, Spec(parse=values.number(least=0), unset="1 on the screen, else 0", affects="look")
    ] = None
    """How slowly the demo streams: 1 is slow enough to follow, 0 is as fast as possible."""
    replay_wait: Annotated[float, Spec(parse=values.number(least=0), affects="look")] = 3.0
    """The longest wait in a replay, in seconds: longer waits are shortened to it; 0 keeps all waits."""
    user_id: Annotated[str, Spec(affects="data")] = "local-user"
    """The user of the session in traces and in Composio."""
    theme: Annotated[str | None, Spec(parse=values.theme, unset="dark", affects="look")] = None
    """The colour theme of the screen: dark, light, ansi (the terminal's 16 colours) or one of Textual's, such as nord.

    A theme chosen on the screen with Ctrl+P is stored in your own config.toml."""
    pictures: Annotated[Pictures, Spec(affects="look")] = "auto"
    """How pictures are drawn: with the terminal's graphics (kitty, sixel), as half blocks (blocks), or auto.

    `auto` uses `kitty` in Kitty and Ghostty, `sixel` in foot, mlterm, WezTerm, contour and Windows Terminal, and
    `blocks` in other terminals and inside tmux, screen and Zellij."""
    notify: Annotated[Notify, Spec(affects="look")] = "auto"
    """How you are notified when you are not looking: bell, a terminal notification (osc9, osc777), off, or auto.

    `auto` uses `osc9` in iTerm2, Kitty, Ghostty and WezTerm, `osc777` in foot and Contour, and the bell in other
    terminals and inside tmux, screen and Zellij."""
    log_level: Annotated[LogLevel, Spec(affects="look")] = "INFO"
    """The lowest level of messages in run.log."""
    cli_path: Annotated[
        Path | None,
        Spec(user_only=True, unset="the one that comes with the SDK", affects="tools"),
    ] = None
    """The path of a Claude Code CLI to use instead of the one that comes with the SDK."""
    classifier: Annotated[
        Classifier, Spec(parse=values.choice(*get_args(Classifier), words=True), affects="cost")
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
    """Your own MCP servers, by name. The servers of all files are used; if two files name the same server, your own
    config.toml takes precedence."""
    keys: Annotated[
        tuple[KeyChoice, ...],
        Spec(
            table='a table [keys] in a settings file, with lines such as pane.maximise = "f9"', affects="look"
        ),
    ] = ()
    """Your own keys. The keys of all files are used; if two files set keys for the same action, the folder's
    ua-tui.toml takes precedence."""
    folder: FolderTrust = field(default_factory=FolderTrust)
    """What of the files of the current folder takes effect; not a setting."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What was given by name when the settings were read; not a setting."""
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)
    """The kind of place that each setting comes from, if it is not the default; not a setting."""
    rule_places: Mapping[tuple[str, str], Place] = field(default_factory=dict, compare=False)
    """The kind of place that each rule of a setting with several places comes from; not a setting."""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, spec in SPECS.items() if not spec.secret)
        return f"Settings({', '.join(shown)})"

    @property
    def effective_permission_mode(self) -> PermissionMode:
        """The permission mode, with `dangerously_skip_permissions` taken into account."""
        return "bypassPermissions" if self.dangerously_skip_permissions else self.permission_mode

    @property
    def cloud(self) -> Cloud | None:
        """The cloud whose models are used, whatever key and server there are; the demo needs none."""
        return None if self.demo else next((name for name in CLOUD_NAMES if getattr(self, name)), None)

    @property
    def has_login(self) -> bool:
        """Whether there is a login of the Claude Code CLI."""
        return self.claude_config_dir is not None and (self.claude_config_dir / ".credentials.json").is_file()

    def has_credentials(self) -> bool:
        """Whether a model can be used: the demo, a key, a token, a login, a custom server, or a cloud."""
        given = self.api_key or self.auth_token or self.base_url or self.cloud
        return self.demo or bool(given) or self.has_login


SPECS: Mapping[str, Spec] = {
    name: replace(spec, parse=values.of_type(hint.__origin__)) if spec.parse is values.text else spec
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    for spec in getattr(hint, "__metadata__", ())
}
"""How each setting is read."""

DEFAULTS: Mapping[str, Any] = {each.name: each.default for each in fields(Settings) if each.name in SPECS}
"""The default of each setting; `Places.default` replaces those that depend on the current folder."""

ENVIRONMENT: Mapping[str, tuple[str, ...]] = {
    name: ("UA_" + name.upper(), *spec.variables) for name, spec in SPECS.items() if not spec.table
}
"""The environment variables of each setting; the first that is set wins."""


def refuse_skip_as_root(what: str) -> None:
    """Refuse `what`, which runs every tool without asking, to the user root.

    Raises:
        SettingsError: the program runs as root.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        raise SettingsError(f"{what} is refused for root: run as another user, or use --allow.")


def secret_values(settings: Settings) -> frozenset[str]:
    """Return the values of the settings that are secret."""
    values = (getattr(settings, name) for name, spec in SPECS.items() if spec.secret)
    return frozenset(value for value in values if value and isinstance(value, str))


def secrets(settings: Settings, environ: Mapping[str, str]) -> frozenset[str]:
    """Collect every value that must never be shown or stored: secret settings, and all secrets of the environment.

    A variable is secret if its name says so or if it is a list of headers; of an address only the password is.
    """
    # The first frame does without it.
    from ua_tui.core.redaction.values import names_given_secret

    found: set[str | None] = {*secret_values(settings)}
    addresses: list[str | None] = [settings.base_url, settings.composio_base_url]
    found.update(_header_values(settings.custom_headers or ""))
    for name, value in environ.items():
        if names_given_secret(name):
            found.add(value.strip())
        elif "headers" in name.lower():
            found.update(_header_values(value))
        addresses.append(value)
    for address in addresses:
        if address and "://" in address and "@" in address:
            with suppress(ValueError):
                found.add(urlsplit(address).password)
    return frozenset(value for value in found if value)


def _header_values(headers: str) -> Iterator[str]:
    for line in re.split(r"[\n,]", headers):
        value = re.split(r"[:=]", line, maxsplit=1)[-1].strip()
        yield value
        # Headers of OTLP are percent-encoded; a scheme such as Basic may precede the secret.
        decoded = unquote(value)
        yield from (decoded, decoded.rpartition(" ")[2])
