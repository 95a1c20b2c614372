"""Masks secrets in every text that is stored or shown, and escapes misleading characters."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate, chain
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from ua_tui.core.errors import causes_of
from ua_tui.core.events.types import AuthRequired, ElicitationAsked, ErrorRaised, Event
from ua_tui.core.redaction.assignments import undecided
from ua_tui.core.redaction.detectors import Scan, SecretSearch
from ua_tui.core.redaction.values import Span, is_secret
from ua_tui.core.text import clean, escape_unsafe, is_encodable, middle_truncate

_PIECE = 6
_CUT_AFTER = re.compile(r"(?:\s|\\+n)?\[?(?:…|\\+u2026)")
_CUT_BEFORE = re.compile(r"(?:…|\\+u2026)\]?(?:\s|\\+n)?\Z")
_END = re.compile(r"\Z|\n?\0|\\*\"")
# The name of a field, or a word at the end of a sentence, is no piece of a password that begins with it.
_WORDLIKE = re.compile(r"[a-z_-]+|[A-Z_-]+|[A-Z][a-z]+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:(?:\\*/){2}[^/?#\\]*(?:\\*/)?", re.IGNORECASE)


class KnownValues:
    """Searches a text for known secrets in every given spelling, and for everything that looks like a secret."""

    def __init__(self, spellings: Iterable[str] = ()) -> None:
        self._heads: dict[str, list[str]] = {}
        self._tails: dict[str, list[str]] = {}
        for each in spellings:
            # An address begins with what every address of its host begins with.
            address = _ADDRESS.match(each)
            least = _PIECE + (address.end() if address else 0)
            self._heads.setdefault(each[:least], []).append(each)
            self._tails.setdefault(each[-_PIECE:], []).append(each)

    @cached_property
    def search(self) -> SecretSearch:
        """The search for all secrets; the words that it finds are places to pass to `spans`."""
        return SecretSearch(tuple({*self._heads, *self._tails}))

    def spans(self, text: str, word: str, start: int) -> Iterator[tuple[str, int, int]]:
        """The secrets at a place that `scan` found: the spelling of each, whole or cut, with its start and end."""
        for form in self._heads.get(word, ()):
            found = _common(form, text[start : start + len(form)])
            if found < len(form):
                # What follows in the text may be another escape than in the secret: its backslash is no piece of it.
                found = len(form[:found].rstrip("\\"))
                if found < len(word) or not _ends_cut(text, start, start + found):
                    continue
            yield form[:found], start, start + found
        end = start + len(word)
        for form in self._tails.get(word, ()):
            before = text[max(end - len(form), 0) : end]
            found = _common(form[::-1], before[::-1])
            if found < len(form) and _CUT_BEFORE.search(text, max(end - found - 20, 0), end - found):
                yield form[-found:], end - found, end


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _ends_cut(text: str, start: int, end: int) -> bool:
    """Whether the text was cut at `end`, within a secret that began at `start`."""
    if _CUT_AFTER.match(text, end):
        return True
    return _END.match(text, end) is not None and not _WORDLIKE.fullmatch(text, start, end)


REDACTED = "[redacted]"
# A word of a command, or of code.
_PART = r"[^\s;&|<>(){}$`'\"\\]+"


def mask_words(secret: str) -> str:
    """Mask each word of a secret: a person who is asked must notice a command in what only looks like a secret."""
    return re.sub(_PART, REDACTED, secret)


def mask_whole(_secret: str) -> str:
    """Mask a secret so that nothing of it is left."""
    return REDACTED


_DEEPEST = 64
_TOO_DEEP = f"[left out: nested deeper than {_DEEPEST} levels]"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_BARE_JSON = re.compile(r"[\s{}\[\],:0-9+\-.eEtrufalsn]+")
_BETWEEN = "\0"
_NOTHING_KNOWN = KnownValues()


class Redactor:
    """Masks known secrets, and everything that looks like one, before a text is stored or shown.

    Encoded JSON stays valid JSON: the mask is plain ASCII, and a match never includes a quote or an escape that is not
    part of the secret. Safe to use from several threads.

    Attributes:
        values: the known secrets.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()
        self._raw_forms: tuple[str, ...] = ()
        self._of_words: tuple[str, ...] = ()
        self._known = _NOTHING_KNOWN
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Mask `value` from now on; one shorter than 8 characters is ignored."""
        value = value.strip()
        if len(value) < 8 or value in REDACTED or value in self.values:
            return
        self.values |= {value}
        if len(value.split()) > 1:
            self._of_words += (value,)
        found = {value, quote(value, safe=""), value.replace("/", "\\/")} if is_encodable(value) else {value}
        once = _escapings(value)
        spelled = found.union(once, *(_escapings(form) for form in once))
        if '"' in value or "\\" in value or _BARE_JSON.fullmatch(value):
            # The value could be a piece of JSON's own syntax, so its matches need a closer check.
            self._raw_forms += (value,)
            spelled.discard(value)
        self._forms += tuple(spelled)
        self._known = KnownValues(self._forms)

    def add_link(self, url: str) -> None:
        """Mask a link that may give access to whoever has it, unless it is only a host."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return
        if parts.path.strip("/") or parts.query or parts.fragment:
            self.add(url)

    def redact(self, text: str) -> str:
        """Mask every secret in a text, or in encoded JSON, by `[redacted]`."""
        return "".join(_masked_parts(text, self.scan(text).spans))

    def redact_in_pieces(self, text: str, size: int) -> Iterator[str]:
        """Mask every secret as `redact` does, in pieces of about `size` characters, without a copy of the text."""
        waiting: list[str] = []
        length = 0
        for part in _masked_parts(text, self.scan(text).spans):
            for at in range(0, len(part), size):
                waiting.append(part[at : at + size])
                length += len(waiting[-1])
                if length >= size:
                    yield "".join(waiting)
                    waiting, length = [], 0
        yield "".join(waiting)

    def before_unfinished(self, text: str, end: int) -> int:
        """Return the place before `end` where a known secret of several words may have begun, or `end` itself."""
        for value in self._of_words:
            for length in range(min(len(value) - 1, end), 0, -1):
                if text.startswith(value[:length], end - length):
                    end -= length
                    break
        return end

    def finds_nothing(self, encoded: bytes) -> bool:
        """Whether `redact_json` would leave a JSON document, in UTF-8, unchanged."""
        found = self._known.search.scan(encoded)
        if found.words or self._raw_forms:
            found = self.scan(encoded.decode())
        return not (found.spans or found.fields)

    def redact_json(self, text: str) -> str:
        """Mask the secrets in a JSON document as `redact_value` does in its value; the result is valid JSON.

        Raises:
            ValueError: there is a secret in it, and it is not a JSON document.
        """
        found = self.scan(text)
        if not found.fields:
            masked = "".join(_masked_parts(text, found.spans))
            if masked == text or _is_json(masked):
                return masked
        return msgspec.json.encode(self.redact_value(msgspec.json.decode(text))).decode()

    def redact_value(self, value: Any, mask: Callable[[str], str] = mask_whole) -> Any:
        """Copy a JSON-like value without its secrets; a key that names a secret loses its value.

        Values nested deeper than 64 levels are replaced by a note. `mask` gives what stands for a secret.
        """
        texts: set[str] = set()
        _collect(value, texts, 0)
        return self._copy(value, self._masked(texts, mask), 0, mask)

    def scan(self, text: str) -> Scan:
        """Find the secrets of a text, those that are known, too."""
        found = self._known.search.scan(text)
        for word, start in found.words:
            for form, at, end in self._known.spans(text, word, start):
                if (span := _occurrence(text, form, at)) is not None:
                    found.spans.append((span[0], end))
        for form in self._raw_forms:
            if form in text:
                found.spans += _raw_occurrences(text, form)
                found.fields = True
        return found

    def _masked(self, texts: set[str], mask: Callable[[str], str]) -> dict[str, str]:
        # One search through all texts at once, then each that may have a secret by itself: what is beside a value
        # decides about it. Long ones are not copied.
        long = {text for text in texts if len(text) > (1 << 20)}
        ordered = list(texts - long)
        starts = list(accumulate((len(text) + len(_BETWEEN) for text in ordered), initial=0))
        touched: set[int] = set()
        joined = _BETWEEN.join(ordered)
        raw = (at.span() for form in self._raw_forms for at in re.finditer(re.escape(form), joined))
        for start, end in chain(self._known.search.near(joined), raw):
            touched.update(range(bisect_right(starts, start) - 1, bisect_left(starts, end)))
        touched_texts = {ordered[at] for at in touched if at < len(ordered)}
        return {
            text: "".join(_masked_parts(text, self.scan(text).spans, mask)) for text in touched_texts | long
        }

    def _copy(self, value: Any, masked: dict[str, str], depth: int, mask: Callable[[str], str]) -> Any:
        if isinstance(value, str):
            return masked.get(value, value)
        if isinstance(value, int) and not isinstance(value, bool):
            known = value.bit_length() < 512 and str(value) in self.values
            return REDACTED if known else value
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _DEEPEST:
            return _TOO_DEEP
        if isinstance(value, dict):
            return {
                masked.get(key, key): (
                    (mask(item) if isinstance(item, str) else REDACTED)
                    if is_secret(key, item)
                    else self._copy(item, masked, depth + 1, mask)
                )
                for key, item in value.items()
            }
        items = [self._copy(item, masked, depth + 1, mask) for item in value]
        return tuple(items) if isinstance(value, tuple) else items


