"""What stands before a number: words of approximation, and names whose number is no figure."""

from __future__ import annotations

import re

from ua_tui.observers.evidence.figures.language.languages import word_set

_APPROXIMATE = word_set(
    "about around roughly approximately approx approx. some nearly almost over above under below circa ca "
    "ca. c. exceeding exceeded exceeds surpassing topped topping barely fewer less more least most "
    "virtually up rund etwa knapp fast ungefähr über unter mindestens höchstens gut annähernd zirka "
    "beinahe maximal minimal environ près presque quelque quelques plus moins autour minimum maximum "
    "dépasse dépassé cerca aproximadamente casi unos unas más menos alrededor mínimo máximo hasta"
)
# Words that make an approximation only after or before another one: "more than", "up to", "près de".
_SECOND = word_set("than to as of de que als zu d du of the a von least most the")
_NEEDS_SECOND = word_set(
    "more less fewer least most up plus moins près más menos cerca alrededor mehr weniger bis"
)
_NAMED = word_set(
    "section sections § §§ chapter chapters figure figures fig fig. figs table tables tab. page pages p. "
    "pp. no. no nr nr. nos. n° nº № eq. equation appendix annex article articles art. clause paragraph "
    "para. note footnote ref. line lines version versions ver v. release build revision rev. step item "
    "rule part volume vol. issue iso iec din rfc ieee isbn issn doi pmid arxiv cve abschnitt kapitel "
    "abbildung abb. tabelle seite seiten s. nummer artikel absatz anhang ziffer chapitre tableau annexe "
    "numéro sección capítulo figura tabla página páginas número artículo anexo gtx rtx rx utf sha windows "
    "python iphone pixel llama gemini claude grok opus sonnet haiku gpt qwen phi gemma mistral ios "
    "android ubuntu debian macos route highway boeing airbus room suite flight formula apollo phone tel "
    "tel. telephone fax zip phase type channel war tier season episode grade"
)
_LETTER_DASHES = word_set(
    "mid early late pre post top under sub over about some circa anfang mitte ende plus"
)
_ADDRESS = re.compile(r"[A-Z][\w]*")
_WORDS = 30
_IDENTIFIER = re.compile(r"\w*+(?:[-./:@+&=?~#%\\]++\w++){0,80}")
_RUNS = re.compile(
    r"10\.[0-9]{4,9}/|24/7(?![0-9])|9/11(?![0-9/])|[0-9]+(?:-[0-9]+){2,60}|[0-9]+(?:\.[0-9]+){2,60}"
    r"|[0-9]{3}\) ?[0-9]{3}-[0-9]{4}"
)
_TRUNK = re.compile(r"0[0-9]{2,5}[ \u00a0][0-9]{3,8}(?:[ \u00a0][0-9]{2,8}){0,3}(?![0-9])")
"""A telephone number as it is dialled within a country: 020 7946 0958."""
_FOOTNOTE = re.compile(r"[0-9]{1,3}(?:[ ]?[,–-][ ]?[0-9]{1,3}){0,20}\]")
_PHONE = re.compile(r"[0-9][0-9 ()\u00a0./-]{7,20}[0-9](?![0-9])")
_LIST_NUMBER = re.compile(r"[0-9]{1,3}[.)](?=[ \t\u00a0])")


class Before:
    """The words before a number, in lower case: the last one and the one before it."""

    __slots__ = ("last", "second", "third")

    def __init__(self, text: str, start: int) -> None:
        words = text[max(0, start - _WORDS) : start].lower().replace("\u00a0", " ").split()
        self.last = words[-1] if words else ""
        self.second = words[-2] if len(words) > 1 else ""
        self.third = words[-3] if len(words) > 2 else ""

    @property
    def is_approximate(self) -> bool:
        """Whether the number is only about what is written."""
        last = self.last.lstrip('([“"„«')
        if last[-1:] in "~≈>≥<≤±∼" and last:
            return True
        if last in _APPROXIMATE and last not in _NEEDS_SECOND:
            return True
        if last in {"plus", "moins"}:
            return False
        return (
            last in _SECOND
            and (
                self.second.lstrip("([") in _NEEDS_SECOND
                or (last in {"de", "d"} and self.second in _APPROXIMATE)
                or (
                    last in {"a", "the", "of"}
                    and self.second in _APPROXIMATE
                    and self.second not in _NEEDS_SECOND
                )
            )
        ) or (last in {"least", "most"} and self.second == "at")

    @property
    def is_name(self) -> bool:
        """Whether the number belongs to a name, such as that of a section."""
        return self.last.lstrip('([“"„«') in _NAMED


def is_identifier(text: str, start: int, last_end: int) -> int:
    """Where the identifier, footnote mark or list number ends that holds the digit at `start`; 0 if it is none.

    `last_end` is the end of the figure before.
    """
    before = text[start - 1 : start]
    if not before:
        return _list_number(text, start)
    if before.isspace() or before == "(":
        if before in "\n\r" or _is_line_start(text, start):
            return _list_number(text, start)
        match = _TRUNK.match(text, start)
        return match.end() if match else _run(text, start)
    if before.isalnum() or before in "_/\\#@":
        if before == "/" and start - 1 == last_end:
            return 0
        return skip_identifier(text, start)
    earlier = text[start - 2 : start - 1]
    if before == "[" and (match := _FOOTNOTE.match(text, start)):
        return match.end()
    if before == "-" and earlier.isalpha() and start - 1 != last_end:
        word = text[max(0, start - 12) : start - 1].split()[-1:]
        return 0 if word and word[0].lower().lstrip("(") in _LETTER_DASHES else skip_identifier(text, start)
    if before in ".:&=+" and earlier and (earlier.isalpha() or earlier in "._/"):
        return 0 if before in ":=" and earlier.isalpha() else skip_identifier(text, start)
    if before == "." and earlier.isdigit():
        return skip_identifier(text, start)
    if before == "+" and (match := _PHONE.match(text, start)):
        return match.end()
    return _run(text, start)


def skip_identifier(text: str, start: int) -> int:
    """Where the identifier ends that holds the character at `start`."""
    match = _IDENTIFIER.match(text, start)
    return max(match.end() if match else 0, start + 1)


def _run(text: str, start: int) -> int:
    """Where digits end that are joined as in telephone numbers, versions and addresses."""
    match = _RUNS.match(text, start)
    if not match or _is_grouped(match[0]):
        return 0
    return skip_identifier(text, match.end())


def _is_grouped(run: str) -> bool:
    parts = run.split(".")
    return len(parts) > 1 and 0 < len(parts[0]) < 4 and all(len(part) == 3 for part in parts[1:])


def _is_line_start(text: str, start: int) -> bool:
    at = start - 1
    while at >= 0 and start - at < 12 and text[at] in " \t\u00a0":
        at -= 1
    return at < 0 or text[at] == "\n"


def _list_number(text: str, start: int) -> int:
    match = _LIST_NUMBER.match(text, start)
    return match.end() if match else _run(text, start)
