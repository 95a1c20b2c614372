"""What looks like a secret although nobody said so: keys by their form, and values by the name before them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick

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
_USERINFO = re.compile(r"://[^\s/@:\"'\\?#]*:([^\s/@\"'\\?#]+)@")
_LONGEST_USERINFO = 8_192
_CAPITALS = re.compile("[A-Z]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
# How the names of secret fields end in compact JSON, and the beginnings of values that hold nothing or are
# found as text.
_FIELD_ENDS = tuple(
    f'{name}":'
    for name in (
        "key", "secret", "password", "passwd", "passphrase", "authorization", "cookie", "credential",
        "credentials", "auth_link", "auth-link", "authlink", "token",
    )
)  # fmt: skip
_NO_SECRET = frozenset('"ntf')
# Where in the list of needles the field ends and the given words begin.
_FIELDS = len(_DETECTORS)
_WORDS = _FIELDS + len(_FIELD_ENDS)


@dataclass(slots=True)
class Scan:
    """What a scan found: spans that look like secrets, which may overlap, and given words with their start.

    `fields` says that compact JSON may have a field named like a secret whose value is no string.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    words: list[tuple[str, int]] = field(default_factory=list)
    fields: bool = False


class SecretSearch:
    """One pass through a text for everything that looks like a secret and for given words.

    `words` are found exactly as they are spelled. Safe to use from several threads.
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._words = tuple(words)
        self._folded = [word for word in self._words if word.isascii()]
        self._others = [word for word in self._words if not word.isascii()]

    def scan(self, text: str) -> Scan:
        """Look through a text, or through encoded JSON."""
        found = Scan()
        done = [0] * _FIELDS
        for number, start, end in self._search.find_matches_as_indexes(_without_case(text), overlapping=True):
            if number >= _WORDS:
                word = self._folded[number - _WORDS]
                if text.startswith(word, start):
                    found.words.append((word, start))
            elif number >= _FIELDS:
                found.fields = found.fields or text[end : end + 1] not in _NO_SECRET
            elif start >= done[number] and (match := _DETECTORS[number][1].match(text, start)):
                found.spans.append(match.span(match.lastindex or 0))
                done[number] = match.end()
        for word in self._others:
            start = text.find(word)
            while start >= 0:
                found.words.append((word, start))
                start = text.find(word, start + 1)
        found.spans += _passwords_in_addresses(text)
        return found

    @cached_property
    def _search(self) -> AhoCorasick:
        import ahocorasick_rs

        return ahocorasick_rs.AhoCorasick(
            [*(needle for needle, _ in _DETECTORS), *_FIELD_ENDS, *(word.lower() for word in self._folded)],
            matchkind=ahocorasick_rs.MatchKind.Standard,
            implementation=ahocorasick_rs.Implementation.DFA,
        )


def _without_case(text: str) -> str:
    """The text in lower case, character for character, with nothing in it that UTF-8 cannot carry."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    if len(lowered) != len(text):
        lowered = _CAPITALS.sub(lambda found: found[0].lower(), text)
    return _SURROGATES.sub("?", lowered)


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
        at = text.find("@", at + 1)
    return found