def error_raised(where: str, error: Exception, redactor: Redactor) -> ErrorRaised:
    """Make the event of a failure and its causes, cleaned and without secrets."""
    return ErrorRaised(
        where=where,
        message=redactor.redact(clean(str(error))) or type(error).__name__,
        causes=[redactor.redact(clean(cause))[:500] for cause in causes_of(error)],
    )


def mask_link(url: str) -> str:
    """Keep the scheme and host of a link that is itself a secret, and mask the rest."""
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        return REDACTED
    return f"{parts.scheme}://{host}/{REDACTED}" if parts.scheme and host else REDACTED


def with_masked_link(event: Event, redactor: Redactor | None) -> Event:
    """Return an event without the link that a person is to open, which the redactor masks from then on."""
    if isinstance(event, AuthRequired):
        if redactor is not None:
            redactor.add(event.url)
    elif not isinstance(event, ElicitationAsked) or not event.url:
        return event
    elif redactor is not None:
        redactor.add_link(event.url)
    return msgspec.structs.replace(event, url=mask_link(event.url))


def preview(text: str, limit: int, redactor: Redactor) -> str:
    """Cut a text to `limit` characters, without secrets and without half a secret at either side of the gap."""
    window = 2 * limit
    if len(text) <= 2 * window:
        return middle_truncate(redactor.redact(text), limit)
    head, tail = redactor.redact(text[:window]), redactor.redact(text[-window:])
    kept = limit // 2 - 30
    left_out = len(text) - 2 * kept
    return f"{head[:kept]}\n[… {left_out} characters left out …]\n{tail[-kept:]}"


