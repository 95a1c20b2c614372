"""The places outside of this machine in a text: addresses of any scheme, hosts, IP addresses and mailboxes.

A text is also read as a program may read it: percent-decoded, from Base64 or hexadecimal digits, and without invisible
characters. What may be a place and may be something else counts as one, except for names of files.
"""

from __future__ import annotations

import base64
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from ua_tui.core.agent.permissions.arguments import fold

MAILBOX = "mailto:"
_WORDS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
_REST = r"[^\s<>\"'`]*"
_BEHIND = rf"(?::\d{{1,5}})?(?:[/?#\\:]{_REST})?"
_ADDRESS = re.compile(rf"(?<![\w+.-])([a-z][a-z0-9+.-]{{1,20}}):[/\\]{{1,3}}([^\s/\\?#<>\"'`]*){_REST}", re.I)
_SCHEMES = "|".join(_WORDS["schemes"] | _WORDS["without_slashes"])
_WITHOUT_SLASHES = re.compile(rf"(?<![\w+.-])(?:{_SCHEMES}):(?=[^\s/\\]){_REST}", re.I)
_FIRST = re.compile(r"[/\\]{2}[^\s/\\]|https?:", re.I)
_LOCAL_PART = r"[^\s@<>()\[\],;:\"'|=]"
_MAILBOX = re.compile(rf"(?<!{_LOCAL_PART}){_LOCAL_PART}{{1,64}}@([\w-]{{1,63}}(?:\.[\w-]{{1,63}})+)")
_LABELS = r"(?:[\w-]{1,63}\.){1,40}(xn--[\w-]{1,59}|[^\W\d_]{2,24})(?![\w-])"
_HOST = re.compile(rf"(?<![\w@-]){_LABELS}{_BEHIND}")
_NUMBERS = r"(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|\[[0-9a-f:.]*:[0-9a-f:.]*\]|[a-z][\w-]{0,62}:\d{2,5}(?=/)"
_NUMERIC = re.compile(rf"(?<![\w.])(?:{_NUMBERS}){_BEHIND}", re.I)
_CODED = re.compile(r"[\w+/-]{12,}={0,2}")
_ENDS = ".,;:!?)]}"
Hosts = Literal["anywhere", "alone", "nowhere"]


def places_in(text: str, *, whole: bool = True, hosts: Hosts = "anywhere", files: bool = True) -> list[str]:
    """The places in a text: addresses as they are, hosts as `https://host/path`, mailboxes as `mailto:name@host`.

    With `whole` a text that begins with an address is that address, with whatever follows it. `hosts` says which hosts
    and mailboxes count, and `files` whether a text such as `main.rs` can be the name of a file.
    """
    head = text.lstrip()
    if whole and (_FIRST.match(head) or ((found := _ADDRESS.match(head)) and _leads_outside(found))):
        return [text]
    if places := list(_places(text, hosts, files)):
        return places
    return [text] if any(any(_places(each, hosts, files)) for each in _readings(text)) else []


def starts_with_address(text: str) -> bool:
    """Whether a text is an address, a host or a mailbox, and not a text in which there is one."""
    return len(text.split()) == 1 and bool(places_in(text))


def is_local_file(text: str) -> bool:
    """Whether a text is the path of a file of this machine, or leads out of a folder."""
    path = os.path.expandvars(unquote(text.strip().removeprefix("file:")))
    if ".." in re.split(r"[/\\]", path):
        return True
    if not path.startswith(("/", "~")) or len(path) > 4_096:
        return False
    with suppress(OSError, ValueError, RuntimeError):
        return path.strip("/") != "" and Path(path).expanduser().exists()
    return True


def _places(text: str, hosts: Hosts, files: bool) -> Iterator[str]:
    text = text.replace("\\/", "/")
    yield from (found[0].rstrip(_ENDS) for found in _ADDRESS.finditer(text) if _leads_outside(found))
    rest = _ADDRESS.sub(" ", text)
    yield from (found[0].rstrip(_ENDS) for found in _WITHOUT_SLASHES.finditer(rest))
    if hosts == "nowhere" or (hosts == "alone" and len(rest.split()) != 1):
        return
    for found in _MAILBOX.finditer(rest):
        if _is_top_level(found[1].rpartition(".")[2]):
            yield f"{MAILBOX}{found[0].lower()}"
    yield from (f"https://{found[0].rstrip(_ENDS)}" for found in _NUMERIC.finditer(rest))
    for found in _HOST.finditer(rest):
        if _is_top_level(found[1]) and not _is_name(found, files, alone=found[0] == text.strip()):
            yield f"https://{found[0].rstrip(_ENDS)}"


def _leads_outside(found: re.Match[str]) -> bool:
    """Whether an address is of a host: in schemes that are not of the network a plain word is a name on a server."""
    return found[1].lower() in _WORDS["schemes"] or re.search(r"[.:@]", found[2]) is not None


def _is_name(found: re.Match[str], files: bool, *, alone: bool) -> bool:
    """Whether the name of a host is more likely that of a file, or of a value in a program."""
    name = found[0].rstrip(_ENDS).partition("#")[0]
    if not name.endswith(found[1]):
        return False
    label = found[1].lower()
    is_file = label in _WORDS["files"]
    if is_file and found.string[: found.start()].endswith("/"):
        return True
    if alone or name.count(".") > 1:
        return is_file and files and name.count(".") == 1
    is_country = len(label) == 2 and label not in _WORDS["words"]
    return is_file or not (is_country or label in _WORDS["usual"] or not label.isascii())


def _readings(text: str) -> Iterator[str]:
    """The text as a program may read it."""
    folded = re.sub("[。．｡]", ".", fold(text))  # full stops that count as one in hosts
    if folded != text.lower():
        yield folded
    if "%" in text:
        yield unquote(text)
    for word in _CODED.findall(text):
        with suppress(ValueError):
            yield bytes.fromhex(word).decode()
        with suppress(ValueError):
            padded = word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4)
            yield base64.b64decode(padded, altchars=b"-_" if re.search("[-_]", word) else None).decode()


def _is_top_level(label: str) -> bool:
    return label.lower().startswith("xn--") or label.lower() in _WORDS["top_level"]
