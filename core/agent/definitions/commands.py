"""Custom commands: prompts in Markdown files, which a person sends as `/name` with arguments.

A file in a folder below has the folder in its name, as the agent's command line has it: `git/fix.md` is `/git:fix`.
The agent's command line sees no settings of the folder or of the user, so the text is written out here. Nothing in such
a file is run, and no tool is allowed by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from ua_tui.core.agent.bounds import LONGEST_NAME
from ua_tui.core.agent.definitions.files import (
    Definition,
    DefinitionFolder,
    FoundDefinitions,
    find_definitions,
    split_front_matter,
)
from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.text import clean_line, shell_words

_NAME = r"(?i)[a-z][\w-]{0,63}(:[a-z][\w-]{0,63})*"
_CALL = r"(?s)/(\S+)(?:\s+(.*))?"
_PLACE = r"\$(?:ARGUMENTS(?:\[(?P<from_0>\d)\])?(?!\w)|(?P<number>\d)(?![.,]?\d))"
_UNQUOTED = r"(?m)^(description:|argument-hint:)[ \t]+([^\s\"'|>].*)$"


class CustomCommand(Definition, frozen=True):
    """A prompt with a name; `$ARGUMENTS`, `$1` to `$9` in it stand for what follows the name.

    `hint` says what may follow it. `$ARGUMENTS[0]` is the first argument; so is `$0`, and `$1` the second where `$0` is
    used: the agent's command line counts in both ways, depending on its version.
    """

    hint: str
    prompt: str


def find_commands(places: Sequence[DefinitionFolder]) -> FoundDefinitions[CustomCommand]:
    """Read every custom command; the first of a name counts, and an invalid one is skipped and reported."""
    return find_definitions(places, "*.md", _read, deep=True)


def command_name(path: PurePath) -> str:
    """The name of the command in a file, by its path in the folder of the commands."""
    return ":".join(path.with_suffix("").parts)


def _read(text: str, path: Path, place: DefinitionFolder, origin: str) -> CustomCommand:
    name = command_name(path.relative_to(place.folder))
    if not re.fullmatch(_NAME, name):
        raise SettingsError(
            f"{origin} has an invalid name or folder: use letters, digits, - and _, and begin with a letter"
        )
    fields: JsonMapping = {}
    if text.startswith("---\n"):
        fields, text = _split(text, origin)
    if not text.strip():
        raise SettingsError(f"{origin} has no prompt: write one")
    first = text.strip().partition("\n")[0].lstrip("# ")
    description = _text(fields, "description") or clean_line(first, LONGEST_NAME)
    hint = _text(fields, "argument-hint")
    return CustomCommand(name.casefold(), description, place.source, origin, hint, text.strip())


def _split(text: str, origin: str) -> tuple[JsonObject, str]:
    """Split a file into front matter and prompt; texts may lack the quotes that YAML needs, as they often do."""
    what = "the file of a command"
    try:
        return split_front_matter(text, origin=origin, what=what)
    except SettingsError:
        head, line, prompt = text.partition("\n---\n")
        quoted = re.sub(_UNQUOTED, lambda found: f"{found[1]} {json.dumps(found[2].strip())}", head)
        with suppress(SettingsError):
            return split_front_matter(quoted + line + prompt, origin=origin, what=what)
        raise


def _text(fields: JsonMapping, name: str) -> str:
    value = fields.get(name)
    if isinstance(value, list):
        # `[file]` without quotes is a list in YAML.
        value = f"[{' '.join(map(str, value))}]"
    return "" if value is None else clean_line(str(value), LONGEST_NAME)


def expand(text: str, commands: Sequence[CustomCommand]) -> str:
    """The prompt that a text stands for: that of the command it names, with its arguments; else the text itself."""
    call = re.fullmatch(_CALL, text.strip())
    name = call[1].casefold() if call is not None else ""
    command = next((each for each in commands if each.name == name), None)
    if command is None or call is None:
        return text
    arguments = (call[2] or "").strip()
    words = shell_words(arguments)

    first = 0 if any(place["number"] == "0" for place in re.finditer(_PLACE, command.prompt)) else 1

    def value(place: re.Match[str]) -> str:
        if place["number"] is not None:
            at = int(place["number"]) - first
        elif place["from_0"] is not None:
            at = int(place["from_0"])
        else:
            return arguments
        return words[at] if at < len(words) else ""

    prompt, count = re.subn(_PLACE, value, command.prompt)
    return f"{prompt}\n\nARGUMENTS: {arguments}" if arguments and not count else prompt
