"""Finds the members of a large JSON object or list piece by piece, in steps that do not block other threads."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Item = TypeVar("Item")
Level = TypeVar("Level")

_WINDOW = 64 * 1024
_MIN_SCANNED = 16 * 1024
_MAX_CUTS, _MAX_TRIES = 64, 4
_MAX_NESTED_SCANS = 2
_DEEP = 1_000
_CACHED_PIECES = 8
_CLOSERS = {ord("{"): ord("}"), ord("["): ord("]")}
_QUOTE = ord('"')
_COMMA = ord(",")
_OBJECT = ord("{")
_SPACE = re.compile(rb"[ \t\r\n]*+")
_NAME = re.compile(rb'"(?:[^"\\]++|\\.)*+"[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb'[^ \t\r\n,:"{}\[\]]++')
_UNCUT = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_COMMA_NEXT = re.compile(rb"[ \t\r\n]*+,")
# A short pair of brackets without inner ones is one token; a single quote begins a string that the window cuts.
_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"'
    rb'|[\[{](?:[^{}\[\]"]{1,100}+|"(?:[^"\\]++|\\.)*+"){0,200}+[\]}]'
    rb'|["{}\[\]]',
    re.DOTALL,
)


class Pieces(Generic[Level]):
    """Members by their place: the piece of bytes that contains each member is known, and is parsed on demand.

    `read` parses a piece, given its first byte, the byte after its last one, and its number of members.
    """

    def __init__(
        self, bounds: tuple[array[int], array[int], array[int]], read: Callable[[int, int, int], Level]
    ) -> None:
        self._starts, self._ends, self._firsts = bounds
        self._read = read
        self._kept: dict[int, Level] = {}

    @property
    def count(self) -> int:
        """The number of members."""
        return self._firsts[-1]

    def find(self, place: int) -> tuple[Level, int]:
        """Return the piece that contains a member, and the place of the member in it."""
        if not 0 <= place < self.count:
            raise IndexError(place)
        number = bisect_right(self._firsts, place) - 1
        first = self._firsts[number]
        piece = self._kept.get(number)
        if piece is None:
            piece = self._read(self._starts[number], self._ends[number], self._firsts[number + 1] - first)
            # Several threads read here, so a dictionary in use must not change.
            newest = list(self._kept.items())[1 - _CACHED_PIECES :]
            self._kept = {**dict(newest), number: piece}
        return piece, place - first


class Picked(Sequence[Item], Generic[Item, Level]):
    """One side of the members, their names or their values, as a sequence."""

    def __init__(self, pieces: Pieces[Level], pick: Callable[[Level], Sequence[Item]]) -> None:
        self._pieces = pieces
        self._pick = pick

    def __len__(self) -> int:
        """Return the number of items."""
        return self._pieces.count

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        """Return one item, or several."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        piece, inside = self._pieces.find(place + len(self) if place < 0 else place)
        return self._pick(piece)[inside]


def find_pieces(data: memoryview, count: Callable[[bytes], int]) -> tuple[array[int], array[int], array[int]]:
    """Cut the content of the outermost brackets into pieces of complete members: their starts, ends, first members.

    `count` returns the number of members in bytes with brackets around them, and raises ValueError if these are not
    JSON. The last of the first members is the number of all members.

    Raises:
        ValueError: the bytes are not a JSON object or list; not every error is detected.
    """
    starts, ends, firsts = array("q"), array("q"), array("q", [0])
    after = 0
    try:
        for start, end, members in _Scanner(data, count).pieces(0):
            after = end
            if members:
                starts.append(start)
                ends.append(end)
                firsts.append(firsts[-1] + members)
    except IndexError as error:
        raise ValueError("a bracket is not closed") from error
    if _past_space(data, after) < len(data):
        raise ValueError("data after the last bracket")
    return starts, ends, firsts


