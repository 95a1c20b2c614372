"""Where a name after an `@` leads, and which names look like files but lead nowhere.

The agent reads by this what a query names, and the prompt offers, shows and marks by it what will be read.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

import msgspec

from ua_tui.core.agent.attachments.copying import FOLDER
from ua_tui.core.agent.attachments.mentions import mention_of, mentions_in
from ua_tui.core.agent.bounds import MOST_ENTRIES
from ua_tui.core.storage.kinds import has_known_ending

# A number in brackets is that of a copy: `report(1).csv`.
_CODE = re.compile(r"\((?!\d+\))|['\[\]{}<>=]")


class AttachmentPlaces(msgspec.Struct, frozen=True):
    """The folders in which names are looked for.

    Attributes:
        session: the session's folder.
        start: the folder that the program was started in, which comes first; None if the queries are of other people,
            whose names lead to no other files of this machine.
    """

    session: Path
    start: Path | None = None

    def candidates(self, name: str) -> tuple[Path, ...]:
        """Where a name may lead, the first choice first."""
        try:
            path = Path(name).expanduser()
        except RuntimeError:
            return ()
        if path.is_absolute() or self.start is None:
            return (self.session / path,)
        both = (self.start / path, self.session / path)
        # What was added to the session is there, whatever else has its name; `./` names the other one.
        return both[::-1] if name.startswith(f"{FOLDER}/") else both

    def locate(self, name: str) -> Path | None:
        """The path that a name leads to, whether or not anything is there; None if it is no path.

        Nothing is looked at if there is only one candidate.
        """
        found = self.candidates(name)
        if len(found) < 2:
            return next(iter(found), None)
        return next((each for each in found if os.path.exists(each)), self.session / name)

    def mention(self, path: Path, *, is_folder: bool = False) -> str | None:
        """What names a path in a query, as short as it can be; None if it cannot be in a text."""
        path = Path(os.path.abspath(path))
        names = [str(path)]
        for root in (self.session, self.start):
            if root is not None and path.is_relative_to(root):
                below = str(path.relative_to(root))
                names = [below, f"./{below}", *names]
        name = min((each for each in names if self.locate(each) == path), key=len)
        return mention_of(f"{name}/" if is_folder else name)


def missing_names(text: str, places: AttachmentPlaces) -> dict[str, str]:
    """The names in a text that look like files and lead nowhere, each with the name that may be meant, or none.

    Other words after an `@` (people, decorators, packages, names of servers) are not among them. Call it in a thread.
    """
    found: dict[str, str] = {}
    for mention in mentions_in(text):
        name, is_quoted = mention.path, text[mention.start + 1] == '"'
        paths = places.candidates(name)
        is_code = text.count("```", 0, mention.start) % 2 == 1
        if name in found or is_code or any(os.path.lexists(each) for each in paths):
            continue
        meant = "" if _names_server(name) else _nearest(name, paths)
        if meant or is_quoted or _looks_like_file(name, paths):
            found[name] = meant
    return found


def _names_server(name: str) -> bool:
    scheme, colon, _ = name.partition(":")
    return bool(colon) and "." not in scheme and "/" not in scheme


def _looks_like_file(name: str, paths: tuple[Path, ...]) -> bool:
    if _names_server(name) or _CODE.search(name):
        return False
    if name.startswith(("./", "../", "~/")) or name.endswith("/") or has_known_ending(name.partition(":")[0]):
        return True
    return "/" in name and any(os.path.isdir(path.parent) and path.parent != Path("/") for path in paths)


def _nearest(name: str, paths: tuple[Path, ...]) -> str:
    """The name of a file beside it that begins with the name, or is much like it; empty if there is none."""
    folder, slash, typed = name.rpartition("/")
    for path in paths:
        try:
            with os.scandir(path.parent) as entries:
                names = [entry.name for entry in islice(entries, MOST_ENTRIES)]
        except (OSError, ValueError):
            continue
        begun = sorted(each for each in names if _begins(each.casefold(), typed.casefold()))
        # A plain word is rather a person.
        alike = get_close_matches(typed, names, 1, 0.8) if "." in typed or slash else []
        for each in (*begun, *alike):
            return f"{folder}{slash}{each}"
    return ""


def _begins(name: str, typed: str) -> bool:
    return bool(typed) and name.startswith(typed) and name[len(typed) :][:1] in {".", " ", "_", "-", "("}
