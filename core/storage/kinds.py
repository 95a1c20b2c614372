"""Kinds of files: what the agent may write, so that it configures and starts no other program, and what is a document.

`kinds.toml` lists what is allowed. A name that is not understood is refused.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from ua_tui.core.json_values import table_of
from ua_tui.core.storage.folders import ARTICLE_FOLDER, ARTICLE_PREFIX
from ua_tui.core.storage.paths import refused, split_path
from ua_tui.core.storage.workspace import is_record

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_PROGRAMS = (b"#!", b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe")
_ENDINGS = ("documents", "others", "data", "code")


def check_writable(relative: str, head: bytes = b"") -> None:
    """Check that the agent may write a file that begins with `head` in the session's folder.

    Raises:
        PathRefused: the path is not plainly inside, is a record of the session, or is of a kind that other programs
            obey or start; the message says what works.
    """
    split_path(relative)
    # An agent that could change a record, or a page that was read, could change what it has done and what it knows of.
    if is_record(relative) or relative.lower().startswith(f"{ARTICLE_FOLDER}/{ARTICLE_PREFIX}"):
        raise refused(relative, "it is a record that the session itself keeps", "choose another name")
    name, kinds = unicodedata.normalize("NFKC", relative.rpartition("/")[2]), _kinds()
    stem, _, ending = name.rpartition(".")
    ending = ending.lower()
    if not stem and ending in kinds["plain"]:
        return
    kind = next((each for each in _ENDINGS if ending in kinds[each]), "")
    if not stem or not kind:
        rule = "it is not a document, data or text of a known kind"
        raise refused(relative, rule, "choose an ending such as .md, .html, .csv, .json or .txt")
    if "".join(filter(str.isalnum, stem.split(".")[0].lower())) in kinds["reserved"]:
        raise refused(
            relative, "programs follow instructions in files of this name", "add a word for its content"
        )
    if head.startswith(_PROGRAMS) and not (kind == "code" and head.startswith(b"#!")):
        raise refused(relative, "it looks like a program", "write text or data")
    if kind in {"data", "code"} and not _says_what_it_holds(stem, kind):
        rule = "it could be the settings, a test or a part of a program"
        raise refused(relative, rule, f"say in several words what it contains, such as market_data.{ending}")


def is_document(name: str, head: bytes) -> bool:
    """Whether a file is for people to read: a text, a table, a picture or an office file, by its name and beginning."""
    return name.rpartition(".")[2].lower() in _kinds()["documents"] and not head.startswith(_PROGRAMS)


def has_known_ending(name: str) -> bool:
    """Whether a name ends as that of a file of any kind that is known here."""
    _, dot, ending = name.rpartition(".")
    return bool(dot) and any(ending.lower() in _kinds()[each] for each in (*_ENDINGS, "sources"))


def _says_what_it_holds(stem: str, kind: str) -> bool:
    """Whether a name has several words, a topic or a year, and no word for settings where those have it."""
    kinds = _kinds()
    first, *more = stem.split(".")
    words = [word.lower() for word in _WORD.findall(first)]
    singular = {
        form
        for word in words
        for form in (word, word.removesuffix("s"), f"{word[:-3]}y" if word.endswith("ies") else word)
    }
    # Short names such as `log4j` are of programs.
    several = len(words) > 1 and sum(map(len, words)) > 5
    if kind == "code" and (stem.lower() in sys.stdlib_module_names or stem.startswith("_")):
        return False
    return (
        (several or not kinds["topics"].isdisjoint(singular) or re.search(r"\d{4}", first) is not None)
        and kinds["settings"].isdisjoint(words[-1:] if kind == "data" else words)
        # A version or a date may follow, as in `data.v2.json`.
        and all(any(map(str.isdecimal, part)) for part in more)
    )


@cache
def _kinds() -> dict[str, frozenset[str]]:
    return table_of(__file__, "kinds.toml", dict[str, frozenset[str]])