class _Scanner:
    def __init__(self, data: memoryview, count: Callable[[bytes], int]) -> None:
        self._data = data
        self._count = count

    def pieces(self, at: int, depth: int = 0) -> Iterator[tuple[int, int, int]]:
        """Yield start, end and number of members of each piece of the object or list at `at`; last its bracket, 0."""
        data = self._data
        opener = data[at]
        closer = _CLOSERS[opener]
        at = _past_space(data, at + 1)
        while data[at] != closer:
            start = at
            at, members = self._guess_piece(at, opener)
            if not members:
                at, members = self._scan_piece(at, opener, depth)
            yield start, at, members
            at = _past_space(data, at)
            if data[at] == _COMMA:
                at = _past_space(data, at + 1)
                if data[at] == closer:
                    raise ValueError("a comma before a closing bracket")
            elif data[at] != closer:
                raise ValueError("a comma is missing between two members")
        yield at, at + 1, 0

    def _guess_piece(self, at: int, opener: int) -> tuple[int, int]:
        """Return where a window of members ends, and its number of members; 0 if no guess succeeds."""
        window = self._data[at : at + _WINDOW].tobytes()
        before, after = bytes([opener]), bytes([_CLOSERS[opener]])
        # A member probably ends as the first one does; not every comma is the end of a member.
        first = _first_of_value(window, named=before == b"{")
        wanted = bytes([_CLOSERS.get(first, first)]) if first in _CLOSERS or first == _QUOTE else b""
        tries, cut = 0, len(window)
        for _ in range(_MAX_CUTS):
            cut = window.rfind(wanted or b",", 0, cut)
            if cut < 1 or tries == _MAX_TRIES:
                break
            comma = _COMMA_NEXT.match(window, cut + len(wanted))
            if comma is None:
                continue
            tries += 1
            end = cut + len(wanted)
            # Members in brackets are only valid JSON if the last one is complete.
            try:
                return at + end, self._count(b"".join((before, window[:end], after)))
            except (ValueError, RecursionError):
                continue
        return at, 0

    def _scan_piece(self, at: int, opener: int, depth: int) -> tuple[int, int]:
        """Find the same token by token, for a few members or a very large one."""
        data = self._data
        start, end, members = at, at, 0
        while not members or end - start < _MIN_SCANNED:
            if opener == _OBJECT:
                name = _NAME.match(data, at)
                if name is None:
                    raise ValueError("a member has no name")
                at = name.end()
            end = self._end_of_value(at, depth)
            members += 1
            at = _past_space(data, end)
            if data[at] != _COMMA:
                break
            at = _past_space(data, at + 1)
        return end, members

    def _end_of_value(self, at: int, depth: int) -> int:
        data = self._data
        if data[at] not in _CLOSERS:
            found = (_STRING if data[at] == _QUOTE else _SCALAR).match(data, at)
            if found is None:
                raise ValueError("a value is missing")
            return found.end()
        end = self._end_by_tokens(at, at + _WINDOW if depth < _MAX_NESTED_SCANS else len(data))
        if end is None:
            for _, end, _ in self.pieces(at, depth + 1):  # noqa: B007  # only the last end is needed
                pass
        assert end is not None
        return end

    def _end_by_tokens(self, at: int, until: int) -> int | None:
        data = self._data
        until = min(until, len(data))
        depth = 0
        while at < until:
            end = min(at + _WINDOW, until)
            if depth > _DEEP and (skipped := self._skip_window(at, end, depth)) is not None:
                at, depth = skipped
                continue
            for token in _TOKEN.finditer(data, at, end):
                first, length = data[token.start()], token.end() - token.start()
                if first == _QUOTE:
                    if length == 1:
                        string = _STRING.match(data, token.start())
                        if string is None:
                            raise ValueError("a string is not closed")
                        at = string.end()
                        break
                    continue
                if length == 1:
                    depth += 1 if first in _CLOSERS else -1
                if depth <= 0:
                    return token.end()
            else:
                at = end
        if until == len(data):
            raise ValueError("a bracket is not closed")
        return None

    def _skip_window(self, at: int, end: int, depth: int) -> tuple[int, int] | None:
        """Return the end of a window with too few closing brackets to close the value, and the depth there."""
        window = self._data[at:end].tobytes()
        uncut = _UNCUT.match(window)
        assert uncut is not None, "the pattern matches the empty text"
        brackets = _STRING.sub(b"", window[: uncut.end()])
        closers = brackets.count(b"}") + brackets.count(b"]")
        if uncut.end() == 0 or closers >= depth:
            return None
        return at + uncut.end(), depth - closers + brackets.count(b"{") + brackets.count(b"[")


def name_and_value(data: memoryview) -> tuple[memoryview, memoryview]:
    """Return the quoted name of a member of an object, and its value.

    Raises:
        ValueError: the member has no name.
    """
    name = _NAME.match(data)
    if name is None:
        raise ValueError("a member has no name")
    quoted = _STRING.match(data)
    assert quoted is not None, "a name is a string"
    return data[: quoted.end()], data[name.end() :]


def _first_of_value(window: bytes, *, named: bool) -> int:
    name = _NAME.match(window) if named else None
    at = name.end() if name is not None else 0
    return window[at] if at < len(window) else 0


def _past_space(data: memoryview, at: int) -> int:
    found = _SPACE.match(data, at)
    assert found is not None, "the pattern matches the empty text"
    return found.end()
