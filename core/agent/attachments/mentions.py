"""The names of files in a query, as `@notes.md` or `@"my notes.md"`: finds them in a text, and writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ua_tui.core.text import is_unsafe

BEGINS = r"""(?:^|(?<=[\s(\["'“‘«（「,;，、]))@"""
"""What a name begins with, as a regular expression: an `@` that is not in the middle of a word."""
# A second `@` makes a mailbox, a person or a version of it, unless it begins another name.
_MENTION = re.compile(
    BEGINS + r"""(?:(["'])((?:(?!\1)[^\n])+)\1|((?:\\ |[^\s"@])++)(?:(?<=[,;，、])|(?!@)))"""
)
_SIGN = re.compile(r"(?<!\w)@(?=\S)")
_PLAIN = re.compile(r"[^\s\"'’@()\[\]{},;<>]+")
_PUNCTUATION = ".,;:!?)]}>'’”»…、。，；：！？）」』】"


class Mention(msgspec.Struct, frozen=True):
    """A file named in a text: its path as it is written, and where the name begins and ends."""

    path: str
    start: int
    end: int


def mentions_in(text: str) -> Iterator[Mention]:
    """Every name of a file in a text, in order; punctuation at its end is not part of it."""
    for found in _MENTION.finditer(text):
        written = found[2] or found[3].rstrip(_PUNCTUATION).removesuffix("'s").removesuffix("’s").rstrip(
            _PUNCTUATION
        )
        if written:
            end = found.end() if found[2] else found.start(3) + len(written)
            yield Mention(written if found[2] else written.replace("\\ ", " "), found.start(), end)


def without_mentions(text: str) -> str:
    """Separate each `@` from the word after it, in a text that names no files: a server's, a skill's or a command's.

    The agent's command line reads any file that a skill or one of its own commands names, without asking anybody.
    """
    return _SIGN.sub("@ ", text)


def mention_of(path: str) -> str | None:
    """Write the name of a file; None if the path has characters that cannot be in a text."""
    if is_unsafe(path) or not path.isprintable() or '"' in path:
        return None
    return f"@{path}" if _PLAIN.fullmatch(path) and path[-1] not in _PUNCTUATION else f'@"{path}"'
