"""Reads prompts and sub-agents, which are Markdown files with front matter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ua_tui.core.agent.definitions.front_matter import converted, split_front_matter
from ua_tui.core.agent.definitions.rules import Rule, read_rules
from ua_tui.core.errors import SettingsError
from ua_tui.core.text import clean, clean_line

Source = Literal["project", "user", "shipped"]
"""The origin of a definition: the current folder, the user's own folder, or the program."""

MODEL_ALIASES = ("inherit", "default", "opus", "sonnet", "haiku", "fable")
"""The short names of models; `inherit` is the model of the caller of the sub-agent."""

LONGEST_DESCRIPTION = 5_000
_LONGEST_PROMPT = 100_000

IGNORED_FIELDS = frozenset({"hooks", "mcpServers", "permissionMode", "memory", "skills", "initialPrompt"})
"""Fields of other programs, with which a file could give itself permissions or tools."""


class _Fields(msgspec.Struct):
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    description: Annotated[str, Meta(pattern=r"\S", max_length=LONGEST_DESCRIPTION)]
    tools: str | list[str] | None = None
    disallowedTools: str | list[str] | None = None
    model: str = "inherit"
    compliance: Any = None


@dataclass(frozen=True)
class SubagentDefinition:
    """A sub-agent: when to call it (`description`), its prompt, and the tools it may use.

    `tools` are those of the session that it may use, None for all; `without` are excluded from them. `rules` must be
    met before it may stop; the agent does not see them beforehand. `origin` is the file, as it is shown;
    `ignored_fields` are its fields that have no effect here.
    """

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...] | None
    model: str = "inherit"
    rules: tuple[Rule, ...] = ()
    without: tuple[str, ...] = ()
    source: Source = "shipped"
    origin: str = ""
    ignored_fields: tuple[str, ...] = ()


def read_prompt(name: str, values: Mapping[str, str]) -> str:
    """Read a shipped prompt and fill its `{placeholders}`."""
    text = resources.files("ua_tui.core.agent").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    return _fill(text, values)


def shipped_subagents() -> list[SubagentDefinition]:
    """Read every sub-agent that ships with the program; its prompt has `{placeholders}`."""
    folder = resources.files("ua_tui.core.agent").joinpath("subagents")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name)
    return [read_subagent(f.read_text(encoding="utf-8"), origin=f.name) for f in files]


def fill_prompt(definition: SubagentDefinition, values: Mapping[str, str]) -> SubagentDefinition:
    """A definition with the `{placeholders}` of its prompt filled in."""
    return replace(definition, prompt=_fill(definition.prompt, values))


def read_subagent(
    text: str, *, origin: str, source: Source = "shipped", any_model: bool = True
) -> SubagentDefinition:
    """Read one definition: YAML front matter, then the prompt.

    Unless `any_model`, the model is a short name or one of Anthropic's.

    Raises:
        SettingsError: the front matter is missing, incomplete or wrong; the message names `origin`.
    """
    given, body = split_front_matter(text, origin=origin, what="a sub-agent")
    fields: _Fields = converted(given, _Fields, origin)
    prompt = clean(body).strip() + "\n"
    if len(prompt) > _LONGEST_PROMPT:
        raise SettingsError(f"{origin}: the prompt has more than {_LONGEST_PROMPT:,} characters: shorten it")
    return SubagentDefinition(
        name=fields.name,
        description=clean_line(fields.description, LONGEST_DESCRIPTION),
        prompt=prompt,
        tools=_tools(fields.tools),
        model=_model(fields.model.strip(), origin, any_model=any_model),
        rules=read_rules(fields.compliance, fields.name, origin=origin),
        without=_tools(fields.disallowedTools) or (),
        source=source,
        origin=origin,
        ignored_fields=tuple(sorted(IGNORED_FIELDS & given.keys())),
    )


def _tools(given: str | list[str] | None) -> tuple[str, ...] | None:
    """The tools that a field names, each once; None if it is missing or means every tool."""
    if given is None:
        return None
    names = re.split(r",(?![^()]*\))", given) if isinstance(given, str) else given
    tools = tuple(dict.fromkeys(clean_line(name).strip() for name in names if name.strip()))
    return None if tools == ("*",) else tools


def _model(model: str, origin: str, *, any_model: bool) -> str:
    if model.lower() in MODEL_ALIASES:
        return model.lower()
    of_anthropic = re.match(r"(?:[a-z]+\.)?(?:anthropic\.)?claude-", model)
    if re.fullmatch(r"[A-Za-z0-9][\w.:/@+\[\]-]{0,199}", model) and (any_model or of_anthropic):
        return model
    raise SettingsError(
        f"{origin}: there is no model {clean_line(model, 60)!r}: it takes {', '.join(MODEL_ALIASES)} or claude-..."
    )


def _fill(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
