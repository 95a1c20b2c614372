"""The places outside of this machine in a text: addresses of any scheme, hosts, IP addresses and mailboxes.

A text is also read as a program may read it: percent-decoded, from Base64 or hexadecimal digits, and without invisible
characters. What may be a place and may be something else counts as one, except for names of files.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from core.agent.permissions.arguments import fold

__all__ = ["MAILBOX", "is_local_file", "places_in", "starts_with_address"]

MAILBOX = "mailto:"
_NETWORK = (
    r"https?|wss?|ftps?|sftp|ssh|scp|git|svn|gopher|ldaps?|smb|nfs|rsync|telnet|imaps?|smtps?|ircs?|rediss?|mongodb|"
    r"postgres(?:ql)?|mysql|amqps?|mqtts?|tcp|udp|rtmps?|rtsp|dns"
)
_REST = r"[^\s<>\"'`]*"
_ADDRESS = re.compile(rf"(?<![\w+.-])([a-z][a-z0-9+.-]{{1,20}}):[/\\]{{1,3}}([^\s/\\?#<>\"'`]*){_REST}", re.I)
_WITHOUT_SLASHES = re.compile(
    rf"(?<![\w+.-])(?:mailto|tel|sms|xmpp|sips?|{_NETWORK}):(?=[^\s/\\]){_REST}", re.I
)
_IS_NETWORK = re.compile(_NETWORK, re.I)
_FIRST = re.compile(r"[/\\]{2}[^\s/\\]|https?:", re.I)
_MAILBOX = re.compile(
    r"(?<![^\s@<>()\[\],;:\"'|=])[^\s@<>()\[\],;:\"'|=]{1,64}@([\w-]{1,63}(?:\.[\w-]{1,63})+)"
)
_BEHIND = rf"(?::\d{{1,5}})?(?:[/?#\\:]{_REST})?"
_HOST = re.compile(
    rf"(?<![\w@-])(?:[\w-]{{1,63}}\.){{1,40}}(xn--[\w-]{{1,59}}|[^\W\d_]{{2,24}})(?![\w-]){_BEHIND}"
)
_NUMERIC = re.compile(
    rf"(?<![\w.])(?:(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w.])|\[[0-9a-f:.]*:[0-9a-f:.]*\]|[a-z][\w-]{{0,62}}:\d{{2,5}}(?=/))"
    rf"{_BEHIND}",
    re.I,
)
_CODED = re.compile(r"[\w+/-]{16,}={0,2}")
_ENDS = ".,;:!?)]}"
# Endings of files, and of names in programs and sentences, that are top-level domains, too.
_FILES = frozenset(["md", "py", "sh", "rs", "pl", "zip", "mov", "cc", "ps", "so", "app"])
_NAMES = _FILES | {"id", "me", "do", "in", "is", "it", "to", "at", "be", "my", "no"}
_USUAL = frozenset(
    {
        "com",
        "net",
        "org",
        "edu",
        "gov",
        "mil",
        "int",
        "biz",
        "xyz",
        "dev",
        "example",
        "invalid",
        "local",
        "onion",
    }
)
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
    path = text.strip().removeprefix("file://")
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
    return bool(_IS_NETWORK.fullmatch(found[1]) or re.search(r"[.:@]", found[2]))


def _is_name(found: re.Match[str], files: bool, *, alone: bool) -> bool:
    """Whether the name of a host is more likely that of a file, or of a value in a program."""
    name = found[0].rstrip(_ENDS)
    if not name.endswith(found[1]):
        return False
    label = found[1].lower()
    if label in _FILES and found.string[: found.start()].endswith("/"):
        return True
    if name.count(".") > 1 or alone:
        return files and name.count(".") == 1 and label in _FILES
    # `customers.city` is a column.
    return label in _NAMES or (label.isascii() and len(label) > 2 and label not in _USUAL)


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
    return label.lower().startswith("xn--") or label.lower() in _top_level_domains()


@cache
def _top_level_domains() -> frozenset[str]:
    """The top-level domains of the internet, and those that are reserved for private networks and examples."""
    return frozenset(Path(__file__).with_name("top_level_domains.txt").read_text("utf-8").split())
