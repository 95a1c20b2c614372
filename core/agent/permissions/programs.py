"""Which commands ask whatever a rule says, because their arguments can start other programs or write files.

`programs.toml` has the programs that need thought, and what is harmless of them: a command of git or find passes only
with options that are listed there. Whatever is not known asks.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from ua_tui.core.storage.regular_file import open_regular

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_PATTERN = re.compile(r"[*?\[{]")
_CAN_BECOME_OPTION = re.compile(r"[-*?\[]|.*\{.*(?:,|\.\.)")
_JOINED = re.compile(r"-(?P<letters>[A-Za-z]*)[\d.,]*[bcwkMG]?")
# With formats such as `%G?` git starts the program that checks signatures.
_CHECKS_SIGNATURE = re.compile(r"%.?G|signature")
# What a shell may expand to a home folder or to `..`.
_LEADS_AWAY = re.compile(r"^~|(?:^|/)\.[*?\[]")
_LINE = re.compile(
    r"[ \t\r]*(?:\[(?P<section>[\w-]+)(?: \"[^\"\\]*\")?\][ \t\r]*|(?P<name>[\w-]+)[ \t\r]*(?:=.*)?|[#;].*)?",
    re.ASCII,
)
# Git reads a configuration elsewhere, or starts a program after it has looked at files.
_OF_REPOSITORY = ("commondir", "hooks/post-index-change")
# How a repository within the repository is written in its index. Git starts itself in it, and obeys its settings.
_SUBMODULE = b"\0\0\xe0\0"


def may_pass(command: str, folder: Path, *, is_open: bool) -> bool:
    """Whether a rule that names a plain command may allow it in `folder`; `is_open` if the rule has a `*`."""
    # What is quoted is no pattern for the shell.
    words = shlex.split(_QUOTED.sub(lambda found: _PATTERN.sub("_", found[0]).replace("~", "_"), command))
    program = PurePosixPath(words[0]).name.lower()
    if program in _data()["programs"]:
        return all(_is_harmless(word, _data()["programs"][program]) for word in words[1:])
    if program != "git":
        starts = program in _data()["starters"] or re.search(r"[*?\[{=]", words[0])
        return not (is_open and starts)
    for known in _data()["git"]:
        for name in known["commands"]:
            end = 1 + len(name.split())
            if words[1:end] == name.split():
                return all(_is_harmless(word, known) for word in words[end:]) and _reads_only(
                    words[end:], folder
                )
    return False


def can_become_option(word: str) -> bool:
    """Whether a word is an option, or a pattern that a shell may replace by one: by the name of a file."""
    return _CAN_BECOME_OPTION.match(word) is not None


def _is_harmless(word: str, options: Mapping[str, Any]) -> bool:
    if not word.startswith("-"):
        return bool(options.get("names", True)) and not can_become_option(word)
    joined = _JOINED.fullmatch(word)
    return _PATTERN.search(word) is None and (
        word.partition("=")[0] in options["options"]
        or (joined is not None and set(joined["letters"]) <= set(options["letters"]))
    )


def _reads_only(words: Sequence[str], folder: Path) -> bool:
    """Whether git starts no program with these words, and they name no file outside of the repository."""
    folder = folder.resolve()
    above = (folder, *folder.parents)
    try:
        # Git takes the nearest folder that has a usable repository.
        found = [each for each in above if (each / ".git").exists()]
        return (
            found != []
            and not any((each / "objects").exists() and (each / "refs").exists() for each in above)
            and not any(_CHECKS_SIGNATURE.search(word) or _LEADS_AWAY.search(word) for word in words)
            and all((folder / word).resolve().is_relative_to(found[0]) for word in words if word[:1] != "-")
            and all(_starts_nothing(each / ".git") for each in found)
        )
    except (OSError, ValueError):
        return False


def _starts_nothing(repository: Path) -> bool:
    """Whether git starts no program by the files of a repository: all its settings are known to be harmless."""
    if any((repository / name).exists() for name in _OF_REPOSITORY):
        return False
    section = ""
    for line in _read(repository / "config").decode("latin-1").split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            return False
        section = found["section"] or section
        name = f"{section}.{found['name']}".lower()
        if found["name"] and not any(fnmatchcase(name, each) for each in _data()["repository"]["harmless"]):
            return False
    indexes = [*repository.glob("index"), *repository.glob("sharedindex.*")]
    return not any(_SUBMODULE in _read(index) for index in indexes)


def _read(path: Path) -> bytes:
    with os.fdopen(open_regular(path, follow=True), "rb") as file:
        return file.read()


@cache
def _data() -> Any:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
