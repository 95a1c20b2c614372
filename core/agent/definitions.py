"""Reads the prompts and the sub-agents, which are Markdown files with front matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from core.agent.rules import Rule, read_rules
from core.errors import SettingsError

__all__ = ["SubagentDefinition", "read_prompt", "read_subagent", "shipped_subagents"]


@dataclass(frozen=True)
class SubagentDefinition:
    """A sub-agent: when to call it (`description`), what it is told, and the tools it may use.

    `rules` are what it must have done before it may stop; the agent itself is never told of them beforehand.
    """

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...]
    model: str = "inherit"
    rules: tuple[Rule, ...] = ()


def read_prompt(name: str, values: Mapping[str, str]) -> str:
    """Read a shipped prompt and fill its `{placeholders}`."""
    text = resources.files("core.agent").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    return _fill(text, values)


def shipped_subagents(values: Mapping[str, str]) -> list[SubagentDefinition]:
    """Read every sub-agent that ships with the program."""
    folder = resources.files("core.agent").joinpath("subagents")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name)
    return [read_subagent(f.read_text(encoding="utf-8"), values, origin=f.name) for f in files]


def read_subagent(text: str, values: Mapping[str, str], *, origin: str) -> SubagentDefinition:
    """Read one definition: YAML front matter, then the prompt.

    Raises:
        SettingsError: the front matter is missing, incomplete or wrong; the message names `origin`.
    """
    head, separator, body = text.removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not separator:
        raise SettingsError(f"{origin}: a sub-agent starts with front matter between two lines of ---")
    import yaml

    try:
        fields = yaml.safe_load(head)
    except yaml.YAMLError as error:
        raise SettingsError(f"{origin}: the front matter is not YAML: {error}") from error
    fields = fields if isinstance(fields, dict) else {}
    for needed in ("name", "description"):
        if not isinstance(fields.get(needed), str):
            raise SettingsError(f"{origin}: the front matter has no {needed}")
    tools = fields.get("tools") or []
    named = tools.split(",") if isinstance(tools, str) else [str(tool) for tool in tools]
    return SubagentDefinition(
        name=fields["name"],
        description=fields["description"],
        prompt=_fill(body.strip() + "\n", values),
        tools=tuple(tool.strip() for tool in named if tool.strip()),
        model=str(fields.get("model") or "inherit"),
        rules=read_rules(fields.get("compliance"), fields["name"], origin=origin),
    )


def _fill(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
