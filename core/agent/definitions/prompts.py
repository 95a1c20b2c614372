"""Reads prompts and sub-agents, which are Markdown files with front matter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Literal

from ua_tui.core.agent.definitions.front_matter import required_text, split_front_matter
from ua_tui.core.agent.definitions.rules import Rule, read_rules
from ua_tui.core.errors import SettingsError
from ua_tui.core.text import clean, clean_line

Source = Literal["project", "user", "shipped"]
"""The origin of a definition: the current folder, the user's own folder, or the program."""

MODEL_ALIASES = ("inherit", "default", "opus", "sonnet", "haiku", "fable")
"""The short names of models; `inherit` is the model of the caller of the sub-agent."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@+\[\]-]{0,199}")
_LONGEST_DESCRIPTION = 5_000
_LONGEST_PROMPT = 100_000
_MOST_TOOLS = 200
_LONGEST_TOOL = 200

IGNORED_FIELDS = frozenset({"hooks", "mcpServers", "permissionMode", "memory", "skills", "initialPrompt"})
"""Fields of other programs, with which a file could give itself permissions or tools."""


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
    fields, body = split_front_matter(text, origin=origin, what="a sub-agent")
    name = required_text(fields, "name", 64, origin=origin)
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{origin}: the name {name!r} has other characters than letters, digits, _ and -: change it"
        )
    prompt = clean(body).strip() + "\n"
    if len(prompt) > _LONGEST_PROMPT:
        raise SettingsError(f"{origin}: the prompt has more than {_LONGEST_PROMPT:,} characters: shorten it")
    return SubagentDefinition(
        name=name,
        description=required_text(fields, "description", _LONGEST_DESCRIPTION, origin=origin),
        prompt=prompt,
        tools=_tools(fields, "tools", origin),
        model=_model(fields.get("model"), origin, any_model=any_model),
        rules=read_rules(fields.get("compliance"), name, origin=origin),
        without=_tools(fields, "disallowedTools", origin) or (),
        source=source,
        origin=origin,
        ignored_fields=tuple(
            sorted(IGNORED_FIELDS.intersection(each for each in fields if isinstance(each, str)))
        ),
    )


def _tools(fields: Mapping[Any, Any], key: str, origin: str) -> tuple[str, ...] | None:
    """The tools under a key, each once; None if it is missing or means every tool."""
    value = fields.get(key)
    if value is None:
        return None
    given = re.split(r",(?![^()]*\))", value) if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(tool, str) for tool in given):
        raise SettingsError(
            f"{origin}: {key} is not a list: write names separated by commas, or one per line"
        )
    tools = tuple(dict.fromkeys(tool.strip() for tool in given if tool.strip()))
    if len(tools) > _MOST_TOOLS:
        raise SettingsError(f"{origin}: {key} names more than {_MOST_TOOLS} tools: omit it for all of them")
    if wrong := next((tool for tool in tools if len(tool) > _LONGEST_TOOL or clean(tool) != tool), None):
        raise SettingsError(f"{origin}: {key} names {clean_line(wrong, 60)!r}, which is not a tool name")
    return None if tools == ("*",) else tools


def _model(value: Any, origin: str, *, any_model: bool) -> str:
    if value is None:
        return "inherit"
    model = value.strip() if isinstance(value, str) else ""
    if model.lower() in MODEL_ALIASES:
        return model.lower()
    of_anthropic = re.match(r"(?:[a-z]+\.)?(?:anthropic\.)?claude-", model)
    if _MODEL.fullmatch(model) and (any_model or of_anthropic):
        return model
    close = difflib.get_close_matches(model.lower(), MODEL_ALIASES, n=1)
    hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(MODEL_ALIASES)} or claude-..."
    shown = repr(clean_line(model, 60)) if model else "of that kind"
    raise SettingsError(f"{origin}: there is no model {shown}: {hint}")


def _fill(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
