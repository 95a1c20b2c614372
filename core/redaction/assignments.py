r"""Finds the value behind the name of a secret, in every syntax that gives a value to a name.

Such as `name: value`, `"name": "value"`, `--name value`, `<name>value</name>`, blocks of YAML, netrc, and the options
of programs. What a text looks like inside a JSON string, with `\n` and `\"`, is found as well.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ua_tui.core.redaction.values import (
    TABLE,
    Grade,
    Span,
    Strength,
    grade,
    is_strong_enough,
    strength,
    without_scheme,
    word_set,
)

_LINE = r"(?:\r?\n|(?:\\+r)?\\+n)"
_SIGN = r"(?::{1,3}=|\?=|=>|[:：=](?![=~:]))"
_DECORATED = r"[*_`]{0,3}"
# A bare value ends where a sentence, an address or a program goes on; on a line of its own it may contain more.
_BARE = r"[^\s\"'`\\,;:&#<>(){}\[\]|*!?][^\s\"'`\\,;&#<>(){}\[\]|]{0,200}+"
_BARE_LOOSE = r"[^\s\"'`\\,;:&<>(){}\[\]|*=?][^\s\"'`\\,;&#<>(){}\[\]|]{0,200}+"
_LINE_REST = re.compile(
    r"(?:[^\s\"'`\\,;&<>()\[\]{}|]|[,;&<>()\[\]{}|](?=[^\s\"'`\\)\]}>,;])(?![\w.-]{1,40}[=:]))++"
)
_GAP = r"""(?:[ \t]|\\t){1,20}+(?:(?:is|was|ist|lautet)[: ]{1,2})?\\*['"`]?"""
# In order; the first that fits decides. Each group is a value, and its name says how it was written. Compiled when it
# is used first, which `re` remembers: it takes milliseconds.
_SYNTAX = rf"""(?ix)(?P<rest>[a-z0-9_-]{{0,40}}+)
    (?=["'`\\:=>|*,：!?.(\[] | \s{{1,20}}["'`\\:=|,v：!?] | {_GAP}[^\s"'`\\]{{0,99}}[0-9!#%^*+?~@$&-])(?:
      (?s:"\s*\]?\s*{_SIGN}\s*"(?P<json>(?:[^"\\]|\\.)++))
    | \\"\s*\]?\s*{_SIGN}\s*\\"(?P<nested>(?:[^"\\]|\\\\(?:\\\\|\\"|[^"\\]))++)
    | (?:\\{{2,}}"|\\*')\s*\]?\s*{_SIGN}\s*(?:\\{{2,}}"|\\*')(?P<single>[^"'\\\r\n]++)
    | :[ \t]*[|>][+-]?[0-9]?[ \t]*{_LINE}(?P<indent>[ \t]+)(?P<block>[^\s\\"][^\r\n\\"]*+
        (?:{_LINE}(?P=indent)[^\r\n\\"]*+){{0,60}}+)
    | \\*["']?\s{{0,4}},?(?:\s|\\+[nrt]){{0,40}}\\*["']?value\\*["']?\s{{0,4}}[:=]\s{{0,4}}\\*["']?
        (?P<pair>[^\s"'\\,;<>\]}}][^\s"'\\<>]{{0,200}}+)
    | \\*["']?>(?P<xml>[^<>\s"'\\&][^<>"'\\\r\n]{{0,200}}+)(?=</)
    | (?:\s{{0,4}}[!=]==?\s{{0,4}}|(?:\.assign)?\(\s{{0,4}})\\*["'`]
        (?P<compared>[^"'`\\\r\n\s]{{6,200}}+)(?=\\*["'`])
    | (?:\[[0-9]*\])?{_DECORATED}(?:\s?:\s?[a-z][\w.\[\]|?]{{0,30}}[ ]?(?==))?\s{{0,20}}{_SIGN}{_DECORATED}\s{{0,20}}
      [fbru@]{{0,2}}(?:
        "(?P<double>[^"\\\r\n\s,:}}\]](?:[^"\\\r\n]|\\[^\r\n])*+) | \\+"(?P<escaped>[^"\\\r\n\s,:}}\]][^"\\\r\n]*+)
      | \\*['`](?P<quoted>[^"'`\\\r\n\s,:}}\])][^"'`\\\r\n]*+))
    | ={_DECORATED}(?P<scheme>(?:bearer|basic|token|digest)[ ]+)?+(?P<tight>{_BARE})
    | {_DECORATED}[ \t]{{0,20}}{_SIGN}{_DECORATED}[ \t]{{0,20}}(?P<scheme2>(?:bearer|basic|token|digest)[ ]+)?+
        (?P<loose>{_BARE_LOOSE})
    | :[ \t]*{_LINE}[ \t]+(?P<next>{_BARE})(?=[ \t]*(?:{_LINE}|\Z))
    | \\*["']\s{{0,4}},\s{{0,4}}\\*["'](?P<comma>[^"'\\\r\n]{{1,200}}+)(?=\\*["'])
    | {_DECORATED}[ \t]{{0,40}}\|[ \t]{{0,40}}`?(?P<cell>[^\s|`"'\\]{{4,200}}+)`?[ \t]{{0,40}}\|
    | (?:[ \t]|\\t|{_LINE}[ \t]+){{1,20}}(?:(?:is|was|ist|lautet)[: ]{{1,2}})?\\*["'`]?
        (?P<space>[^\s"'`\\,;<>(){{}}\[\]|=][^\s"'`\\,;<>(){{}}\[\]|=]{{0,200}}+={{0,2}})
    )"""
_SIGNED = re.compile(
    r"(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]{2,60}+|[^\x00-\xff]{2,8})[*_`\"']{0,3}[ \t]{0,20}[:=：|]"
)
COMMAND = r"(?:[^\r\n|;&]|(?<=\\)\r?\n){0,400}"
"""A command and its options, or the beginning of it."""
_BARE_END = re.compile(r"[^\s\"'`\\,;&#<>(){}\[\]|]*+")
_WRITTEN_OUT = frozenset({"json", "nested", "single", "block", "pair", "xml", "double", "escaped", "quoted"})
_LONGEST_NAME = 100
_REACH = 512
_NAME_CHARACTERS = "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ESCAPED = re.compile(r"[nrtbf]|u[0-9a-fA-F]{4}")
_LINE_START = re.compile(
    r"(?:^|[\r\n]|\\[nr]|[\"'`])\s*(?:[-*]\s+)?(?:(?:export|set|env|arg)\s+)?\Z", re.IGNORECASE
)
_DOCKERFILE = re.compile(r"(?:ENV|ARG|setx|setenv|-e)\s+\Z", re.IGNORECASE)
_URL_NAMES = word_set(TABLE["url"])
_COOKIE = re.compile(r"[^\s\"'\\=;,<>{}()]{1,80}=([^\s\"'\\;<>{}()]{4,512}+)")
_HEADER = re.compile(r"[^\r\n\"'\\]*+")
_REFERENCE = re.compile(r"[A-Za-z_$][\w$.]*")


def find_value(text: str, start: int, end: int) -> Span | None:
    """Where the value of the name is that has a noun of secrets at `start` to `end`; None if it has no secret."""
    match = re.compile(_SYNTAX).match(text, end)
    if match is None:
        return None
    left = _name_before(text[max(start - _LONGEST_NAME, 0) : start])
    name = left.lstrip("-.") + text[start : match.end("rest")]
    is_option = left.startswith("-")
    found = grade(name, given=is_option)
    if found is not Grade.CERTAIN:
        before = text[max(start - _LONGEST_NAME, 0) : start - len(left)]
        if before.endswith(("?", "&", ";", "\\u0026")) and (found or name.lower() in _URL_NAMES):
            # `?auth=` signs the pictures of newspapers.
            found = Grade.CERTAIN if name.lower() != "auth" else Grade.NONE
        elif before.endswith(" ") and not left and (word := _name_before(before[:-1])):
            # Two words, such as `API key: …` or `first pass: …`.
            found = grade(f"{word} {name}")
    if not found:
        return None
    kind = match.lastgroup or ""
    value = _Value(text, *match.span(kind), name, found, text[max(start - _REACH, 0) : start - len(left)])
    if text[start:end].lower() == "cookie":
        return value.of_cookie(kind)
    if text[start:end].lower() == "authorization" and (match["scheme"] or match["scheme2"]):
        return value.span if strength(match[kind]) > Strength.PLAIN else None
    if is_option and kind in {"space", "comma", "tight"}:
        span = value.of_option(kind)
    elif kind in _WRITTEN_OUT:
        span = value.written_out()
    else:
        span = value.tight() if kind == "tight" else value.loose(kind)
    # Of a bare value 200 characters decide; a longer one is masked to its end.
    if span and span[1] - span[0] > 200 and (rest := _BARE_END.match(text, span[1])):
        return span[0], rest.end()
    return span


def undecided(text: str) -> int:
    """Where in the last line of a text a name begins whose value may go on; the length of the text if nowhere."""
    last = max(text.rfind("\n") + 1, len(text) - _REACH)
    for found in _SIGNED.finditer(text, last):
        if grade(found[1], given=True):
            return found.start()
    return len(text)


@cache
def command_pattern(programs: str, options: str, shape: str) -> str:
    """The pattern of a program's option that takes a secret, from `commands` and their `shapes` of `names.json`."""
    pattern = f"(?i)(?:<programs>)\\b{TABLE['shapes'][shape]}"
    given = {"programs": programs.split(), "options": sorted(options.split(), key=len, reverse=True)}
    texts = {name: "|".join(map(re.escape, words)) for name, words in given.items()}
    for name, part in (texts | TABLE["parts"] | {"reach": f"{COMMAND}?"}).items():
        pattern = pattern.replace(f"<{name}>", part)
    return pattern


def _name_before(before: str) -> str:
    """The beginning of a name at the end of a text."""
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    if before[: len(before) - len(left)].endswith("\\") and (escape := _ESCAPED.match(left)):
        left = left[escape.end() :]
    return left


class _Value(NamedTuple):
    """A value behind the name of a secret, and what decides whether it is one."""

    text: str
    first: int
    last: int
    name: str
    grade: Grade
    context: str

    @property
    def span(self) -> Span:
        return self.first, self.last

    def written_out(self) -> Span | None:
        """In quotes or tags, which say where it ends."""
        value = self.text[self.first : self.last]
        bare = without_scheme(value)
        if not is_strong_enough(self.grade, strength(value), self.name, value):
            return None
        return self.last - len(bare), self.last

    def of_option(self, kind: str) -> Span | None:
        value = self.text[self.first : self.last]
        least = Strength.LONG if kind == "space" else Strength.WORD
        return None if value.startswith("-") or strength(value) < least else self.written_out()

    def of_cookie(self, kind: str) -> Span | None:
        """The pairs in a header."""
        found = _COOKIE.match(self.text, self.first)
        if found is None:
            return None if kind in {"loose", "space"} else self.written_out()
        if strength(found[1]) < Strength.OPAQUE:
            return None
        rest = _HEADER.match(self.text, found.end())
        return self.first, rest.end() if rest else found.end()

    def tight(self) -> Span | None:
        """Bare, right behind `=`."""
        text, first, last = self.text, self.first, self.last
        if _is_code(text, first, last):
            return None
        if (
            _starts_line(self.context)
            and text[last : last + 1] != ","
            and (rest := _LINE_REST.match(text, first))
        ):
            last = max(last, rest.end())
        value = text[first:last]
        given = strength(value)
        in_call = self.context.rstrip().endswith(("(", ",")) or text[last : last + 1] in {",", ")"}
        if in_call and given <= Strength.WORD and not self.name.isupper():
            return None
        return (first, last) if is_strong_enough(self.grade, given, self.name, value) else None

    def loose(self, kind: str) -> Span | None:
        """Bare, behind a colon, a space or in a table, where most of what follows a name is no value of it."""
        text, first, last = self.text, self.first, self.last
        if _is_code(text, first, last):
            return None
        on_line = kind == "loose" and _starts_line(self.context)
        if on_line and (rest := _LINE_REST.match(text, first)):
            last = max(last, rest.end())
        value = text[first:last].rstrip(".,;:?" if kind == "space" else ",;")
        last = first + len(value)
        given = strength(value)
        if kind == "space" and _DOCKERFILE.search(self.context[-8:]):
            return (first, last) if is_strong_enough(self.grade, given, self.name, value) else None
        if self.grade is Grade.GIVEN:
            least = Strength.OPAQUE if self.name.isupper() else Strength.RANDOM
        else:
            least = Strength.LONG if on_line and self.grade is Grade.CERTAIN else Strength.OPAQUE
        return (first, last) if given >= least else None


def _starts_line(context: str) -> bool:
    """Whether a name that follows a text is the first of its line."""
    return _LINE_START.search(context[-40:]) is not None


def _is_code(text: str, first: int, last: int) -> bool:
    """Whether a value is part of an expression, such as `get_token(`."""
    return text[last : last + 1] in {"(", "["} and _REFERENCE.fullmatch(text, first, last) is not None
