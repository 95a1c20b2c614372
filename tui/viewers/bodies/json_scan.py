"""The members of a large JSON object or list, found piece by piece: no step of it keeps other threads waiting."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

__all__ = ["Picked", "Pieces", "find_pieces", "name_and_value"]

Item = TypeVar("Item")
Level = TypeVar("Level")

_WINDOW = 64 * 1024
_WALKED = 16 * 1024
_LOOKS, _TRIES = 64, 4
_DEEPEST = 2
_DEEP = 1_000
_KEPT = 8
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
# What is in brackets and has none within is one token if it is short; a quote alone begins a string that is cut.
_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"'
    rb'|[\[{](?:[^{}\[\]"]{1,100}+|"(?:[^"\\]++|\\.)*+"){0,200}+[\]}]'
    rb'|["{}\[\]]',
    re.DOTALL,
)


class Pieces(Generic[Level]):
    """Members by their place: which piece of the bytes each is in is known, a piece is read when it is asked for.

    `read` gives what is in a piece from its first byte, the one behind its last, and its number of members.
    """

    def __init__(
        self, bounds: tuple[array[int], array[int], array[int]], read: Callable[[int, int, int], Level]
    ) -> None:
        self._starts, self._ends, self._firsts = bounds
        self._read = read
        self._kept: dict[int, Level] = {}

    @property
    def count(self) -> int:
        """How many members there are."""
        return self._firsts[-1]

    def find(self, place: int) -> tuple[Level, int]:
        """The piece that a member is in, and its place in there."""
        if not 0 <= place < self.count:
            raise IndexError(place)
        number = bisect_right(self._firsts, place) - 1
        first = self._firsts[number]
        piece = self._kept.get(number)
        if piece is None:
            piece = self._read(self._starts[number], self._ends[number], self._firsts[number + 1] - first)
            # Several threads read here: what one of them sees must not change under its hands.
            newest = list(self._kept.items())[1 - _KEPT :]
            self._kept = {**dict(newest), number: piece}
        return piece, place - first


class Picked(Sequence[Item], Generic[Item, Level]):
    """One side of the members, their names or their values, as a sequence."""

    def __init__(self, pieces: Pieces[Level], pick: Callable[[Level], Sequence[Item]]) -> None:
        self._pieces = pieces
        self._pick = pick

    def __len__(self) -> int:
        """How many there are."""
        return self._pieces.count

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        """One, or several."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        piece, inside = self._pieces.find(place + len(self) if place < 0 else place)
        return self._pick(piece)[inside]


def find_pieces(data: memoryview, count: Callable[[bytes], int]) -> tuple[array[int], array[int], array[int]]:
    """Cut what is in the outermost brackets into pieces of whole members: their starts, ends, and first members.

    `count` tells how many members are in bytes with brackets around them, and raises ValueError when that is not
    JSON. The last of the first members is the number of all.

    Raises:
        ValueError: the bytes are no JSON object or list, as far as that shows.
    """
    starts, ends, firsts = array("q"), array("q"), array("q", [0])
    behind = 0
    try:
        for start, end, members in _Scanner(data, count).pieces(0):
            behind = end
            if members:
                starts.append(start)
                ends.append(end)
                firsts.append(firsts[-1] + members)
    except IndexError as error:
        raise ValueError("a bracket without its other") from error
    if _past_space(data, behind) < len(data):
        raise ValueError("something behind the last bracket")
    return starts, ends, firsts


