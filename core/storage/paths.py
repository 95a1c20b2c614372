"""Safe names of files, made from untrusted text, and checked paths below a folder: relative, plain, not too long."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from ua_tui.core.errors import PathRefused
from ua_tui.core.text import clean_line, is_unsafe

_HASH = 8
_WORD = re.compile(r"[a-z0-9]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_OUTSIDE = re.compile(r"(?:[^a-z0-9_.-]|\.{2,}|_)+")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}$")
# Windows knows `.git` as `GIT~1`, too.
_PROTECTED = re.compile(r"[.-]|.*~\d|(?:agents|claude|gemini)(?:\.\w+)*\.md$", re.DOTALL)
_OWN = frozenset({".actions.json", ".conversation", ".letters", ".lock", ".owner", ".versions"})


def is_protected(part: str) -> bool:
    """Whether a component of a path is hidden, looks like an option, or has instructions for agents.

    Programs obey such files, or take their names for options. Those that a session itself keeps are no such files.
    """
    folded = unicodedata.normalize("NFKC", part).casefold()
    return part not in _OWN and _PROTECTED.match(folded) is not None


def words_of(title: str) -> str:
    """The words of a title with hyphens between them, for the name of a file; empty without Latin letters or digits."""
    plain = unicodedata.normalize("NFKD", title.casefold()).encode("ascii", "ignore").decode()
    return "-".join(_WORD.findall(plain))


def safe_name(text: str, limit: int = 60) -> str:
    """Make a file name of [a-z0-9_.-] from any text: never empty, reserved, hidden or longer than `limit`.

    Capital letters become small and single spaces underscores; when anything else is lost, a short hash of
    the text keeps names apart that would otherwise be equal. A short file suffix stays at the end.
    """
    limit = max(limit, 2 * _HASH)
    plain = re.sub(r"(?<=\S) (?=\S)", "_", text.lower())
    folded = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode("ascii").lower()
    name = _OUTSIDE.sub("_", folded).strip("._- ")
    if (
        name
        and name == plain
        and len(name) <= limit
        and not _RESERVED.fullmatch(name)
        and not is_protected(name)
    ):
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    found = _SUFFIX.search(name)
    suffix = found[0] if found and found.start() > 0 else ""
    stem = name[: len(name) - len(suffix)][: limit - _HASH - 1 - len(suffix)].strip("._-")
    return f"{stem}_{digest}{suffix}" if stem else f"{digest}{suffix}"


def numbered(path: str) -> Iterator[str]:
    """The path itself, then the same with -2, -3 and so on before its suffix."""
    stem, dot, suffix = path.rpartition(".")
    if not stem or stem.endswith("/") or "/" in suffix:
        stem, dot, suffix = path, "", ""
    yield path
    for number in range(2, 10_000):
        yield f"{stem}-{number}{dot}{suffix}"


def artifact_name(stem: str, suffix: str, now: datetime, unique: str) -> str:
    """Name an artifact `{safe stem}_{HHMMSS}_{unique}{suffix}`, at most 110 bytes long.

    `unique` distinguishes artifacts of the same second.
    """
    safe_stem = safe_name(stem).replace(".", "_")
    safe_unique = re.sub(r"[^a-z0-9]+", "", unique.lower())[:24] or short_id()
    safe_suffix = re.sub(r"\.{2,}", ".", re.sub(r"[^a-z0-9.]+", "", suffix.lower())).rstrip(".")[:16]
    return f"{safe_stem}_{now:%H%M%S}_{safe_unique}{safe_suffix}"


def short_id() -> str:
    """Return 8 random characters of a-z and 2-7: 40 bits."""
    return base64.b32encode(secrets.token_bytes(5)).decode("ascii").lower()


TEMPORARY = ".ua-tmp"
"""The suffix of files that are still being written."""

_LONGEST_PATH = 1024
_LONGEST_PART = 200


def split_path(relative: str) -> tuple[str, ...]:
    """Split a path below a root into its components.

    Raises:
        PathRefused: the path is not plainly inside a root, or names something protected; the message
            states the rule.
    """
    if not relative:
        raise refused(relative, "the path is empty", "give a path relative to the folder")
    if "\0" in relative:
        raise refused(relative, "the path contains a NUL character", "remove it")
    if is_unsafe(relative) or "\n" in relative or "\t" in relative:
        raise refused(relative, "the path contains control or invisible characters", "remove them")
    if "\\" in relative:
        raise refused(relative, "the path contains a backslash", "separate folders by /")
    if relative.startswith("/") or (relative[1:2] == ":" and relative[0].isalpha()):
        raise refused(relative, "the path is absolute", "give a path relative to the folder")
    if relative.startswith("~"):
        raise refused(relative, "the path begins with ~", "give a path relative to the folder")
    if len(relative.encode()) > _LONGEST_PATH:
        raise refused(relative, f"the path is longer than {_LONGEST_PATH} bytes", "shorten it")
    parts = tuple(relative.split("/"))
    for part in parts:
        if part == "..":
            raise refused(relative, "the path contains '..'", "stay inside the folder")
        if part in {"", "."}:
            raise refused(relative, "the path contains an empty or '.' component", "remove it")
        if len(part.encode()) > _LONGEST_PART:
            raise refused(relative, f"a name is longer than {_LONGEST_PART} bytes", "shorten it")
        if is_protected(part):
            rule = (
                f"'{clean_line(part, 60)}' is a protected name: hidden, an option, or instructions for agents"
            )
            raise refused(relative, rule, "choose another name that begins with a letter")
        if part.endswith(TEMPORARY):
            raise refused(relative, f"names ending in {TEMPORARY} are temporary files", "choose another")
    return parts


def refused(relative: str, rule: str, remedy: str) -> PathRefused:
    """Make the error for a refused path: the rule it breaks, and what to do."""
    return PathRefused(f"the path {shown(relative)} is refused: {rule}; {remedy}")


def shown(relative: str) -> str:
    """A path as it is shown in messages."""
    return f"'{clean_line(relative, 120)}'"
