"""Recognises the names of secrets: of fields in JSON, and of variables, headers and options.

The last word of a name counts, however its words are joined. Some names are certain, such as `api_key` and
`password`; others, such as `notes_token` and `db_pass`, are also used for harmless values, so that in data the value
counts as well.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["KEY_WORDS", "is_secret", "names_given_secret", "names_secret"]

KEY_WORDS = (
    "access", "private", "secret", "signing", "encryption", "decryption", "master", "auth", "admin", "ssh", "jwt",
    "hmac", "webhook", "subscription",
)  # fmt: skip
"""The words before `key` in the name of a secret, besides `api`."""

_CERTAIN = re.compile(
    r"(?:api_?key|secret|secret_?key|password|passwd|passphrase|authorization|cookie|credentials?|auth_?link"
    rf"|(?:{'|'.join(KEY_WORDS)})_?key"
    r"|(?:access|refresh|auth|id|session|bearer|link|bot|secret|security)_?token"
    r")$|^token$"
)
_LIKELY = frozenset({"token", "pwd", "pass", "auth", "bearer"})
_GIVEN = _LIKELY | {"key", "keys", "secrets", "passwords", "pat", "dsn"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST = 200
_PLACES = frozenset({"PWD", "OLDPWD"})


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\S+", text))


_BEFORE_HARMLESS = {
    # Positions in lists, stories and offers, as search services name them; terms of language models.
    "token": _words(
        "page pages pagination next previous prev continuation continue cursor scroll offset sync resume start end "
        "story topic section publication news image video product property departure booking search place "
        "first last current per max min total count prompt completion input output cached reasoning stop special "
        "bos eos pad unk mask sep cls base quote native"
    ),
    "key": _words(
        "public primary foreign sort order partition row group cache hot arrow unique index join shortcut object "
        "project issue site range hash lookup composite natural surrogate idempotency"
    ),
    "pass": _words("first second third single multi one two boarding season day ski high low band render"),
    "auth": _words("no requires require needs use uses skip disable enable with without is has"),
    "pwd": frozenset[str](),
    "bearer": frozenset[str](),
}
_COUNTED = _words("max min per total count first last next page start end stop")
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey)\s+", re.IGNORECASE)
_PLAIN_VALUES = _words(
    "none null true false basic bearer digest oauth oauth2 apikey api_key api-key required optional public private "
    "passed failed success default unknown string redacted [redacted]"
)
_SHORTEST = 6
_LOOKS_PLAIN = re.compile(r"\s|^(?:/|~/|\.\.?/|[a-z][a-z0-9+.-]*://)", re.IGNORECASE)


def names_secret(key: object) -> bool:
    """Whether a mapping's key names a secret, such as `api_key`, `x-api-key`, `accessToken` or `GITHUB_TOKEN`."""
    return isinstance(key, str) and (_is_certain(key) or _likely(key, given=False))


def names_given_secret(name: str) -> bool:
    """Whether the name of a variable, a header or an option is that of a secret; plain `KEY` is one, too."""
    return _is_certain(name) or _likely(name, given=True)


def is_secret(key: object, value: object) -> bool:
    """Whether a field of data holds a secret, by its name and, if that is not certain, by its value."""
    if not isinstance(key, str) or value in (None, "", [], {}, ()) or isinstance(value, bool):
        return False
    return _is_certain(key) or (_likely(key, given=False) and _may_be_secret(value))


@lru_cache(maxsize=4096)
def _is_certain(name: str) -> bool:
    return len(name) <= _LONGEST and _CERTAIN.search(name.lower().replace("-", "_")) is not None


@lru_cache(maxsize=4096)
def _likely(name: str, *, given: bool) -> bool:
    if len(name) > _LONGEST or name in _PLACES:
        return False
    found = [each.lower() for each in _WORD.findall(name)]
    if not found or found[-1] not in (_GIVEN if given else _LIKELY):
        return False
    if len(found) == 1:
        return True
    # Under such a name, a value that a person gives or an environment variable is usually a secret.
    is_given = given or name.isupper()
    harmless = _COUNTED if is_given and found[-1] == "token" else _BEFORE_HARMLESS.get(found[-1], ())
    return found[-2] not in harmless


def _may_be_secret(value: object) -> bool:
    if not isinstance(value, str):
        return False
    bare = _SCHEME.sub("", value.strip(), count=1)
    return len(bare) >= _SHORTEST and bare.lower() not in _PLAIN_VALUES and not _LOOKS_PLAIN.search(bare)