class _Scanner:
    def __init__(self, data: memoryview, count: Callable[[bytes], int]) -> None:
        self._data = data
        self._count = count

    def pieces(self, at: int, depth: int = 0) -> Iterator[tuple[int, int, int]]:
        """Start, end and number of members of every piece of the object or list at `at`; last its bracket, and 0."""
        data = self._data
        opener = data[at]
        closer = _CLOSERS[opener]
        at = _past_space(data, at + 1)
        while data[at] != closer:
            start = at
            at, members = self._guessed(at, opener)
            if not members:
                at, members = self._walked(at, opener, depth)
            yield start, at, members
            at = _past_space(data, at)
            if data[at] == _COMMA:
                at = _past_space(data, at + 1)
                if data[at] == closer:
                    raise ValueError("a comma and nothing behind it")
            elif data[at] != closer:
                raise ValueError("no comma between two members")
        yield at, at + 1, 0

    def _guessed(self, at: int, opener: int) -> tuple[int, int]:
        """Where a window of members ends, and how many it has; none when that is not to be guessed."""
        window = self._data[at : at + _WINDOW].tobytes()
        before, after = bytes([opener]), bytes([_CLOSERS[opener]])
        # A member is likely to end as the first one does; an object does not end at any comma in it.
        first = _first_of_value(window, named=before == b"{")
        wanted = bytes([_CLOSERS.get(first, first)]) if first in _CLOSERS or first == _QUOTE else b""
        tries, cut = 0, len(window)
        for _ in range(_LOOKS):
            cut = window.rfind(wanted or b",", 0, cut)
            if cut < 1 or tries == _TRIES:
                break
            comma = _COMMA_NEXT.match(window, cut + len(wanted))
            if comma is None:
                continue
            tries += 1
            end = cut + len(wanted)
            # Brackets around a run of members are JSON only when it ends with a whole one.
            try:
                return at + end, self._count(b"".join((before, window[:end], after)))
            except (ValueError, RecursionError):
                continue
        return at, 0

    def _walked(self, at: int, opener: int, depth: int) -> tuple[int, int]:
        """The same found token by token, for some members or a very large one."""
        data = self._data
        start, end, members = at, at, 0
        while not members or end - start < _WALKED:
            if opener == _OBJECT:
                name = _NAME.match(data, at)
                if name is None:
                    raise ValueError("a member without a name")
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
                raise ValueError("no value")
            return found.end()
        end = self._end_by_tokens(at, at + _WINDOW if depth < _DEEPEST else len(data))
        if end is None:
            for _, end, _ in self.pieces(at, depth + 1):  # noqa: B007  # its last one is what is wanted
                pass
        assert end is not None
        return end

    def _end_by_tokens(self, at: int, until: int) -> int | None:
        data = self._data
        until = min(until, len(data))
        depth = 0
        while at < until:
            end = min(at + _WINDOW, until)
            if depth > _DEEP and (passed := self._passed(at, end, depth)) is not None:
                at, depth = passed
                continue
            for token in _TOKEN.finditer(data, at, end):
                first, length = data[token.start()], token.end() - token.start()
                if first == _QUOTE:
                    if length == 1:
                        string = _STRING.match(data, token.start())
                        if string is None:
                            raise ValueError("a string without an end")
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
            raise ValueError("a bracket without its other")
        return None

    def _passed(self, at: int, end: int, depth: int) -> tuple[int, int] | None:
        """Where a window ends that has too few closing brackets to be gone through one by one, and how deep it is."""
        window = self._data[at:end].tobytes()
        uncut = _UNCUT.match(window)
        assert uncut is not None, "it matches the empty text, too"
        brackets = _STRING.sub(b"", window[: uncut.end()])
        closers = brackets.count(b"}") + brackets.count(b"]")
        if uncut.end() == 0 or closers >= depth:
            return None
        return at + uncut.end(), depth - closers + brackets.count(b"{") + brackets.count(b"[")


def name_and_value(data: memoryview) -> tuple[memoryview, memoryview]:
    """The quoted name of a member of an object, and its value.

    Raises:
        ValueError: it has no name.
    """
    name = _NAME.match(data)
    if name is None:
        raise ValueError("a member without a name")
    quoted = _STRING.match(data)
    assert quoted is not None, "a name is a string"
    return data[: quoted.end()], data[name.end() :]


def _first_of_value(window: bytes, *, named: bool) -> int:
    name = _NAME.match(window) if named else None
    at = name.end() if name is not None else 0
    return window[at] if at < len(window) else 0


def _past_space(data: memoryview, at: int) -> int:
    found = _SPACE.match(data, at)
    assert found is not None, "it matches the empty text, too"
    return found.end()