def seal_json(text: str, redactor: Redactor) -> bytes:
    """Turn encoded JSON into a line for a file: without secrets and without characters that could mislead a reader."""
    return escape_unsafe(redactor.redact_json(text)).encode("utf-8", "replace") + b"\n"


def _collect(value: object, texts: set[str], depth: int) -> None:
    if isinstance(value, str):
        texts.add(value)
    elif depth >= _DEEPEST:
        return
    elif isinstance(value, dict):
        texts.update(key for key in value if isinstance(key, str))
        for item in value.values():
            _collect(item, texts, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, texts, depth + 1)


def _escapings(text: str) -> set[str]:
    forms = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return forms | {escape_unsafe(form) for form in forms}


def _occurrences(text: str, form: str) -> Iterator[Span]:
    start = text.find(form)
    while start >= 0:
        if (span := _occurrence(text, form, start)) is not None:
            yield span
        start = text.find(form, start + 1)


def _occurrence(text: str, form: str, start: int) -> Span | None:
    """Where to mask a spelling found at `start`; None if it only appears inside an escape."""
    end = start + len(form)
    begun = _escape_rest(text, start)
    if begun == 0:
        return start, end
    return None if "\\" in form else (min(start + begun, end), end)


def _escape_rest(text: str, start: int) -> int:
    r"""Count the characters from `start` on that belong to a JSON escape (\n, \u00e9) begun before it."""
    for at in range(start - 1, max(start - 6, -1), -1):
        if text[at] == "\\":
            run = at
            while run > 0 and text[run - 1] == "\\":
                run -= 1
            if (at - run) % 2:
                return 0
            kind = text[at + 1 : at + 2]
            length = 6 if kind == "u" else 2 if kind and kind in '"\\/bfnrt' else 0
            return max(at + length - start, 0)
        if text[at] not in "u0123456789abcdefABCDEF":
            return 0
    return 0


