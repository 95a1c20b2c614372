"""Finds the skills of a session, and installs those that are switched on for the agent.

A skill is a folder with a `SKILL.md`, which has front matter and instructions that the agent loads when it needs them,
and with files that the instructions refer to. The agent gets copies in a private folder, without links, and with only
name and description of the front matter, so that a skill brings neither hooks nor permissions.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from ua_tui.core.agent.attachments.mentions import without_mentions
from ua_tui.core.agent.definitions.files import (
    Definition,
    DefinitionFolder,
    FoundDefinitions,
    converted,
    find_definitions,
    split_front_matter,
)
from ua_tui.core.agent.definitions.subagents import LONGEST_DESCRIPTION
from ua_tui.core.errors import SettingsError
from ua_tui.core.storage.regular_file import read_regular
from ua_tui.core.text import clean, clean_line
from ua_tui.core.trust import readable_below

PLUGIN = "ua-tui"
"""The prefix of a skill's name, as the model sees it."""

ALL = "all"
"""The value of the setting for all of the user's own skills."""

_FILE = "SKILL.md"
_MOST_FILES = 200
_MOST_BYTES = 10 << 20


class _Fields(msgspec.Struct):
    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    description: Annotated[str, Meta(pattern=r"\S", max_length=LONGEST_DESCRIPTION)]


class Skill(Definition, frozen=True):
    """A skill: when it is useful (`description`), its instructions, and the folder of its files.

    `origin` is its `SKILL.md`, as it is shown. `check` raises SettingsError for a file that may not be used.
    """

    body: str
    folder: Path
    check: Callable[[Path, bytes], None] = lambda _path, _data: None


def find_skills(places: Sequence[DefinitionFolder]) -> FoundDefinitions[Skill]:
    """Read every skill; an invalid one is skipped and reported.

    The user's own have precedence over those of a folder, which may not replace one that is switched on.
    """
    own_first = sorted(places, key=lambda each: each.source == "project")
    return find_definitions(own_first, "*", _read, file=_FILE)


def chosen_skills(names: Sequence[str], skills: Sequence[Skill]) -> tuple[list[Skill], list[str]]:
    """The skills that the setting names, and the problems of names that match none.

    `all` means the user's own skills; those of a folder are switched on only by name.
    """
    if tuple(names) == (ALL,):
        return [skill for skill in skills if skill.source == "user"], []
    by_name = {skill.name: skill for skill in skills}
    problems = [
        f"The setting skills names {clean_line(name, 60)}, which does not exist: `ua-tui agents` lists the skills."
        for name in names
        if name not in by_name
    ]
    return [by_name[name] for name in names if name in by_name], problems


def install_skills(skills: Sequence[Skill], folder: Path) -> list[str]:
    """Install copies of skills in a folder, in the form that the agent expects; returns what could not be copied.

    Files that are links, or beyond the limits of number and size, are skipped and reported.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / ".claude-plugin").mkdir(parents=True, mode=0o700)
    about = {"name": PLUGIN, "version": "1.0.0", "description": "Skills that the user switched on."}
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(about), encoding="utf-8")
    problems = []
    for skill in skills:
        target = folder / "skills" / skill.name
        target.mkdir(parents=True, mode=0o700)
        left_out = _copy(skill, target)
        head = f"name: {json.dumps(skill.name)}\ndescription: {json.dumps(skill.description)}"
        (target / _FILE).write_text(f"---\n{head}\n---\n{skill.body}", encoding="utf-8")
        if left_out:
            named = clean_line(", ".join(left_out), 200)
            problems.append(
                f"These files of the skill {skill.name} are skipped, as they are links, unreadable or not trusted, "
                f"or exceed the limit of {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB: {named}."
            )
    return problems


def _read(text: str, path: Path, place: DefinitionFolder, origin: str) -> Skill:
    given, body = split_front_matter(text, origin=origin, what="a skill")
    fields: _Fields = converted({"name": path.parent.name, **given}, _Fields, origin)
    description = clean_line(fields.description, LONGEST_DESCRIPTION)
    body = without_mentions(clean(body))
    return Skill(fields.name, description, place.source, origin, body, path.parent, place.check)


def _copy(skill: Skill, target: Path) -> list[str]:
    """Copy the files of a skill next to its instructions; returns those that were skipped."""
    left_out: list[str] = []
    count = size = 0
    for path in readable_below(skill.folder):
        relative = str(path.relative_to(skill.folder))
        if relative == _FILE:
            continue
        try:
            if path.is_symlink() or not path.is_file() or count >= _MOST_FILES:
                raise OSError
            data = read_regular(path, _MOST_BYTES - size, follow=True)
            skill.check(path, data)
            size += len(data)
            (target / relative).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (target / relative).write_bytes(data)
            count += 1
        except (OSError, SettingsError):
            left_out.append(relative)
    return left_out
