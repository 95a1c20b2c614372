"""Numbers in words, in English, German, French and Spanish, up to 999,999."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from functools import cache

from ua_tui.observers.evidence.figures.language.languages import word_set

_EN = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "zero": 0, "hundred": 100, "thousand": 1000,
}  # fmt: skip
_DE_ONES = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
_DE_TEENS = [
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
_DE_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
_FR = {
    "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6, "sept": 7, "huit": 8, "neuf": 9,
    "dix": 10, "onze": 11, "douze": 12, "treize": 13, "quatorze": 14, "quinze": 15, "seize": 16, "vingt": 20,
    "vingts": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "septante": 70, "huitante": 80,
    "nonante": 90, "cent": 100, "cents": 100, "mille": 1000, "zéro": 0,
}  # fmt: skip
_ES = {
    "uno": 1, "un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8,
    "nueve": 9, "diez": 10, "once": 11, "doce": 12, "trece": 13, "catorce": 14, "quince": 15, "dieciséis": 16,
    "diecisiete": 17, "dieciocho": 18, "diecinueve": 19, "veinte": 20, "veintiuno": 21, "veintiún": 21,
    "veintiuna": 21, "veintidós": 22, "veintitrés": 23, "veinticuatro": 24, "veinticinco": 25, "veintiséis": 26,
    "veintisiete": 27, "veintiocho": 28, "veintinueve": 29, "treinta": 30, "cuarenta": 40, "cincuenta": 50,
    "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90, "cien": 100, "ciento": 100, "doscientos": 200,
    "doscientas": 200, "trescientos": 300, "trescientas": 300, "cuatrocientos": 400, "quinientos": 500,
    "seiscientos": 600, "setecientos": 700, "ochocientos": 800, "novecientos": 900, "mil": 1000, "cero": 0,
}  # fmt: skip
_TABLES = {"en": _EN, "fr": _FR, "es": _ES}
_AND = {"en": {"and"}, "fr": {"et"}, "es": {"y"}}
_GERMAN_STEMS = word_set(
    "zwei drei vier fünf sech sieb acht neun zehn elf zwölf zwanzig dreißig hundert tausend einund einhundert "
    "eintausend null anderthalb eineinhalb"
)
ONES = word_set("one ein eine einen einem einer eines un une una uno")
"""Words that are articles or pronouns unless a unit or a scale follows."""
_HERE_ONLY = word_set("once elf sept neuf acht six mil cent cents mille as dos neun un une una dix huit zehn")
_STRICT = {
    "once": "es",
    "elf": "de",
    "sept": "fr",
    "neuf": "fr",
    "mil": "es",
    "cent": "fr",
    "cents": "fr",
    "mille": "fr",
}
"""Words that are something else in another language."""
MULTIPLES: dict[str, int] = {
    "twice": 2, "thrice": 3, "doubled": 2, "doubles": 2, "doubling": 2, "tripled": 3, "triples": 3, "tripling": 3,
    "quadrupled": 4, "quadrupling": 4, "zweimal": 2, "dreimal": 3, "viermal": 4, "fünfmal": 5, "zehnmal": 10,
    "doppelt": 2, "verdoppelt": 2, "verdoppelte": 2, "verdoppelten": 2, "verdreifacht": 3, "verdreifachte": 3,
    "vervierfacht": 4, "doublé": 2, "triplé": 3, "duplicó": 2, "triplicó": 3, "duplicado": 2, "triplicado": 3,
    "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10, "dreifach": 3, "vierfach": 4,
    "zweifach": 2, "dreifache": 3, "doppelte": 2, "vierfache": 4, "zehnfache": 10,
}  # fmt: skip
DENOMINATORS: dict[str, int] = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourths": 4, "fifth": 5,
    "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10, "hälfte": 2,
    "drittel": 3, "viertel": 4, "fünftel": 5, "zehntel": 10, "moitié": 2, "tiers": 3, "quart": 4, "quarts": 4,
    "cinquième": 5, "cinquièmes": 5, "dixième": 10, "dixièmes": 10, "mitad": 2, "tercio": 3, "tercios": 3,
    "cuarto": 4, "cuartos": 4, "quinto": 5, "quintos": 5, "décimo": 10,
}  # fmt: skip


NUMBER_STEMS = _GERMAN_STEMS
"""How German numbers begin, which are written in one word."""
NUMBER_STARTS = frozenset(
    {word for table in _TABLES.values() for word in table}
    | ONES
    | set(MULTIPLES)
    | set(DENOMINATORS)
    | word_set("million billion milliarde milliard dozen dutzend double triple doble millón")
)
"""The other words that a figure in words begins with, or ends with if it is short ("a third", "a million")."""
_TOKEN = re.compile(r"[^\W\d_]+")
_JOINT = re.compile(r"[ \u00a0-]+")
_MOST = 12


@cache
def _german_numbers() -> dict[str, int]:
    """The German numbers from 0 to 999."""
    small = {word: number for number, word in enumerate(_DE_ONES, 1)}
    small |= {word: number for number, word in enumerate(_DE_TEENS, 10)}
    for at, ten in enumerate(_DE_TENS):
        small[ten] = 20 + 10 * at
        for number, word in enumerate(_DE_ONES, 1):
            small[f"{word}und{ten}"] = 20 + 10 * at + number
    found = dict(small)
    for number, word in enumerate(["", *_DE_ONES]):
        prefix = f"{word}hundert"
        found[prefix] = 100 * max(number, 1)
        for rest, value in [*small.items(), ("eins", 1)]:
            found[prefix + rest] = found[prefix + "und" + rest] = 100 * max(number, 1) + value
    return found | {"eins": 1, "null": 0}


@cache
def _german_forms() -> dict[str, int]:
    found = _german_numbers()
    return found | {word.replace("ß", "ss"): number for word, number in found.items() if "ß" in word}


def _german(word: str) -> Decimal | None:
    """The value of a German number; "zweieinhalb" is 2.5."""
    if word in {"anderthalb", "eineinhalb"}:
        return Decimal("1.5")
    if word.endswith("einhalb"):
        whole = _german_forms().get(word.removesuffix("einhalb"))
        return None if whole is None else Decimal(whole) + Decimal("0.5")
    number = _german_whole(word)
    return None if number is None else Decimal(number)


def _german_whole(word: str) -> int | None:
    numbers = _german_forms()
    if (number := numbers.get(word)) is not None:
        return number
    thousands, found, rest = word.partition("tausend")
    if not found:
        return None
    many = numbers.get(thousands) if thousands else 1
    less = numbers.get(rest.removeprefix("und")) if rest else 0
    return None if many is None or less is None else 1000 * many + less


def read_words(text: str, start: int, active: Collection[str]) -> tuple[int, Decimal, bool] | None:
    """Read the number in words that begins at `start`; `active` are the text's languages, empty if unknown.

    Returns where it ends, its value, and whether it is a single word for one, which may be an article.
    """
    if not (match := _TOKEN.match(text, start)):
        return None
    first = match[0].lower()
    if _STRICT.get(first, "") not in {"", *active} or (match[0] == "Sept"):
        return None
    best: tuple[int, Decimal, bool] | None = None
    if (
        not active
        or "de" in active
        or first.endswith("halb")
        or first in {"hundert", "tausend"}
        or "ü" in first
        or "ö" in first
    ):
        number = _german(first)
        if number is not None:
            best = match.end(), number, False
    for language, table in _TABLES.items():
        if active and language not in active and _is_shared(first):
            continue
        if (
            first in table
            and (found := _compose(text, match, table, _AND[language]))
            and (not best or found[0] > best[0])
        ):
            best = *found, False
    if best and first in ONES and best[0] == match.end():
        return best[0], best[1], True
    if not best and first in ONES:
        return match.end(), Decimal(1), True
    return best


def _is_shared(word: str) -> bool:
    return word in _HERE_ONLY


def _compose(
    text: str, match: re.Match[str], table: dict[str, int], joints: Collection[str]
) -> tuple[int, Decimal] | None:
    """Add up the words of one language, as long as each of them fits what stands before it."""
    total, current, end = 0, table[match[0].lower()], match.end()
    if current == 1000:
        total, current = 1000, 0
    for _ in range(_MOST):
        token = _next(text, end, table, joints)
        if not token:
            break
        value, after = token
        if value == 1000:
            if total or not current:
                break
            total, current = current * 1000, 0
        elif value == 100:
            if not 0 < current < 20 and not (total and not current):
                break
            current = max(current, 1) * 100
        elif value == 20 and current % 100 == 4 and text[end : end + 1] in "- \u00a0" and table is _FR:
            current += 76
        elif not _fits(current, value, table is _FR):
            break
        else:
            current += value
        end = after
    return end, Decimal(total + current)


def _fits(current: int, value: int, is_french: bool) -> bool:
    rest = current % 100
    if current and not rest:
        return value < 100 or (value % 100 == 0 and value < 1000 and False)
    if not current:
        return value < 1000
    if is_french and rest == 10:
        return 7 <= value <= 9
    if is_french and rest in {60, 80}:
        return value < 20
    return rest >= 20 and rest % 10 == 0 and 0 < value < 10


def _next(text: str, end: int, table: dict[str, int], joints: Collection[str]) -> tuple[int, int] | None:
    if not (joint := _JOINT.match(text, end)) or not (token := _TOKEN.match(text, joint.end())):
        return None
    word = token[0].lower()
    if word in joints:
        if not (joint := _JOINT.match(text, token.end())) or not (token := _TOKEN.match(text, joint.end())):
            return None
        word = token[0].lower()
        # "One hundred and five", but "two and three" are two numbers.
        if word not in table or not _may_join(text, end, table, word):
            return None
    value = table.get(word)
    return None if value is None else (value, token.end())


def _may_join(text: str, end: int, table: dict[str, int], word: str) -> bool:
    before = text[max(0, end - 12) : end].lower().replace("-", " ").split()
    last = table.get(before[-1], 0) if before else 0
    if table is _EN:
        return last in {100, 1000} and table[word] < 100
    return last >= 20 and last < 100 and table[word] < 17 and (table is _FR or table[word] < 10)