def _raw_occurrences(text: str, form: str) -> list[Span]:
    if not _is_json(text):
        return [at.span() for at in re.finditer(re.escape(form), text)]
    if '"' in form or "\\" in form:
        return []
    return [
        (literal.start() + start, literal.start() + end)
        for literal in _STRING.finditer(text)
        for start, end in _occurrences(literal[0], form)
    ]


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"{", "[", '"'}:
        return False
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def joined(spans: Iterable[Span]) -> list[Span]:
    """Join the spans of a text that overlap or touch; in order, without empty ones."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def _masked_parts(
    text: str, spans: list[Span], mask: Callable[[str], str] = mask_whole, done: int = 0
) -> Iterator[str]:
    for start, end in joined(spans):
        if end > done:
            yield text[done:start]
            yield mask(text[start:end])
            done = end
    yield text[done:] if done else text


_SIGN = re.compile("[:=：|]")
_OPEN_END = re.compile(r"(?<![!-~])[!-~]+\Z")
_LONGEST_WAIT = 512
_CONTEXT = 4_608


class StreamRedactor:
    """Passes a text on, except for what may be the beginning of a secret, which waits until it is complete.

    That is the last word, the beginning of a known secret, and the rest of a line behind the name of a secret. What was
    passed on last is searched again with each piece: the more places there are in it to examine, the longer the pieces.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._passed = self._piece = self._waiting = ""
        self._least = 0
        self._is_undecided = self._ends_masked = False

    def feed(self, piece: str) -> str:
        """Add a piece; returns what can be passed on, without secrets."""
        self._piece += piece
        if len(self._piece) < self._least:
            return ""
        piece, self._piece = self._piece, ""
        self._waiting += piece
        if self._is_undecided and "\n" not in piece and len(self._waiting) < _LONGEST_WAIT:
            return ""
        self._is_undecided = self._is_undecided or _SIGN.search(piece) is not None
        return self._pass_on(self._complete())

    def end(self) -> str:
        """Return the rest at the end of the text; another text may follow."""
        self._waiting += self._piece
        rest = self._pass_on(len(self._waiting))
        self._passed = self._piece = ""
        self._least = 0
        self._is_undecided = self._ends_masked = False
        return rest

    def _complete(self) -> int:
        """How many of the waiting characters belong to complete words."""
        end = len(self._waiting)
        if self._is_undecided:
            before = self._passed[-100:]
            name = max(undecided(before + self._waiting) - len(before), 0)
            self._is_undecided = 0 < end - name < _LONGEST_WAIT
            if self._is_undecided:
                end = name
        word = _OPEN_END.search(self._waiting[max(end - _CONTEXT, 0) : end])
        # Only the second dot of a JSON Web Token, which may come late, tells that it is one.
        if word and len(word[0]) < (_CONTEXT if "eyJ" in word[0] else _LONGEST_WAIT):
            end -= len(word[0])
        return self._redactor.before_unfinished(self._waiting, end)

    def _pass_on(self, count: int) -> str:
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        if not ready:
            return ""
        # A name such as `password:` may have been passed on before its value came.
        before = self._passed[-_CONTEXT:]
        self._passed = before + ready
        found = self._redactor.scan(self._passed)
        self._least = min(found.places, _LONGEST_WAIT) // 2
        masked = "".join(_masked_parts(self._passed, found.spans, done=len(before)))
        # A secret that goes on has its mask already.
        shown = masked.removeprefix(REDACTED) if self._ends_masked else masked
        self._ends_masked = masked.endswith(REDACTED)
        return shown
