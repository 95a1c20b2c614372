"""Masks secrets in the arguments of a command, in variables, headers and addresses.

Only the value is masked, so that a person who is asked about a command can still judge it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import unquote

import msgspec

from ua_tui.core.redaction.detectors import SecretSearch
from ua_tui.core.redaction.redactor import REDACTED, joined, mask_whole, mask_words
from ua_tui.core.redaction.values import PLAIN_VALUES, Span, names_given_secret, names_secret, word_set

VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
"""A variable in a configuration, with the text for one that is not set."""
_ASSIGNMENT = r"(?s)(--?)?([A-Za-z][\w.-]*?)(\s*[=:]\s*)(?!//)(\S.*)"
_OPTION = r"--?([A-Za-z][\w.-]*)"
_USERINFO = r"(://)([^/?#\s]*)@"
_PARAMETER = r"([?&;#])([^=&;#?\s]+)=([^&;#\s]+)"
_PARAMETERS = frozenset({"key", "sig", "signature", "code"})
_SCHEME = r"(?is)((?:bearer|basic|token|digest|apikey)\s+)(\S.*)"
_SWITCHES = word_set(
    "no use enable disable skip allow deny require requires with without show hide print ask include exclude"
)
_FILE = r"@?(?:\.{1,2}|~)/|[^/\s]+\.(?:pem|key|crt|cer|p12|pfx|json|toml|ya?ml|env|txt|ini)$"
_SHORT = r"(?!.*[\s/\\(){}'\"$;|&<>`])(?=.*[A-Za-z])(?=.*[\d!#%^*+=?~.,-])(?!@)\S{6,}"
_VERSION = r"(?i)(?:c?python|pypy)[\d.]+|[\w.-]+@(?:latest|next|v?\d[\w.-]*)|[a-z]+(?:[-_][a-z]+)*"
_WORDLIKE = r"[a-z_-]{1,15}"
_search = SecretSearch()


class Masked(msgspec.Struct, frozen=True):
    """A text for display, and the secrets that were in it."""

    shown: str
    secrets: tuple[str, ...] = ()


def masked_command(words: Sequence[str]) -> Masked:
    """Mask a command, written as in a shell."""
    masked = masked_words(words)
    return Masked(
        " ".join(_quoted(each.shown) for each in masked), tuple(s for each in masked for s in each.secrets)
    )


def masked_words(words: Sequence[str]) -> list[Masked]:
    """Mask each word of a command; the first word is the program."""
    found = [masked_text(each) for each in words[:1]]
    for at, word in enumerate(words[1:], start=1):
        option = re.fullmatch(_OPTION, words[at - 1]) if at > 1 else None
        if option is not None and not word.startswith("-") and _takes_secret(option[1], word):
            found.append(_named_value(option[1], word))
        else:
            found.append(_word(word))
    return [
        each if each.secrets or not spans else _hidden(word, spans)
        for each, word, spans in zip(found, words, _spans(words), strict=True)
    ]


def masked_variable(name: str, value: str) -> Masked:
    """Mask a variable or a header, `NAME=value`; if the name is that of a secret, only its length is shown."""
    if not names_given_secret(name) or _is_plain(value):
        inner = masked_text(value)
    elif VARIABLE.search(value) or not value:
        inner = _named_value(name, value)
    else:
        # A header may have a scheme before the secret.
        secrets = [
            *([value.strip()] if _is_worth(name, value) else []),
            *_named_value(name, value.strip()).secrets,
        ]
        return Masked(f"{name}=(not shown: {len(value)} characters)", tuple(dict.fromkeys(secrets)))
    return Masked(f"{name}={inner.shown}", inner.secrets)


def _spans(words: Sequence[str]) -> Iterator[list[Span]]:
    """What looks like a secret in each word because of the words before it, such as in `curl -u me:password`."""
    found, start = _search.scan(" ".join(words)).spans, 0
    for word in words:
        end = start + len(word)
        yield [(first - start, last - start) for first, last in found if start <= first and last <= end]
        start = end + 1


def _takes_secret(option: str, value: str) -> bool:
    if option == "p":
        # Not a port, a package, a version or a text of a program.
        return re.fullmatch(_SHORT, value) is not None and not re.fullmatch(_VERSION, value)
    return names_given_secret(option) and not _is_switch(option) and not _is_plain(value)


def _word(word: str) -> Masked:
    """Mask a single word, such as `--token=x`, `--env=TOKEN=x`, `Authorization: Bearer x`, an address."""
    before, rest = "", word
    for _ in range(4):
        assigned = re.fullmatch(_ASSIGNMENT, rest)
        if assigned is None:
            break
        dashes, name, sign, value = assigned[1] or "", assigned[2], assigned[3], assigned[4]
        before += f"{dashes}{name}{sign}"
        if names_given_secret(name) and not (dashes and _is_switch(name)) and not _is_plain(value):
            inner = _named_value(name, value)
            return Masked(before + inner.shown, inner.secrets)
        rest = value
    inner = masked_text(rest)
    return Masked(before + inner.shown, inner.secrets)


def _is_switch(option: str) -> bool:
    words = re.split(r"[-_.]", option.lower())
    return len(words) > 1 and words[0] in _SWITCHES


def _named_value(name: str, value: str) -> Masked:
    """Mask a value under the name of a secret."""
    masked = _value(value)
    return Masked(masked.shown, tuple(each for each in masked.secrets if _is_worth(name, each)))


def _is_worth(name: str, secret: str) -> bool:
    """Whether to mask a value everywhere: the value of a `key` may be a common word, and then it is no secret."""
    return names_secret(name) or name == "p" or not re.fullmatch(_WORDLIKE, secret)


def _value(value: str, mask: Callable[[str], str] = mask_whole) -> Masked:
    """Mask a secret, except for variables in it and a scheme before it."""
    scheme = re.fullmatch(_SCHEME, value)
    before, rest = (scheme[1], scheme[2]) if scheme else ("", value)
    if not VARIABLE.search(rest):
        return Masked(before + mask(rest), (rest,)) if rest.strip() else Masked(value)
    shown, done = before, 0
    secrets: list[str] = []
    for each in VARIABLE.finditer(rest):
        shown += _literal(rest[done : each.start()], secrets, mask)
        shown += f"${{{each[1]}:-{REDACTED}}}" if each[2] else each[0]
        secrets += [each[2]] if each[2] else []
        done = each.end()
    return Masked(shown + _literal(rest[done:], secrets, mask), tuple(secrets))


def _literal(text: str, secrets: list[str], mask: Callable[[str], str]) -> str:
    """Mask a text between variables; if it is long enough, it is a secret."""
    if len(text.strip()) < 6:
        return text
    secrets.append(text.strip())
    return mask(text)


def masked_text(text: str) -> Masked:
    """Mask what looks like a secret, and in addresses the password and the parameters with the names of secrets."""
    spans = list(_search.scan(text).spans)
    for each in re.finditer(_USERINFO, text):
        user, colon, password = each[2].partition(":")
        if password and colon:
            spans.append((each.start(2) + len(user) + 1, each.end(2)))
        elif len(user) >= 12:
            spans.append(each.span(2))
    if "://" in text:
        for each in re.finditer(_PARAMETER, text):
            if names_given_secret(each[2]) or each[2].lower() in _PARAMETERS:
                spans.append(each.span(3))
    return _hidden(text, spans)


def _hidden(text: str, spans: list[Span]) -> Masked:
    secrets: list[str] = []
    shown, done = "", 0
    for start, end in joined(spans):
        inner = _value(text[start:end], mask_words)
        shown += text[done:start] + inner.shown
        secrets += inner.secrets
        done = end
    secrets += [decoded for each in secrets if (decoded := unquote(each)) != each]
    return Masked(shown + text[done:], tuple(secrets))


def _is_plain(value: str) -> bool:
    """Whether a value in place of a secret only says where the secret is, or of what kind."""
    is_place = re.match(_FILE, value) is not None or (os.path.isabs(value) and os.path.exists(value))
    return is_place or value.lower() in PLAIN_VALUES


def _quoted(word: str) -> str:
    """Quote a word for a shell; a mask in it needs no quotes."""
    rest = word.replace(REDACTED, "x")
    return word if shlex.quote(rest) == rest else shlex.quote(word)
