"""Finds texts that look like secrets: keys by their form, and values by the names before them.

The forms of services' keys are in `formats.json`, each with where it is documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec

from ua_tui.core.json_values import table_of
from ua_tui.core.redaction.assignments import COMMAND, command_pattern, find_value
from ua_tui.core.redaction.values import PAIRS, RARE_NOUNS, TABLE, Span, Strength, strength, word_set

# The beginning of a token, where the text was cut: with a digit, unlike a word that begins like a token.
_CUT = r"(?=[A-Za-z_-]{0,255}[0-9])[A-Za-z0-9._-]{6,512}+(?=(?:\s|\\+n)?\[?(?:…|\\+u2026))"
_AFTER_BOUNDARY = r"(?:(?<![A-Za-z0-9_]{0})|(?<=\\[nrtbf]{0})|(?<=\\u[0-9a-fA-F]{{4}}{0}))"
_HAS_DIGIT = "(?=[A-Za-z_-]{0,255}[0-9])"
_ENDS = "(?![A-Za-z0-9_-])"
# What follows a noun that is frequent in texts where it may be the end of a name.
_AFTER_NOUN = ("=", ":", '"', "'", "\\", " =", " :", ">", "：")
_FIELD = re.compile(r'[A-Za-z0-9_-]{0,40}+":\s?(?!["ntf])')
# Codes and states of OAuth, as they are in an address, or in an address in another one.
_AFTER_SEPARATOR = r"(?:(?<![\w=.-]{0})|(?<=%3[fF]{0})|(?<=%2[36]{0})|(?<=\\u0026{0}))"
_LOGIN_PARAMETERS = tuple(
    (
        f"{name}{sign}",
        rf"(?i:{name}{sign}){_AFTER_SEPARATOR.format(f'(?i:{name}{sign})')}"
        r"([^\s\"'\\,;&#<>(){}%]{1,2048}+(?:%(?!26|23|3b)[^\s\"'\\,;&#<>(){}%]{0,512}+){0,64}+)",
        name,
    )
    for name in ("code", "state")
    for sign in ("=", "%3d")
)
# Whoever has the code and state of a login can take it over. They are also parameters of shops and searches
# (`?code=SAVE20`, `?state=CA`): they are secrets only where the rest of the address, or of the form, is of a login.
_REACH = 2_048
# What is part of no address and no form.
_EDGE = re.compile(r"[\s\"'<>{}]")
_SEPARATOR = r"(?:^|[?&;#]|\\u0026|%3f|%26|%23)"
_QUERY = re.compile(r"[?#]|%3f", re.IGNORECASE)
_BEFORE_NAME = re.compile(f"{_SEPARATOR}$", re.IGNORECASE)
_PARTNER = re.compile(
    f"{_SEPARATOR}(?:redirect_ur[il]|response_type|grant_type|client_id|code_verifier|code_challenge|session_state)"
    "(?:=|%3d)",
    re.IGNORECASE,
)
_VALUE = {
    name: re.compile(rf"{_SEPARATOR}{name}(?:=|%3d)([^&;#\\]+?)(?=%26|[&;#\\]|$)", re.IGNORECASE)
    for name in ("code", "state")
}
_LOGIN_PATH = re.compile(
    r"(?:/|%2f)(?:(?:(?!%2f)[^/])*(?:oauth|oidc|callback)(?:(?!%2f)[^/])*"
    r"|authori[sz]e|auth|sso|login|signin|connect|cb)(?=$|/|%2f)",
    re.IGNORECASE,
)
_SHORTEST_CODE, _SHORTEST_STATE = 8, 4
_SURE_CODE, _SURE_STATE = 16, 6
_USERINFO = re.compile(r"://[^\s/@:\"'\\?#]*:([^\s/@\"'\\?#]+)@")
# If a long run of characters does not match, no later part of it is tried.
_RUN = "(?i:eyJ)[A-Za-z0-9_-]*+"
_PIECE = 1 << 20


class _Needle(NamedTuple):
    """A string in lower case that is searched for, and what decides about a place where it is found.

    `noun` is where a noun of names is in it; otherwise a pattern that begins with the needle has the secret as its one
    group, `run` is what to skip if it does not match, and `before` what precedes it and belongs to it.
    """

    text: str
    pattern: str = ""
    noun: Span | None = None
    before: str = ""
    login: str = ""
    is_command: bool = False
    run: str = ""


def _format_needles(form: dict[str, Any]) -> Iterator[_Needle]:
    """The needles of an entry of `formats.json`.

    `prefix` has the beginnings of a key and `rest` what follows them. `distinct`: the prefix is in no word and no
    encoded data, so that it may follow any character; otherwise a key in the middle of a word must look like
    `inside`. `digit`: there is a digit in it; `end`: it is a whole word; `group`: the secret is the group of `rest`;
    `before`: what precedes the prefix is a part of the key; `expand`: what may follow the prefix, where it is
    too short to be searched for.
    """
    rest = (_HAS_DIGIT if form.get("digit") else "") + form["rest"] + (_ENDS if form.get("end") else "")
    for prefix in form["prefix"].split():
        start = re.escape(form.get("case", prefix)) if "before" not in form else f"(?i:{re.escape(prefix)})"
        run = _RUN if prefix == "eyJ" else ""
        if form.get("group"):
            pattern = f"(?i:{start}){rest}"
        elif "before" in form:
            pattern = f"{start}({rest})"
        elif form.get("distinct"):
            pattern = f"({start}(?:{rest}|{_CUT}))"
        else:
            inside = form.get("inside") or (
                f"{_HAS_DIGIT}{rest}{_ENDS}" if len(prefix) > 2 and not prefix[-1].isalpha() else "(?!)"
            )
            boundary = _AFTER_BOUNDARY.format(start)
            pattern = f"({start}(?:{boundary}(?:{rest}|{_CUT})|{inside}))"
        for more in form.get("expand", "").split() or [""]:
            yield _Needle(prefix.lower() + more, pattern, before=form.get("before", ""), run=run)


def _all_needles() -> Iterator[_Needle]:
    for form in table_of(__file__, "formats.json"):
        yield from _format_needles(form)
    for text, noun in _noun_texts():
        at = text.rindex(noun)
        yield _Needle(text, noun=(at, at + len(noun)))
    for each in TABLE["commands"]:
        pattern = command_pattern(**each)
        for program in each["programs"].split():
            after = "login" if each["shape"] == "login" or program == "default" else ""
            yield _Needle(f"{program} {after}", pattern, is_command=True, run=COMMAND)
    for text, pattern, name in _LOGIN_PARAMETERS:
        yield _Needle(text, pattern, login=name)


def _noun_texts() -> Iterator[tuple[str, str]]:
    """What is searched for to find the names of secrets, with the noun in it."""
    for noun in RARE_NOUNS:
        yield noun, noun
    for noun, words in PAIRS.items():
        yield from ((f"{word}{joint}{noun}", noun) for word in words for joint in ("_", "-", "", " "))
    for noun in (word_set(TABLE["likely"]) - RARE_NOUNS) | {"key"}:
        # `key = …` alone says nothing.
        yield from ((noun + after, noun) for after in _AFTER_NOUN if noun != "key" or after[0] != " ")
        yield from ((f"{before}{noun} ", noun) for before in "_-")
    yield from ((f"key = {quote}", "key") for quote in "\"'")
    for noun in word_set(TABLE["given"]) - {"key", "keys", *word_set(TABLE["url"])}:
        yield from (
            (f"_{noun}{after}", noun) for after in (("",) if len(noun) > 3 else ("=", ":", '"', "'", " "))
        )
    for noun in word_set(TABLE["url"]):
        yield f"{noun}=", noun


class _Table:
    """All needles, with one search for them."""

    def __init__(self) -> None:
        self.needles = tuple({each.text + each.pattern: each for each in _all_needles()}.values())
        self.search = _Needles(tuple(each.text.encode() for each in self.needles))


_table = cache(_Table)
_compiled = cache(re.compile)


class Scan(msgspec.Struct):
    """What a scan found: spans that look like secrets, which may overlap, and given words with their start.

    `fields` says that compact JSON may have a field named like a secret whose value is no string, and `places` how many
    places had to be examined.
    """

    spans: list[Span] = []
    words: list[tuple[str, int]] = []
    fields: bool = False
    places: int = 0


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
        done: dict[int, int] = {}
        for piece in self._pieces(text):
            hits = _table().search.all_in(piece.data.lower())
            words = self._search.all_in(piece.data) if self._words else []
            found.places += len(hits)
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

    def near(self, text: str) -> Iterator[Span]:
        """The places that decide whether there is a secret in a text, in any order: a text without one has none."""
        for piece in self._pieces(text):
            hits = _table().search.all_in(piece.data.lower())
            words = self._search.all_in(piece.data) if self._words else []
            for _, start, end in piece.in_characters([*hits, *words]):
                yield start, end
        yield from (at.span() for at in re.finditer("@", text))

    def _pieces(self, text: str | bytes) -> Iterable[_Piece]:
        if len(text) <= _PIECE:
            data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
            return (_Piece(data, 0, _PIECE),)
        return _pieces(text, max(_table().search.longest, self._search.longest if self._words else 0))

    @cached_property
    def _search(self) -> _Needles:
        return _Needles(tuple(word.encode("utf-8", "surrogatepass") for word in self._words))


def _match_needles(
    text: str,
    hits: Iterator[tuple[int, int, int]],
    addresses: _Addresses,
    done: dict[int, int],
    found: Scan,
) -> None:
    """Add the secrets at the places where needles were found; `done` has the end of the last one of each needle."""
    needles = _table().needles
    last_noun = -1
    for number, start, _ in hits:
        needle = needles[number]
        if needle.noun:
            noun, end = start + needle.noun[0], start + needle.noun[1]
            if '":' in text[end : end + 43] and _FIELD.match(text, end):
                found.fields = True
            if noun == last_noun or start < done.get(number, 0):
                continue
            last_noun = noun
            span = find_value(text, noun, end)
        elif start < done.get(number, 0):
            continue
        else:
            span = _matched(text, start, needle, addresses)
        if span is not None:
            found.spans.append(span)
            done[number] = span[1]
        elif needle.run and (run := _compiled(needle.run).match(text, start)):
            done[number] = run.end()


def _matched(text: str, start: int, needle: _Needle, addresses: _Addresses) -> Span | None:
    """The secret at a place where the needle of a pattern was found."""
    match = _compiled(needle.pattern).match(text, start)
    if match is None:
        return None
    first, last = match.span(match.lastindex or 0)
    if needle.login and not addresses.has_login(start, needle.login, match[1]):
        return None
    if needle.is_command and strength(text[first:last]) == Strength.PLAIN:
        return None
    if needle.before:
        before = _compiled(rf"(?<![A-Za-z0-9_])(?:{needle.before})\Z").search(text, max(start - 64, 0), start)
        return (before.start(), last) if before else None
    return first, last


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
            edge = _EDGE.search(self._text, start)
            self._end = edge.start() if edge else len(self._text)
            self._examined = 0
        self._examined += 1
        return self._examined <= 6 and _is_login_parameter(self._text, start, name, value)


def _is_login_parameter(text: str, start: int, name: str, value: str) -> bool:
    """Whether the parameter `name` at `start`, `code` or `state`, belongs to an OAuth login."""
    left = _EDGE.split(text[max(start - _REACH, 0) : start])[-1]
    if not _BEFORE_NAME.search(left):
        return False
    address = left + _EDGE.split(text[start : start + _REACH], maxsplit=1)[0]
    path, *query = _QUERY.split(left, maxsplit=1)
    is_request = _PARTNER.search(address) is not None
    if is_request or (query and _LOGIN_PATH.search(path)):
        if name == "state" and is_request:
            return len(value) >= _SHORTEST_STATE
        return _is_opaque(value, _SHORTEST_STATE if name == "state" else _SHORTEST_CODE)
    code, state = (_VALUE[each].search(address) for each in ("code", "state"))
    return bool(code and state and _is_opaque(code[1], _SURE_CODE) and len(state[1]) >= _SURE_STATE)


def _is_opaque(value: str, shortest: int) -> bool:
    """Whether a value is no word: it has digits, or letters of both cases."""
    mixed = value != value.lower() and value != value.upper()
    return len(value) >= shortest and (mixed or any(each.isdigit() for each in value))


class _Needles:
    """Finds every occurrence of many byte strings, also those that overlap."""

    def __init__(self, needles: tuple[bytes, ...]) -> None:
        import ahocorasick_rs as ac

        self.longest = max(map(len, needles))
        self._search = ac.BytesAhoCorasick(
            needles, matchkind=ac.MatchKind.Standard, implementation=ac.Implementation.DFA
        )

    def all_in(self, data: bytes) -> list[tuple[int, int, int]]:
        """Number, start and end of each occurrence, by their end."""
        return self._search.find_matches_as_indexes(data, overlapping=True)


def _passwords_in_addresses(text: str) -> list[Span]:
    """The passwords of `scheme://user:password@host`; most texts have many addresses and few @."""
    found: list[Span] = []
    done = 0
    at = text.find("@")
    while at >= 0:
        start = text.rfind("://", max(done, at - 8_192), at)
        if start >= 0 and (match := _USERINFO.match(text, start)) and match.end() == at + 1:
            done = at
            if strength(match[1]) > Strength.PLAIN:
                found.append(match.span(1))
        # A name ends at the first @ behind its scheme: the next one needs a scheme of its own.
        following = text.find("://", at)
        at = text.find("@", following) if following >= 0 else -1
    return found
