"""Reads the prompts and the sub-agents, which are Markdown files with front matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from core.errors import SettingsError

__all__ = ["SubagentDefinition", "read_prompt", "read_subagent", "shipped_subagents"]


@dataclass(frozen=True)
class SubagentDefinition:
    """A sub-agent: when to call it (`description`), what it is told, and the tools it may use."""

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...]
    model: str = "inherit"


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
    """Read one definition: YAML-like front matter of plain values and `- item` lists, then the prompt.

    Raises:
        SettingsError: the front matter is missing or incomplete; the message names `origin`.
    """
    if not text.startswith("---\n") or "\n---" not in text[4:]:
        raise SettingsError(f"{origin}: a sub-agent starts with front matter between two lines of ---")
    head, _, body = text[4:].partition("\n---")
    fields: dict[str, str] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in head.splitlines():
        stripped = line.strip()
        if stripped.startswith("- ") and key:
            items.setdefault(key, []).append(stripped[2:].strip().strip("\"'"))
        elif ":" in stripped and not stripped.startswith("#"):
            key, _, value = stripped.partition(":")
            key = key.strip()
            fields[key] = value.strip().strip("\"'")
    for needed in ("name", "description"):
        if not fields.get(needed):
            raise SettingsError(f"{origin}: the front matter has no {needed}")
    tools = items.get("tools") or [t.strip() for t in fields.get("tools", "").split(",") if t.strip()]
    return SubagentDefinition(
        name=fields["name"],
        description=fields["description"],
        prompt=_fill(body.lstrip("-").strip() + "\n", values),
        tools=tuple(tools),
        model=fields.get("model") or "inherit",
    )


def _fill(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
