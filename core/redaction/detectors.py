"""Finds texts that look like secrets: keys by their form, and values by the names before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from core.redaction.names import KEY_WORDS, is_secret
from core.redaction.oauth import EDGE, is_login_parameter

__all__ = ["Scan", "SecretSearch"]

# What follows the name of a secret, up to its value. In order: "name": "value" in JSON, the same inside a
# JSON string, the same in single quotes or escaped more than once. A value ends at its own quote, and one
# that is no string (a number, null, an object) is not touched, so that JSON stays JSON.
_QUOTED_VALUE = (
    r'(?s:"\s*[:=]\s*"((?:[^"\\]|\\.)++))'
    r'|\\"\s*[:=]\s*\\"((?:[^"\\]|\\\\(?:\\\\|\\"|[^"\\]))++)'
    r"""|(?:\\{2,}"|\\*')\s*[:=]\s*(?:\\{2,}"|\\*')([^"'\\\r\n]++)"""
)
# `name: value` as in a header or a settings file; `name=value` as in a URL or an environment.
_HEADER_VALUE = (
    r"""\s*[:=]\s*\\*["']([^"'\\\r\n\s,:}\]][^"'\\\r\n]*+)"""
    r"""|\s*[:=]\s*(?:(?:bearer|basic|token|digest)\s+)?+([^\s"'\\,;:&#<>(){}\[\]][^\s"'\\,;&#<>]*+)"""
)
_ASSIGNED_VALUE = r"""=([^\s"'\\,;:&#<>(){}\[\]][^\s"'\\,;&#<>]*+)"""
_SUFFIX = r"(?:[_-]?(?:access[_-]?)?key|[_-]?token|[_-]?value)?"
# The beginning of a token, where the text was cut: with a digit, unlike a word that begins like a token.
_CUT = r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9._-]{6,}+(?=(?:\s|\\+n)?\[?(?:…|\\+u2026))"
_AFTER_BOUNDARY = r"(?:(?<![A-Za-z0-9_]{0})|(?<=\\[nrtbf]{0})|(?<=\\u[0-9a-fA-F]{{4}}{0}))"


def _pair(name: str, *, header: bool = False) -> tuple[str, str]:
    tail = f"{_QUOTED_VALUE}|{_HEADER_VALUE if header else _ASSIGNED_VALUE}"
    return name, f"(?i:{re.escape(name)}{_SUFFIX})(?i:{tail})"


def _named(name: str, *endings: str) -> Iterator[tuple[str, str]]:
    """A pair whose whole name decides; with the endings only where one of them follows, as the word is frequent."""
    for needle in [name + each for each in endings] or [name]:
        yield needle, f"(?i:{re.escape(name)})(?i:{_QUOTED_VALUE}|{_ASSIGNED_VALUE})"


def _token(prefix: str, pattern: str, *, inside: str = r"(?!)") -> tuple[str, str]:
    """A token by its prefix at the beginning of a word; `inside` is what follows the prefix in the middle of one."""
    boundary = _AFTER_BOUNDARY.format(re.escape(prefix))
    return prefix.lower(), f"({re.escape(prefix)}(?:{boundary}(?:{pattern}|{_CUT})|{inside}))"


def _distinct(prefix: str, pattern: str) -> tuple[str, str]:
    """A token whose prefix appears in no word and no encoded data, so that it may follow any character."""
    return prefix.lower(), f"({re.escape(prefix)}(?:{pattern}|{_CUT}))"


def _inside(alphabet: str, least: int) -> str:
    """A token in the middle of a word: it has a digit, and ends where the word ends, unlike encoded data."""
    return rf"(?=[A-Za-z_-]*[0-9])[{alphabet}]{{{least},255}}+(?![A-Za-z0-9_-])"


_WHOLE_NAMES = (
    *_named("token"),
    *_named("pwd"),
    *(pair for name in ("pass", "auth", "bearer") for pair in _named(name, '"', "'", "\\", "=")),
)
# Codes and states of OAuth, as they are in an address, or in an address in another one.
_AFTER_SEPARATOR = r"(?:(?<![\w=.-]{0})|(?<=%3[fF]{0})|(?<=%2[36]{0})|(?<=\\u0026{0}))"
_LOGIN_PARAMETERS = tuple(
    (
        f"{name}{sign}",
        rf"(?i:{name}{sign}){_AFTER_SEPARATOR.format(f'(?i:{name}{sign})')}"
        r"([^\s\"'\\,;&#<>(){}%]{1,2048}+(?:%(?!26|23|3b)[^\s\"'\\,;&#<>(){}%]{0,512}+){0,64}+)",
    )
    for name in ("code", "state")
    for sign in ("=", "%3d")
)
_MOST_IN_ADDRESS = 6
_LONGEST_NAME = 100
_NAME_CHARACTERS = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WHOLE_NAME = re.compile("[A-Za-z]+")
_ESCAPED = re.compile(r"[nrtbf]|u[0-9a-fA-F]{4}")

# Each pattern begins with its lower-case needle, and its one matching group is the secret. Compiled when its needle is
# first found: compiling all of them takes longer than most of what the program does before its first frame.
_DETECTORS: tuple[tuple[str, str], ...] = (
    _distinct("sk-ant-", r"[A-Za-z0-9_-]{6,}"),
    _distinct("sk-proj-", r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    _token("sk-", r"[A-Za-z0-9_-]{20,}", inside=_inside("A-Za-z0-9", 32)),
    _token("ak_", r"[A-Za-z0-9_-]{8,}", inside=rf"(?<=_ak_){_inside('A-Za-z0-9', 8)}"),
    _token("lk_", r"[A-Za-z0-9_-]{8,}", inside=rf"(?<=_lk_){_inside('A-Za-z0-9', 8)}"),
    *(_token(f"gh{kind}_", r"[A-Za-z0-9]{20,}", inside=_inside("A-Za-z0-9", 20)) for kind in "pousr"),
    _distinct("github_pat_", r"[A-Za-z0-9_]{20,}"),
    _distinct("glpat-", r"[A-Za-z0-9_-]{20,}"),
    _token("npm_", r"[A-Za-z0-9]{36}", inside=_inside("A-Za-z0-9", 36)),
    _token("hf_", r"[A-Za-z0-9]{30,}", inside=_inside("A-Za-z0-9", 30)),
    *(_distinct(f"{kind}_live_", r"[A-Za-z0-9]{16,}") for kind in ("sk", "rk")),
    _token("ya29.", r"[A-Za-z0-9_-]{20,}"),
    _token("GOCSPX-", r"[A-Za-z0-9_-]{20,}", inside=_inside("A-Za-z0-9_-", 20)),
    _token("AKIA", r"[A-Z0-9]{16}", inside=r"(?<![A-Z]AKIA)[A-Z0-9]{16}(?![A-Za-z0-9_-])"),
    _token("AIza", r"[A-Za-z0-9_-]{30,}", inside=_inside("A-Za-z0-9_-", 30)),
    _token("pylf_v", r"[A-Za-z0-9_]{12,}", inside=_inside("A-Za-z0-9_", 12)),
    _token("xox", r"[abeoprs]-[A-Za-z0-9-]{10,}", inside=r"[abeoprs]-(?=[0-9])[A-Za-z0-9-]{10,}"),
    _token(
        "eyJ",
        r"[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
        inside=r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}",
    ),
    (
        "-----begin",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----((?:[A-Za-z0-9+/=\s:,.-]|\\+[nr])++)",
    ),
    (
        "bearer",
        r"(?i:bearer)(?:\s+|%20|\+)"
        r"((?=[A-Za-z0-9.~+/]*[0-9_=-]|[A-Za-z0-9.~+/]{20})[A-Za-z0-9._~+/=-]{8,})",
    ),
    (
        "connect.composio.dev",
        r"(?i:connect\.composio\.dev)(?::\d+)?\\?/link\\?/([^\s\"'\\<>()\[\]]+)",
    ),
    _pair("authorization", header=True),
    _pair("api-key", header=True),
    _pair("api_key", header=True),
    _pair("apikey", header=True),
    *(
        _pair(name)
        for name in (
            "secret", "password", "passwd", "passphrase", "cookie", "credential", "credentials", "auth_link",
            "access_key", "access-key", "accesskey", "private_key", "private-key", "privatekey", "auth_token",
            "access_token", "accesstoken", "access-token", "refresh_token", "refreshtoken", "id_token",
            "session_token", "sessiontoken", "authtoken", "bearer_token", "link_token", "bot_token",
            *(f"{word}{mark}key" for word in KEY_WORDS[3:] for mark in ("_", "-", "")),
        )
    ),
    *_WHOLE_NAMES,
    *(
        (
            f"{name}=",
            rf"(?i:{name}(?:(?<=[?&;]{name})|(?<=\\u0026{name}))){_ASSIGNED_VALUE}",
        )
        for name in ("key", "sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token")
    ),
    *_LOGIN_PARAMETERS,
)  # fmt: skip
_USERINFO = re.compile(r"://[^\s/@:\"'\\?#]*:([^\s/@\"'\\?#]+)@")
_LONGEST_USERINFO = 8_192
_NEEDLES = tuple(needle for needle, _ in _DETECTORS)
_BY_WHOLE_NAME = frozenset(number for number, each in enumerate(_DETECTORS) if each in _WHOLE_NAMES)
_BY_LOGIN = {
    number: needle[: 5 if needle[0] == "s" else 4]
    for number, (needle, pattern) in enumerate(_DETECTORS)
    if (needle, pattern) in _LOGIN_PARAMETERS
}
# If a long run of characters does not match, no later part of it does.
_RUNS = {_NEEDLES.index("eyj"): _distinct("eyJ", r"[A-Za-z0-9_-]*+")[1]}
_compiled = cache(re.compile)
# Beyond so many places, one search of everything costs less than checking each.
_MOST_PLACES = 16
_BYTES_A_PLACE = 1_024
_PIECE = 1 << 20
# What else ends the name of a field that holds a secret.
_FIELD_NAMES = ("auth-link", "authlink")
_FIELD = re.compile(r'(?:[_-]?key)?":(?!["ntf])', re.IGNORECASE)


@dataclass(slots=True)
class Scan:
    """What a scan found: spans that look like secrets, which may overlap, and given words with their start.

    `fields` says that compact JSON may have a field named like a secret whose value is no string.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    words: list[tuple[str, int]] = field(default_factory=list)
    fields: bool = False


class SecretSearch:
    """Searches a text for everything that looks like a secret, and for given words.

    `words` are found exactly as they are spelled. Safe to use from several threads.
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._words = tuple(words)

    def scan(self, text: str | bytes) -> Scan:
        """Search a text, or encoded JSON; bytes are UTF-8, and places are those in the text."""
        found = Scan()
        whole = text if isinstance(text, str) else None
        addresses: _Addresses | None = None
        done = [0] * (len(_NEEDLES) + len(_FIELD_NAMES))
        for piece in self._pieces(text):
            hits = _needles().all_in(piece.data.lower())
            words = self._search.all_in(piece.data) if self._words else []
            if not hits and not words:
                continue
            if whole is None:
                assert isinstance(text, bytes)
                whole = text.decode("utf-8", "surrogatepass")
            addresses = addresses or _Addresses(whole)
            _match_needles(whole, piece.in_characters(hits), addresses, done, found)
            found.words += [(self._words[number], start) for number, start, _ in piece.in_characters(words)]
        if ("@" if isinstance(text, str) else b"@") in text:  # type: ignore[operator]  # both are of one type
            found.spans += _passwords_in_addresses(
                text.decode("utf-8", "surrogatepass") if whole is None else whole  # type: ignore[union-attr]
            )
        return found

    def _pieces(self, text: str | bytes) -> Iterable[_Piece]:
        if len(text) <= _PIECE:
            data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
            return (_Piece(data, 0, _PIECE),)
        return _pieces(text, max(_needles().longest, self._search.longest if self._words else 0))

    @cached_property
    def _search(self) -> _Needles:
        return _Needles(tuple(word.encode("utf-8", "surrogatepass") for word in self._words))


def _match_needles(
    text: str,
    hits: Iterator[tuple[int, int, int]],
    addresses: _Addresses,
    done: list[int],
    found: Scan,
) -> None:
    """Add the secrets at the places where needles were found; `done` has the end of the last one of each needle."""
    for number, start, end in hits:
        if _FIELD.match(text, end):
            found.fields = True
        if number >= len(_NEEDLES) or start < done[number]:
            continue
        if match := _compiled(_DETECTORS[number][1]).match(text, start):
            if number in _BY_WHOLE_NAME and not _is_named(text, match):
                continue
            if (name := _BY_LOGIN.get(number)) and not addresses.has_login(start, name, match[1]):
                continue
            found.spans.append(match.span(match.lastindex or 0))
            done[number] = match.end()
        elif (run := _RUNS.get(number)) and (checked := _compiled(run).match(text, start)):
            done[number] = checked.end()


class _Piece(NamedTuple):
    """A piece of a text in UTF-8, and enough of what follows to complete a needle that begins in it.

    `start` is its place in the text, and `length` its own length, both in characters.
    """

    data: bytes
    start: int
    length: int

    def in_characters(self, hits: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
        """Turn places in the data into places in the text; those behind the piece belong to the next one."""
        places: dict[int, int] = {}
        if not self.data.isascii():
            characters = done = 0
            for place in sorted({place for _, start, end in hits for place in (start, end)}):
                characters += len(self.data[done:place].decode("utf-8", "surrogatepass"))
                places[place] = characters
                done = place
        for number, start, end in hits:
            first = places.get(start, start)
            if first < self.length:
                yield number, self.start + first, self.start + places.get(end, end)


def _pieces(text: str | bytes, longest: int) -> Iterator[_Piece]:
    """Cut a text into pieces, because the search copies what it searches, and a text may have 100 MB."""
    if isinstance(text, str):
        for at in range(0, len(text), _PIECE):
            data = text[at : at + _PIECE + longest].encode("utf-8", "surrogatepass")
            yield _Piece(data, at, _PIECE)
        return
    at = start = 0
    while at < len(text):
        end = _boundary(text, at + _PIECE)
        length = len(text[at:end].decode("utf-8", "surrogatepass"))
        yield _Piece(text[at : _boundary(text, end + longest)], start, length)
        at, start = end, start + length


def _boundary(data: bytes, at: int) -> int:
    """The first place from `at` on where a character begins."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at


class _Addresses:
    """Which parameters of the addresses in a text belong to a login; few of each address are examined."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = -1
        self._examined = 0

    def has_login(self, start: int, name: str, value: str) -> bool:
        """Whether the parameter at `start` belongs to a login; the places must ascend."""
        if start >= self._end:
            edge = EDGE.search(self._text, start)
            self._end = edge.start() if edge else len(self._text)
            self._examined = 0
        self._examined += 1
        return self._examined <= _MOST_IN_ADDRESS and is_login_parameter(self._text, start, name, value)


class _Needles:
    """Finds every occurrence of many byte strings, also those that overlap, quickly where there are few."""

    def __init__(self, needles: tuple[bytes, ...]) -> None:
        import ahocorasick_rs as ac

        self.longest = max(map(len, needles))
        # Only this kind of search may skip what cannot be the beginning of a needle.
        self._first = ac.BytesAhoCorasick(
            needles, matchkind=ac.MatchKind.LeftmostFirst, implementation=ac.Implementation.DFA
        )
        self._every = ac.BytesAhoCorasick(
            needles, matchkind=ac.MatchKind.Standard, implementation=ac.Implementation.DFA
        )

    def all_in(self, data: bytes) -> list[tuple[int, int, int]]:
        """Number, start and end of each occurrence, by their end."""
        places = self._first.find_matches_as_indexes(data)
        if len(places) > _MOST_PLACES + len(data) // _BYTES_A_PLACE:
            return self._every.find_matches_as_indexes(data, overlapping=True)
        found: set[tuple[int, int, int]] = set()
        for _, start, end in places:
            # Whatever else occurs overlaps one of these and begins no earlier.
            near = data[start : end + self.longest]
            for number, first, last in self._every.find_matches_as_indexes(near, overlapping=True):
                found.add((start + last, start + first, number))
        return [(number, start, end) for end, start, number in sorted(found)]


def _is_named(text: str, match: re.Match[str]) -> bool:
    """Whether the whole name that a match is the end of, and the value it found, make a secret."""
    at = match.start()
    near = text[max(at - _LONGEST_NAME, 0) : at]
    before = near[len(near.rstrip(_NAME_CHARACTERS)) :]
    if text[at - len(before) - 1 : at - len(before)] == "\\":
        escape = _ESCAPED.match(before)
        before = before[escape.end() :] if escape else before
    group = match.lastindex or 0
    name = before + _WHOLE_NAME.match(match[0])[0]  # type: ignore[index]  # it begins with a letter
    # Bare in an address or in code it is most often something else: `?auth=` signs the pictures of newspapers.
    assigned = text[match.start(group) - 1 : match.start(group)] == "="
    if assigned and name.lower() in ("auth", "pass", "pwd", "bearer"):
        return False
    return is_secret(name, match[group])


@cache
def _needles() -> _Needles:
    return _Needles(tuple(needle.encode() for needle in (*_NEEDLES, *_FIELD_NAMES)))


def _passwords_in_addresses(text: str) -> list[tuple[int, int]]:
    """The passwords of `scheme://user:password@host`; most texts have many addresses and few @."""
    found: list[tuple[int, int]] = []
    done = 0
    at = text.find("@")
    while at >= 0:
        start = text.rfind("://", max(done, at - _LONGEST_USERINFO), at)
        if start >= 0 and (match := _USERINFO.match(text, start)) and match.end() == at + 1:
            found.append(match.span(1))
            done = at
        # A name ends at the first @ behind its scheme: the next one needs a scheme of its own.
        following = text.find("://", at)
        at = text.find("@", following) if following >= 0 else -1
    return found
