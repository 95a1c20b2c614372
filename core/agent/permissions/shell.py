"""Shell commands in permission rules: whether one is a single command, and whether its words match a pattern.

A rule that allows matches single commands only, word by word. A rule that asks or denies matches wherever its words
stand in a command; it is a reminder and no boundary, because a shell can write a command in countless ways.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from ua_tui.core.agent.permissions.arguments import fold, is_plain
from ua_tui.core.storage.regular_file import open_regular

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_PATTERN = str.maketrans("*?[{~", "_____")
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
    words = shlex.split(_QUOTED.sub(lambda found: found[0].translate(_PATTERN), command))
    program = PurePosixPath(words[0]).name.lower()
    if program in _data()["programs"]:
        return all(_is_harmless(word, _data()["programs"][program]) for word in words[1:])
    if program != "git":
        starts = program in _data()["starters"] or not set("*?[{=").isdisjoint(words[0])
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
    return set("*?[{").isdisjoint(word) and (
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


# Plain words; in quotation marks, too, what the shell takes as it is. Shells differ about blanks other than the space.
_PLAIN = re.compile(r"""(?:[^\s;&|<>()$`\\'"]| |'[^']*'|"[^"$`\\]*")+""")
_BREAKS = re.compile(r"[\s;&|<>(){}$`=]+")
# What a shell may expand to `..`, or to several words.
_CLIMBS = re.compile(r"\.\.|\{|(?:^|/)\.[*?\[]")


# One command is compared with every rule.
@lru_cache(8)
def command_words(command: str) -> tuple[str, ...] | None:
    """The words of a command; None if it is more than one plain command, or runs or redirects something within it."""
    if not is_plain(command) or _PLAIN.fullmatch(command) is None:
        return None
    return tuple(shlex.split(command)) or None


@lru_cache(4_096)
def words_of_pattern(pattern: str) -> tuple[str, ...]:
    """The words of a pattern; `git diff:*` is written as `git diff *`.

    Raises:
        ValueError: it is not a single command.
    """
    text = f"{pattern[:-2]} *" if pattern.endswith(":*") else pattern
    words = command_words(text)
    if words is None:
        raise ValueError("a rule is about one plain command, without ; & | < > ( ) $ ` and \\")
    return words


def words_match(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a command match those of a pattern.

    `*` at the end stands for any further words. `*` within a word stands for no way up, and at its beginning for no
    option.
    """
    if pattern[-1] == "*":
        pattern, words = pattern[:-1], words[: len(pattern) - 1]
    return len(words) == len(pattern) and all(
        _word_matches(wanted, word)
        and not ("*" in wanted and _CLIMBS.search(word))
        and not (wanted.startswith("*") and can_become_option(word))
        for wanted, word in zip(pattern, words, strict=True)
    )


def is_anywhere_in(pattern: Sequence[str], command: str) -> bool:
    """Whether the words of a pattern stand in a command, in any of its parts, however they are quoted."""
    wanted = [fold(word) for word in (pattern[:-1] if pattern[-1] == "*" else pattern)]
    unquoted = re.sub(r"\\\n|[\\'\"]", "", fold(command))
    words = [word for word in _BREAKS.split(unquoted) if word]
    return any(
        all(map(_word_or_its_name_matches, wanted, words[at : at + len(wanted)]))
        for at in range(len(words) - len(wanted) + 1)
    )


def _word_or_its_name_matches(pattern: str, word: str) -> bool:
    return _word_matches(pattern, word) or _word_matches(pattern, word.rsplit("/", 1)[-1])


def _word_matches(pattern: str, word: str) -> bool:
    return fnmatchcase(word, pattern.replace("[", "[[]").replace("?", "[?]"))
