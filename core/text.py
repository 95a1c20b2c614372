"""Text nobody vouches for: made harmless to look at, cut to size, and freed of secrets."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any
from urllib.parse import quote

import msgspec

from core.redaction.detectors import SecretSearch
from core.redaction.names import is_secret

__all__ = [
    "REDACTED",
    "Redactor",
    "clean",
    "clean_line",
    "escape_unsafe",
    "holds_unsafe",
    "is_unsafe",
    "middle_truncate",
    "without_surrogates",
]

REDACTED = "[redacted]"

# C1 controls, invisible and direction-changing characters, fillers, tags, lone surrogates, and what terminals
# draw parts of pictures for.
_HIDDEN = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U0010eeee"
)
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")
_UNSAFE_IN_JSON = re.compile(f"[{_HIDDEN}]")
_PLAIN_BYTES = bytes(range(0x7F))
_PIECE = 64 << 10
_BREAKS = str.maketrans("\n\t", "  ")


def clean(text: str) -> str:
    """Replace what could steer a terminal or hide from a reader by U+FFFD.

    Line feeds and tabs stay, CR LF becomes LF, everything visible is kept.
    """
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n"))


def clean_line(text: str, limit: int = 200) -> str:
    """Clean text and lay it on one line of at most `limit` characters, with an ellipsis when cut."""
    line = clean(text.strip()[: 2 * limit + 2]).translate(_BREAKS).rstrip()
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"[:limit]


def is_unsafe(text: str) -> bool:
    """Tell whether `clean` would replace anything in `text`."""
    return _UNSAFE.search(text) is not None


def escape_unsafe(json_text: str) -> str:
    r"""Write the characters `clean` replaces as \uXXXX escapes in JSON text, which loses nothing.

    `json_text` is encoded JSON; an encoder has already escaped the C0 controls inside its strings.
    """
    if json_text.isascii() and "\x7f" not in json_text:
        return json_text
    if not holds_unsafe(json_text.encode("utf-8", "surrogatepass")):
        return json_text
    # One search through all of a large text would keep every other thread waiting, the event loop's too.
    pieces = (json_text[at : at + _PIECE] for at in range(0, len(json_text), _PIECE))
    return "".join(_UNSAFE_IN_JSON.sub(_escaped, piece) for piece in pieces)


def holds_unsafe(encoded: bytes) -> bool:
    """Tell whether `escape_unsafe` would change a JSON text, given in UTF-8."""
    if encoded.isascii():
        return b"\x7f" in encoded
    # Most of a text is plain ASCII, which is quickly put aside, and of the rest hardly any is unsafe.
    rest = encoded.translate(None, _PLAIN_BYTES).decode("utf-8", "surrogatepass")
    return _UNSAFE_IN_JSON.search(rest) is not None


def _escaped(match: re.Match[str]) -> str:
    return _escape(match[0])


@lru_cache(maxsize=4096)
def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, so that the text encodes as UTF-8."""
    if _encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def middle_truncate(text: str, limit: int) -> str:
    """Cut the middle out of a text longer than `limit` characters and say how much was left out."""
    if len(text) <= limit:
        return text
    keep = limit - len(_notice(len(text)))
    if keep < 2:
        return text[: max(limit, 0)]
    tail = keep // 2
    return text[: keep - tail] + _notice(len(text) - keep) + text[len(text) - tail :]


def _notice(count: int) -> str:
    return f"\n[… {count} characters left out …]\n"


_SHORTEST = 8
_DEEPEST = 64
_TOO_DEEP = f"[left out: nested deeper than {_DEEPEST} levels]"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_BARE_JSON = re.compile(r"[\s{}\[\],:0-9+\-.eEtrufalsn]+")
_PLAIN_SEARCH = SecretSearch()


