"""The web addresses that a session may open unasked: where they appeared, and in which spellings they count.

An address appeared if it was in the user's own words, in a search result or in a page that was read. It covers itself
and its beginnings: fewer parts of the path, fewer parameters of the query, nothing added. These differences do not
matter, as they carry nothing: http or https, the usual port, `www.`, a slash at the end, and the encoding of characters
outside of ASCII. Every other difference does: the capitals and the percent-encoding of an address could spell a secret.
An address with a user name never counts as known. Mailboxes and addresses of other schemes count as they are.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urljoin, urlsplit

import msgspec

from ua_tui.core.agent.bounds import PIECE
from ua_tui.core.agent.permissions.arguments import WORDS, fold
from ua_tui.core.net.addresses import ascii_host
from ua_tui.core.net.urls import DEFAULT_PORTS

MAILBOX = "mailto:"
_REST = r"[^\s<>\"'`]*"
_BEHIND = rf"(?::\d{{1,5}})?(?:[/?#\\:]{_REST})?"
_ADDRESS = rf"(?i)(?<![\w+.-])([a-z][a-z0-9+.-]{{1,20}}):[/\\]{{1,3}}([^\s/\\?#<>\"'`]*){_REST}"
_SCHEMES = "|".join(WORDS["schemes"] | WORDS["without_slashes"])
_WITHOUT_SLASHES = rf"(?i)(?<![\w+.-])(?:{_SCHEMES}):(?=[^\s/\\]){_REST}"
_FIRST = r"(?i)[/\\]{2}[^\s/\\]|https?:"
_LOCAL_PART = r"[^\s@<>()\[\],;:\"'|=]"
_MAILBOX = rf"(?<!{_LOCAL_PART}){_LOCAL_PART}{{1,64}}@([\w-]{{1,63}}(?:\.[\w-]{{1,63}})+)"
_LABELS = r"(?:[\w-]{1,63}\.){1,40}(xn--[\w-]{1,59}|[^\W\d_]{2,24})(?![\w-])"
_HOST = rf"(?<![\w@-]){_LABELS}{_BEHIND}"
_NUMBERS = r"(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|\[[0-9a-f:.]*:[0-9a-f:.]*\]|[a-z][\w-]{0,62}:\d{2,5}(?=/)"
_NUMERIC = rf"(?i)(?<![\w.])(?:{_NUMBERS}){_BEHIND}"
_CODED = r"[\w+/-]{12,}={0,2}"
_STOPS = str.maketrans("。．｡", "...")
_ENDS = ".,;:!?)]}"
Hosts = Literal["anywhere", "alone", "nowhere"]


def places_in(text: str, *, whole: bool = True, hosts: Hosts = "anywhere", files: bool = True) -> list[str]:
    """The places in a text: addresses as they are, hosts as `https://host/path`, mailboxes as `mailto:name@host`.

    With `whole` a text that begins with an address is that address, with whatever follows it. `hosts` says which hosts
    and mailboxes count, and `files` whether a text such as `main.rs` can be the name of a file.
    """
    head = text.lstrip()
    if whole and (re.match(_FIRST, head) or ((found := re.match(_ADDRESS, head)) and _leads_outside(found))):
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
    if ".." in path.replace("\\", "/").split("/"):
        return True
    if not path.startswith(("/", "~")) or len(path) > 4_096:
        return False
    with suppress(OSError, ValueError, RuntimeError):
        return path.strip("/") != "" and Path(path).expanduser().exists()
    return True


def _places(text: str, hosts: Hosts, files: bool) -> Iterator[str]:
    text = text.replace("\\/", "/")
    yield from (found[0].rstrip(_ENDS) for found in re.finditer(_ADDRESS, text) if _leads_outside(found))
    rest = re.sub(_ADDRESS, " ", text)
    yield from (found[0].rstrip(_ENDS) for found in re.finditer(_WITHOUT_SLASHES, rest))
    if hosts == "nowhere" or (hosts == "alone" and len(rest.split()) != 1):
        return
    for found in re.finditer(_MAILBOX, rest):
        if _is_top_level(found[1].rpartition(".")[2]):
            yield f"{MAILBOX}{found[0].lower()}"
    yield from (f"https://{found[0].rstrip(_ENDS)}" for found in re.finditer(_NUMERIC, rest))
    for found in re.finditer(_HOST, rest):
        if _is_top_level(found[1]) and not _is_name(found, files, alone=found[0] == text.strip()):
            yield f"https://{found[0].rstrip(_ENDS)}"


def _leads_outside(found: re.Match[str]) -> bool:
    """Whether an address is of a host: in schemes that are not of the network a plain word is a name on a server."""
    return found[1].lower() in WORDS["schemes"] or not set(".:@").isdisjoint(found[2])


def _is_name(found: re.Match[str], files: bool, *, alone: bool) -> bool:
    """Whether the name of a host is more likely that of a file, or of a value in a program."""
    name = found[0].rstrip(_ENDS).partition("#")[0]
    if not name.endswith(found[1]):
        return False
    label = found[1].lower()
    is_file = label in WORDS["files"]
    if is_file and found.string[: found.start()].endswith("/"):
        return True
    if alone or name.count(".") > 1:
        return is_file and files and name.count(".") == 1
    is_country = len(label) == 2 and label not in WORDS["words"]
    return is_file or not (is_country or label in WORDS["usual"] or not label.isascii())


def _readings(text: str) -> Iterator[str]:
    """The text as a program may read it."""
    folded = fold(text).translate(_STOPS)  # full stops that count as one in hosts
    if folded != text.lower():
        yield folded
    if "%" in text:
        yield unquote(text)
    for word in re.findall(_CODED, text):
        with suppress(ValueError):
            yield bytes.fromhex(word).decode()
        with suppress(ValueError):
            padded = word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4)
            yield base64.b64decode(
                padded, altchars=b"-_" if not {"-", "_"}.isdisjoint(word) else None
            ).decode()


def _is_top_level(label: str) -> bool:
    return label.lower().startswith("xn--") or label.lower() in WORDS["top_level"]


MOST_SPELLINGS = 100_000
"""More are forgotten, the oldest first; each takes some 100 bytes."""
MOST_IN_A_TEXT = 5_000
LONGEST = 4_096
MOST_PARTS = 24
# No address of usual length is divided.
_PIECES = rf"(?s).{{1,{PIECE}}}\S{{0,{LONGEST}}}"
# Begins the spelling of a place that is no web address.
_AS_IT_IS = "\n"
_FORBIDDEN = r"[\x00-\x20\x7f-\xa0\\]"
_IN_TEXT = r"(?i)(?:https?://|(?<![\w.@/-])www\.)[^\s<>\"'`\\{}|^\x00-\x20\x7f-\xa0]+"
_BARE = r"(?<![\w.@/:-])(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}(?::\d{1,5})?(?:/[^\s<>\"'`\\]*)?"
_LINK = r"(?i)\]\(\s*<?([^)\s<>]{1,4096})|href\s*=\s*[\"']([^\"'\s<>]{1,4096})"
_AROUND = "()[]*_~.,;:!?…。，、）】」』»”’"
_TRACKING = (
    r"(?i)(?:utm_\w+|at_\w+|ns_\w+|trk\w*|mc_[ce]id|[a-z]*clid|igshid|_g[al]|ref|ref_src|source|src|spm|cmpid|ocid|smid|si|"
    r"feature|srsltid)(?:=|$)"
)
_KEPT = "/?#[]@!$&'()*+,;=:%~-._"


class KnownAddresses(msgspec.Struct, eq=False):
    """Keeps hashes of the spellings of known addresses, not their text."""

    most: int = MOST_SPELLINGS
    _known: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._known)

    def update(self, addresses: Iterable[str]) -> None:
        """Note that addresses or other places appeared."""
        for address in addresses:
            for spelling in _spellings(address.strip()):
                self._known.pop(spelling, None)
                self._known[spelling] = None
            while len(self._known) > self.most:
                del self._known[next(iter(self._known))]

    def covers(self, address: str, *, fragment: bool = True) -> bool:
        """Whether an address, or one that begins with it, appeared; `fragment` says whether that part is sent, too."""
        parts = _split(address)
        if parts is None:
            return _hash(_AS_IT_IS + address) in self._known
        host, path, query, anchor = parts
        return _hash(_join(host, path, query, anchor if fragment else "")) in self._known


def addresses_in_text(text: str, *, base: str = "", bare: bool = False) -> list[str]:
    """The web addresses in a text, in the spellings that its punctuation permits.

    With `base`, the address of a page, its links may be relative. With `bare`, for what a person writes, an address
    needs no scheme, and other places count, too. Reads long texts in pieces, so that other threads can run.
    """
    found: dict[str, None] = {}
    for long in re.finditer(_PIECES, text):
        piece = long[0]
        candidates = [match[0] for match in re.finditer(_IN_TEXT, piece)]
        if bare:
            candidates += [match[0] for match in re.finditer(_BARE, piece)]
            found.update(dict.fromkeys(places_in(piece, whole=False)))
        for match in re.finditer(_LINK, piece) if base else ():
            with suppress(ValueError):
                candidates.append(urljoin(base, match[1] or match[2]))
        for candidate in candidates:
            found.update(dict.fromkeys(_trimmed(candidate)))
        if len(found) >= MOST_IN_A_TEXT:
            break
    return list(found)[:MOST_IN_A_TEXT]


def shown_host(address: str) -> str:
    """The host of a web address for people, without `www.`; empty if it is not one."""
    parts = _split(address)
    return "" if parts is None else parts[0].rpartition("]")[0] or parts[0].partition(":")[0]


def _trimmed(candidate: str) -> Iterator[str]:
    if "://" not in candidate[:9]:
        candidate = f"https://{candidate}"
    yield candidate
    if "&amp;" in candidate:
        yield candidate.replace("&amp;", "&")
    # A bracket or a full stop at the end may belong to the address or to the sentence around it.
    for _ in range(4):
        shorter = candidate[:-1]
        if candidate[-1:] not in _AROUND or len(shorter) < 9:
            return
        candidate = shorter
        yield candidate


def _split(address: str) -> tuple[str, str, str, str] | None:
    """Host with an unusual port, path, query and fragment of a web address; None if it is not one."""
    if len(address) > LONGEST or re.search(_FORBIDDEN, address) or address != address.strip():
        return None
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    # The spelling of the host is kept: `hostname` is in lower case.
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc.removesuffix(":")
    host = host.removeprefix("www.")
    if port not in (None, DEFAULT_PORTS[scheme]):
        host = f"{host}:{port}"
    return host, parts.path.removesuffix("/"), parts.query, parts.fragment


def _join(host: str, path: str, query: str, fragment: str) -> str:
    return f"{host}{path}{f'?{query}' if query else ''}{f'#{fragment}' if fragment else ''}"


def _hash(spelling: str) -> int:
    return int.from_bytes(blake2b(spelling.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _spellings(address: str) -> set[int]:
    parts = _split(address)
    if parts is None:
        is_web = address.lstrip().lower().startswith(("http:", "https:"))
        return set() if is_web or not address.strip() else {_hash(_AS_IT_IS + address)}
    host, path, query, fragment = parts
    hosts = {host, (ascii_host(host) or host.lower()).removeprefix("www.")}
    tails = {_join("", path, query, fragment), _join("", path, query, "")}
    # The query without what only tracks readers, and its beginnings.
    parameters = query.split("&")
    beginnings = (parameters[:count] for count in range(1, min(len(parameters), MOST_PARTS)))
    telling = [each for each in parameters if not re.match(_TRACKING, each)]
    tails |= {_join("", path, "&".join(each), "") for each in (telling, *beginnings)}
    segments = path.split("/")
    shorter = accumulate(segments[:MOST_PARTS], lambda before, segment: f"{before}/{segment}")
    tails |= {each.removesuffix("/") for each in (shorter if len(segments) > 1 else ())}
    tails |= {path, ""}
    spelled = {spelling for tail in tails for spelling in _encodings(tail)}
    return {_hash(each + tail) for each in hosts for tail in spelled}


def _encodings(tail: str) -> Sequence[str]:
    """A path or query as it is, percent-encoded, and with its characters outside of ASCII decoded."""
    if tail.isascii() and "%" not in tail:
        return (tail,)
    return (
        tail,
        quote(tail, safe=_KEPT, errors="surrogatepass"),
        re.sub(r"(?:%[89a-fA-F][0-9a-fA-F])+", lambda found: _readable(found[0]), tail),
    )


def _readable(encoded: str) -> str:
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        return encoded
