"""Untrusted text: made safe to show on a terminal, and cut to size."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

# C1 controls, invisible and direction-changing characters, fillers, tags, lone surrogates, and the characters that
# terminals use for parts of pictures.
_HIDDEN = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U0010eeee"
)
SOFT_HYPHEN = "\u00ad"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")
_UNSAFE_IN_JSON = re.compile(f"[{_HIDDEN}]")
_PLAIN_BYTES = bytes(range(0x7F))
_VISIBLE_BYTES = b"\t\n" + bytes(range(0x20, 0x7F))
_PIECE = 64 << 10
# Few enough digits that the value of any text is found at once.
_NUMBER = re.compile(r"([0-9]{1,18})")
_BREAKS = str.maketrans("\n\t", "  ")
_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def clean(text: str) -> str:
    """Replace what could steer a terminal or hide from a reader by U+FFFD.

    Line feeds and tabs stay, CR LF becomes LF, everything visible is kept.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    # Most characters are visible ASCII, which is removed many times faster than a search passes it.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _VISIBLE_BYTES)
    if not rest or not _UNSAFE.search(rest.decode("utf-8", "surrogatepass")):
        return text
    return _UNSAFE.sub("\ufffd", text)


def clean_line(text: str, limit: int = 200) -> str:
    """Clean a text and put it on one line of at most `limit` characters, with an ellipsis if it is cut."""
    line = text.strip()[: 2 * limit + 2]
    if not (line.isascii() and line.isprintable()):
        line = clean(line).translate(_BREAKS)
    line = line.rstrip()
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"[:limit]


def as_sentence(text: str) -> str:
    """Return a message as a sentence: a capital letter, unless it begins with a name, and a full stop."""
    first = text.partition(" ")[0]
    text = first.capitalize() + text[len(first) :] if first.isalpha() and first.islower() else text
    return text if text.endswith((".", "?", "!")) else f"{text}."


def natural_key(text: str) -> tuple[tuple[int | str, ...], str]:
    """Return the key by which a person sorts names: numbers by their value, letters without regard to case."""
    parts = _NUMBER.split(text)
    return tuple(int(part) if at % 2 else part.casefold() for at, part in enumerate(parts)), text


@lru_cache(maxsize=1024)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a tool's, argument's or field's name in lower case, as `snake_case` and `camelCase` join them."""
    return tuple(word.lower() for word in _BETWEEN_WORDS.split(name) if word)


def shell_words(text: str) -> list[str]:
    """The words of a text as a shell divides it; at its blanks if its quotes are not closed."""
    # The first frame does without it.
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def is_unsafe(text: str) -> bool:
    """Whether `clean` would replace anything in `text`."""
    return _UNSAFE.search(text) is not None


def escape_unsafe(json_text: str) -> str:
    r"""Write the characters `clean` replaces as \uXXXX escapes in JSON text, which loses nothing.

    `json_text` is encoded JSON; an encoder has already escaped the C0 controls inside its strings.
    """
    if json_text.isascii() and "\x7f" not in json_text:
        return json_text
    if not holds_unsafe(json_text.encode("utf-8", "surrogatepass")):
        return json_text
    # A single search through a large text would block all other threads, and the event loop with them.
    pieces = (json_text[at : at + _PIECE] for at in range(0, len(json_text), _PIECE))
    return "".join(_UNSAFE_IN_JSON.sub(lambda match: _escape(match[0]), piece) for piece in pieces)


def holds_unsafe(encoded: bytes) -> bool:
    """Whether `escape_unsafe` would change a JSON text, given in UTF-8."""
    if encoded.isascii():
        return b"\x7f" in encoded
    # Most characters are plain ASCII, which is removed quickly, and hardly any of the rest is unsafe.
    rest = encoded.translate(None, _PLAIN_BYTES).decode("utf-8", "surrogatepass")
    return _UNSAFE_IN_JSON.search(rest) is not None


@lru_cache(maxsize=4096)
def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, so that the text encodes as UTF-8."""
    if is_encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encodable(value: Any) -> Any:
    """Copy a JSON-like value so that its texts encode as UTF-8, as `without_surrogates` does."""
    import json

    return json.loads(without_surrogates(json.dumps(value, ensure_ascii=False)))


def middle_truncate(text: str, limit: int) -> str:
    """Cut the middle out of a text longer than `limit` characters, and state how much was left out."""
    if len(text) <= limit:
        return text
    keep = limit - len(_notice(len(text)))
    if keep < 2:
        return text[: max(limit, 0)]
    tail = keep // 2
    return text[: keep - tail] + _notice(len(text) - keep) + text[len(text) - tail :]


def _notice(count: int) -> str:
    return f"\n[… {count} characters left out …]\n"


def is_encodable(value: str) -> bool:
    """Whether a text has no lone surrogates, which UTF-8 cannot encode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