class Redactor:
    """Masks the secrets it was told of, and whatever looks like one, before text reaches a sink.

    Encoded JSON stays valid JSON: the replacement is plain ASCII, and a match never takes a quote or an
    escape with it that is not part of the secret. Safe to use from several threads.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()
        self._raw_forms: tuple[str, ...] = ()
        self._search = _PLAIN_SEARCH
        for value in values:
            self.add(value)

    @property
    def values(self) -> frozenset[str]:
        """The secrets it was told of."""
        return self._values

    def add(self, value: str) -> None:
        """Mask `value` from now on; one shorter than 8 characters is ignored."""
        value = value.strip()
        if len(value) < _SHORTEST or value in REDACTED or value in self._values:
            return
        self._values |= {value}
        spelled = _spellings(value)
        if '"' in value or "\\" in value or _BARE_JSON.fullmatch(value):
            # As it stands it could be a piece of JSON's own syntax, so that needs a closer look.
            self._raw_forms += (value,)
            spelled.discard(value)
        self._forms += tuple(spelled)
        self._search = SecretSearch(self._forms)

    def redact(self, text: str) -> str:
        """Mask every secret in a text, or in encoded JSON, by `[redacted]`."""
        spans = self._spans(text)
        return _mask(text, spans) if spans else text

    def finds_nothing(self, encoded: bytes) -> bool:
        """Whether `redact_json` would leave a JSON document, given in UTF-8, as it is."""
        found = self._search.scan(encoded)
        if found.spans or found.fields:
            return False
        return not (found.words or self._raw_forms) or not any(self._scan(encoded.decode()))

    def redact_json(self, text: str) -> str:
        """Mask the secrets in a JSON document as `redact_value` does in the value it encodes; it stays one.

        Raises:
            ValueError: there is a secret in it and it is no JSON document.
        """
        spans, fields = self._scan(text)
        if not fields:
            masked = _mask(text, spans) if spans else text
            if masked is text or _is_json(masked):
                return masked
        return msgspec.json.encode(self.redact_value(msgspec.json.decode(text))).decode()

    def redact_value(self, value: Any) -> Any:
        """Copy a JSON-like value without its secrets; a key that names a secret loses its value.

        What is nested deeper than 64 levels is left out, and a note put in its place.
        """
        texts: set[str] = set()
        _collect(value, texts, 0)
        return self._copy(value, self._masked(texts), 0)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        return self._scan(text)[0]

    def _scan(self, text: str) -> tuple[list[tuple[int, int]], bool]:
        """Where the secrets of a text are, and whether compact JSON may have others that are no strings."""
        found = self._search.scan(text)
        spans = found.spans
        spans += [span for word, start in found.words if (span := _occurrence(text, word, start)) is not None]
        raw = [form for form in self._raw_forms if form in text]
        for form in raw:
            spans += _raw_occurrences(text, form)
        return spans, found.fields or bool(raw)

    def _masked(self, texts: set[str]) -> dict[str, str]:
        # One search through all texts at once, then a closer look at the few it points to.
        ordered = list(texts)
        starts = list(accumulate((len(text) + 1 for text in ordered), initial=0))
        touched: set[int] = set()
        for start, end in self._spans("\0".join(ordered)):
            touched.update(range(bisect_right(starts, start) - 1, bisect_left(starts, end)))
        return {ordered[at]: self.redact(ordered[at]) for at in touched if at < len(ordered)}

    def _copy(self, value: Any, masked: dict[str, str], depth: int) -> Any:
        if isinstance(value, str):
            return masked.get(value, value)
        if isinstance(value, int) and not isinstance(value, bool):
            known = value.bit_length() < 512 and str(value) in self._values
            return REDACTED if known else value
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _DEEPEST:
            return _TOO_DEEP
        if isinstance(value, dict):
            return {
                masked.get(key, key): (
                    REDACTED if is_secret(key, item) else self._copy(item, masked, depth + 1)
                )
                for key, item in value.items()
            }
        items = [self._copy(item, masked, depth + 1) for item in value]
        return tuple(items) if isinstance(value, tuple) else items


def _collect(value: object, texts: set[str], depth: int) -> None:
    if isinstance(value, str):
        texts.add(value)
    elif depth >= _DEEPEST:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(key, texts, _DEEPEST)
            _collect(item, texts, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, texts, depth + 1)


def _spellings(value: str) -> set[str]:
    found = {value, quote(value, safe=""), value.replace("/", "\\/")} if _encodable(value) else {value}
    once = _escapings(value)
    return found.union(once, *(_escapings(form) for form in once))


def _escapings(text: str) -> set[str]:
    forms = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return forms | {escape_unsafe(form) for form in forms}


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _occurrences(text: str, form: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        if (span := _occurrence(text, form, start)) is not None:
            yield span
        start = text.find(form, start + 1)


def _occurrence(text: str, form: str, start: int) -> tuple[int, int] | None:
    """Where to mask a spelling found at `start`; None when it only looks so inside an escape."""
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


def _raw_occurrences(text: str, form: str) -> list[tuple[int, int]]:
    if not _is_json(text):
        return [(at.start(), at.end()) for at in re.finditer(re.escape(form), text)]
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


def _mask(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    masked = -1
    for start, end in sorted(spans):
        if end <= max(done, start):
            continue
        if start > done or masked != done:
            pieces.append(text[done:start])
            pieces.append(REDACTED)
        done = masked = end
    pieces.append(text[done:])
    return "".join(pieces)
