"""Shell commands in permission rules: whether one is a single command, and whether its words match a pattern.

A rule that allows matches single commands only, word by word. A rule that asks or denies matches wherever its words
stand in a command; it is a reminder and no boundary, because a shell can write a command in countless ways.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from ua_tui.core.agent.permissions.arguments import fold, is_plain
from ua_tui.core.agent.permissions.programs import can_become_option

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
