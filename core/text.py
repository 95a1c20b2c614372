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

__all__ = [
    "REDACTED",
    "Redactor",
    "clean",
    "clean_line",
    "escape_unsafe",
    "is_unsafe",
    "middle_truncate",
    "names_secret",
    "without_surrogates",
]

REDACTED = "[redacted]"

# C1 controls, invisible and direction-changing characters, fillers, tags and lone surrogates.
_HIDDEN = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")
_UNSAFE_IN_JSON = re.compile(f"[{_HIDDEN}]")
_PIECE = 64 << 10
_SURROGATE = re.compile("[\ud800-\udfff]")
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
    # One search through all of a large text would keep every other thread waiting, the event loop's too.
    pieces = (json_text[at : at + _PIECE] for at in range(0, len(json_text), _PIECE))
    return "".join(_UNSAFE_IN_JSON.sub(_escaped, piece) for piece in pieces)


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
    if _SURROGATE.search(text) is None:
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
_AFTER_BOUNDARY = r"(?:(?<![A-Za-z0-9_]{0})|(?<=\\[nrtbf]{0})|(?<=\\u[0-9a-fA-F]{{4}}{0}))"


def _pair(name: str, *, header: bool = False) -> tuple[str, re.Pattern[str]]:
    tail = f"{_QUOTED_VALUE}|{_HEADER_VALUE if header else _ASSIGNED_VALUE}"
    return name, re.compile(f"(?i:{re.escape(name)}{_SUFFIX})(?i:{tail})")


def _token(prefix: str, pattern: str, *, anywhere: bool = False) -> tuple[str, re.Pattern[str]]:
    boundary = "" if anywhere else _AFTER_BOUNDARY.format(re.escape(prefix))
    return prefix.lower(), re.compile(f"({re.escape(prefix)}{boundary}{pattern})")


# Each pattern begins with its lower-case needle, and its one matching group is the secret.
_DETECTORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    _token("sk-ant-", r"[A-Za-z0-9_-]{6,}", anywhere=True),
    _token("sk-", r"[A-Za-z0-9_-]{20,}"),
    _token("ak_", r"[A-Za-z0-9_-]{8,}"),
    _token("lk_", r"[A-Za-z0-9_-]{8,}"),
    *(_token(f"gh{kind}_", r"[A-Za-z0-9]{20,}") for kind in "pousr"),
    _token("AKIA", r"[A-Z0-9]{16}"),
    _token("AIza", r"[A-Za-z0-9_-]{30,}"),
    _token("pylf_v", r"[A-Za-z0-9_]{12,}"),
    _token("xox", r"[abeoprs]-[A-Za-z0-9-]{10,}"),
    _token("eyJ", r"[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    (
        "-----begin",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----((?:[A-Za-z0-9+/=\s:,.-]|\\+[nr])++)",
        ),
    ),
    (
        "bearer",
        re.compile(
            r"(?i:bearer)(?:\s+|%20|\+)"
            r"((?=[A-Za-z0-9.~+/]*[0-9_=-]|[A-Za-z0-9.~+/]{20})[A-Za-z0-9._~+/=-]{8,})"
        ),
    ),
    (
        "connect.composio.dev",
        re.compile(r"(?i:connect\.composio\.dev)(?::\d+)?\\?/link\\?/([^\s\"'\\<>()\[\]]+)"),
    ),
    ("://", re.compile(r"://[^\s/@:\"'\\?#]*:([^\s/@\"'\\?#]+)@")),
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
        )
    ),
    ("token", re.compile(rf"(?i:token(?<![A-Za-z0-9_-]token))(?i:{_QUOTED_VALUE}|{_ASSIGNED_VALUE})")),
    *(
        (
            f"{name}=",
            re.compile(rf"(?i:{name}(?:(?<=[?&;]{name})|(?<=\\u0026{name}))){_ASSIGNED_VALUE}"),
        )
        for name in ("key", "sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token")
    ),
)  # fmt: skip
_SECRET_KEYS = re.compile(
    r"(?:api_?key|secret|secret_?key|password|passwd|passphrase|authorization|cookie|credentials?|auth_?link"
    r"|(?:access|private|secret)_?key"
    r"|(?:access|refresh|auth|id|session|bearer|link|bot|secret|security)_?token"
    r")$|^token$"
)
_SHORTEST = 8
_DEEPEST = 64
_TOO_DEEP = f"[left out: nested deeper than {_DEEPEST} levels]"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_BARE_JSON = re.compile(r"[\s{}\[\],:0-9+\-.eEtrufalsn]+")


class Redactor:
    """Masks the secrets it was told of, and whatever looks like one, before text reaches a sink.

    Encoded JSON stays valid JSON: the replacement is plain ASCII, and a match never takes a quote or an
    escape with it that is not part of the secret. Safe to use from several threads.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()
        self._raw_forms: tuple[str, ...] = ()
        for value in values:
            self.add(value)

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

    def redact(self, text: str) -> str:
        """Mask every secret in a text, or in encoded JSON, by `[redacted]`."""
        spans = self._spans(text)
        return _mask(text, spans) if spans else text

    def redact_value(self, value: Any) -> Any:
        """Copy a JSON-like value without its secrets; a key that names a secret loses its value.

        What is nested deeper than 64 levels is left out, and a note put in its place.
        """
        texts: set[str] = set()
        _collect(value, texts, 0)
        return self._copy(value, self._masked(texts), 0)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans = [span for form in self._forms for span in _occurrences(text, form)]
        for form in self._raw_forms:
            if form in text:
                spans += _raw_occurrences(text, form)
        spans += _detected(text)
        return spans

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
                    REDACTED
                    if names_secret(key) and _holds_secret(item)
                    else self._copy(item, masked, depth + 1)
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


def names_secret(key: object) -> bool:
    """Tell whether a mapping's key names a secret, such as `api_key`, `x-api-key` or `accessToken`."""
    return (
        isinstance(key, str)
        and len(key) <= 200
        and _SECRET_KEYS.search(key.lower().replace("-", "_")) is not None
    )


def _holds_secret(value: object) -> bool:
    return value not in (None, "", [], {}, ()) and not isinstance(value, bool)


def _spellings(value: str) -> set[str]:
    found = {value, quote(value, safe=""), value.replace("/", "\\/")} if _encodable(value) else {value}
    once = _escapings(value)
    return found.union(once, *(_escapings(form) for form in once))


def _escapings(text: str) -> set[str]:
    forms = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return forms | {escape_unsafe(form) for form in forms}


def _encodable(value: str) -> bool:
    return _SURROGATE.search(value) is None


def _occurrences(text: str, form: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        begun = _escape_rest(text, start)
        if begun == 0:
            yield start, end
        elif "\\" not in form:
            yield min(start + begun, end), end
        start = text.find(form, start + 1)


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


def _detected(text: str) -> Iterator[tuple[int, int]]:
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = re.sub("[A-Z]+", lambda found: found[0].lower(), text)
    for needle, pattern in _DETECTORS:
        at = lowered.find(needle)
        while at >= 0:
            match = pattern.match(text, at)
            if match is None:
                at = lowered.find(needle, at + 1)
                continue
            yield match.span(match.lastindex or 0)
            at = lowered.find(needle, match.end())


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
