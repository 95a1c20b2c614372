"""Dates in digits and with the names of months, quarters, half-years and seasons; times of day."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from decimal import Decimal

from ua_tui.observers.evidence.figures.reading import ZERO, Reading
from ua_tui.observers.evidence.figures.units import Unit

_NAMES: tuple[tuple[str, ...], ...] = (
    ("January", "Jan", "Januar", "Jänner", "janvier", "janv", "enero", "ene"),
    ("February", "Feb", "Februar", "Febr", "février", "févr", "fév", "febrero"),
    ("March", "Mar", "März", "Mrz", "mars", "marzo"),
    ("April", "Apr", "avril", "avr", "abril", "abr"),
    ("May", "Mai", "mai", "mayo"),
    ("June", "Jun", "Juni", "juin", "junio"),
    ("July", "Jul", "Juli", "juillet", "juil", "julio"),
    ("August", "Aug", "août", "agosto", "ago"),
    ("September", "Sep", "Sept", "septembre", "septiembre", "setiembre"),
    ("October", "Oct", "Oktober", "Okt", "octobre", "octubre"),
    ("November", "Nov", "novembre", "noviembre"),
    ("December", "Dec", "Dezember", "Dez", "décembre", "déc", "diciembre", "dic"),
)
MONTH_NAMES = {}
for _number, _forms in enumerate(_NAMES, 1):
    for _form in _forms:
        MONTH_NAMES[_form] = _number
        MONTH_NAMES[_form.capitalize()] = _number
        if len(_form) > 3:
            MONTH_NAMES[_form.upper()] = _number
_MONTH = f"(?P<month>{'|'.join(sorted(MONTH_NAMES, key=len, reverse=True))})(?![^\\W_])\\.?"
_YEAR = r"(?P<year>1[0-9]{3}|20[0-9]{2}|21[0-9]{2})(?![0-9]|[.,][0-9]|['’]?s\b)"
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)?"
_DASH = r"[ \u00a0]?[-–—][ \u00a0]?|[ \u00a0]"
_DASH += r"(?:to|and|bis|und|au|et|al|y|a|or|through|until)[ \u00a0](?:the[ ]|le[ ]|el[ ])?"
_SP = r"[ \u00a0]"
_DAY_MONTH = re.compile(
    rf"(?P<day>[0-9]{{1,2}})(?P<ordinal>{_ORDINAL})(?:(?P<dash>{_DASH})(?P<last>[0-9]{{1,2}}){_ORDINAL})?"
    rf"(?:{_SP}?-?(?:of{_SP}|de{_SP})?)(?:the{_SP})?{_MONTH}(?:(?:,?{_SP}|-|,)(?:del?{_SP}|of{_SP})?{_YEAR})?"
)
_MONTH_DAY = re.compile(
    rf"{_MONTH}(?:,?{_SP}(?:del?{_SP}|of{_SP})?{_YEAR}"
    rf"|[ \u00a0-](?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![0-9:]|[.,][0-9]|[ \u00a0]?%)"
    rf"(?:(?P<dash>{_DASH})(?P<last>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![0-9:]|[ \u00a0]?%))?"
    rf"(?:(?:,{_SP}?|{_SP}|-){_YEAR.replace('year', 'year_after')})?)"
)
_ISO = re.compile(
    r"(?P<year>1[0-9]{3}|2[01][0-9]{2})(?P<mark>[-/.])(?P<month>[01][0-9])(?P=mark)(?P<day>[0-3][0-9])(?![0-9])"
)
_ISO_MONTH = re.compile(r"(?P<year>1[0-9]{3}|2[01][0-9]{2})-(?P<month>0[1-9]|1[0-2])(?![0-9-])")
_DOTTED = re.compile(
    r"(?P<day>[0-3]?[0-9])\. ?(?P<month>[01]?[0-9])\. ?(?P<year>[12][0-9]{3}|[0-9]{2}(?![0-9.,]))(?![0-9])"
)
_SLASHED = re.compile(
    r"(?P<a>[0-3]?[0-9])(?P<mark>[/-])(?P<b>[0-3]?[0-9])(?P=mark)(?P<year>[12][0-9]{3}|[0-9]{2})(?![0-9/-])"
)
_TIME = re.compile(
    r"(?P<hour>[01]?[0-9]|2[0-4]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:\.[0-9]{1,6})?)?(?![0-9:])"
    r"(?:[ \u00a0]?(?P<half>[aApP])\.?[mM]\b\.?)?"
    r"|(?P<hour12>1[0-2]|0?[1-9])[ \u00a0]?(?P<half12>[aApP])\.?[mM](?![^\W_])\.?"
    r"|(?P<hour_fr>[01]?[0-9]|2[0-3])[ ]?h[ ]?(?P<minute_fr>[0-5][0-9])(?![0-9])"
)
_DECADE = re.compile(
    r"(?P<year>1[0-9]{2}0|20[0-9]0)(?:['’]?s(?![^\W_])|er(?:[- ]Jahren?n?)?(?![^\W_]))|(?P<short>[2-9]0)s(?![^\W_])"
)
_FULL_YEAR = r"(?P<year>1[0-9]{3}|2[01][0-9]{2}|['’][0-9]{2})(?![0-9])"
_QUARTER = re.compile(
    rf"(?:[QqT](?P<n>[1-4])|(?P<n2>[1-4])[QT](?![^\W_0-9])|(?P<n3>[1-4])\.{_SP}Quartal)"
    rf"(?:(?:{_SP}|-|/)?(?:of{_SP}|de{_SP}|del{_SP})?(?:FY{_SP}?|CY{_SP}?|fiscal{_SP}(?:year{_SP})?)?(?:{_FULL_YEAR}|(?P<short>[1-3][0-9])(?![0-9%]|[.,][0-9])))?(?![^\W_])"
)
_HALF = re.compile(
    rf"(?:H(?P<n>[12])|(?P<n2>[12])H(?![^\W_0-9])|S(?P<n4>[12])(?={_SP}20)|(?P<n3>[12])\.{_SP}Halbjahr)"
    rf"(?:(?:{_SP}|-|/)?(?:of{_SP}|de{_SP})?(?:FY{_SP}?)?(?:{_FULL_YEAR}|(?P<short>[1-3][0-9])(?![0-9%]|[.,][0-9])))(?![^\W_])"
)
_ORDINAL_WORDS = {
    1: "first|erste[nsr]?|premier|primer|1st|1er", 2: "second|zweite[nsr]?|deuxième|second|segundo|2nd|2e",
    3: "third|dritte[nsr]?|troisième|tercer|3rd|3e", 4: "fourth|vierte[nsr]?|quatrième|cuarto|4th|4e|final",
}  # fmt: skip
_ORDINALS = "|".join(f"(?P<o{number}>{words})" for number, words in _ORDINAL_WORDS.items())
_QUARTER_WORDS = re.compile(
    rf"(?:{_ORDINALS}){_SP}(?:(?P<quarter>quarter|Quartals?|trimestre)|(?P<half>half|Halbjahre?s?|semestre))"
    rf"(?:{_SP}(?:of{_SP}|de{_SP}|del{_SP}|des{_SP}(?:Jahres{_SP})?)?(?:fiscal{_SP}(?:year{_SP})?|FY{_SP}?)?{_FULL_YEAR})?",
    re.IGNORECASE,
)
_SEASONS = {
    1: "spring|Frühling|Frühjahr|printemps|primavera", 2: "summer|Sommer|été|verano",
    3: "autumn|fall|Herbst|automne|otoño", 4: "winter|hiver|invierno",
}  # fmt: skip
_SEASON = re.compile(
    rf"(?:{'|'.join(f'(?P<s{number}>{words})' for number, words in _SEASONS.items())})"
    rf"(?:{_SP}(?:of{_SP}|de{_SP}|del{_SP}|d['’])?(?P<year>1[0-9]{{3}}|2[01][0-9]{{2}})(?![0-9]))",
    re.IGNORECASE,
)
_FISCAL = re.compile(r"(?:FY|CY)[ \u00a0'’]?(?P<year>20[0-9]{2}|[0-9]{2})(?![0-9])")
_OF_YEAR = r"(?=[ \u00a0](?:of |del? |d['’])?[12][0-9]{3})"
_PERIOD = r"(?=[ \u00a0](?:[Qq]uarter|Quartal|trimestre|half of|Halbjahr|semestre))"
PERIOD_STARTS = {
    "[QT]": "[1-4](?![0-9])", "H": r"[12](?=[ '’/-]?(?:20|FY|['’])|[1-3][0-9]\b)|erbst" + _OF_YEAR,
    "[FC]": r"Y[ '’]?[0-9]{2}",
    "[Ss]": f"[12](?= 20)|(?:pring|ummer|ommer){_OF_YEAR}|(?:econd|egundo){_PERIOD}",
    "[Aa]": f"ut(?:umn|omne){_OF_YEAR}",
    "[Ff]": f"all{_OF_YEAR}|rüh(?:ling|jahr){_OF_YEAR}|(?:irst|ourth|inal){_PERIOD}", "[Ww]": f"inter{_OF_YEAR}",
    "[Pp]": f"(?:rintemps|rimavera){_OF_YEAR}|remier{_PERIOD}|rimer{_PERIOD}",
    "[ÉéEe]": f"té{_OF_YEAR}|rste[nsr]?{_PERIOD}",
    "[Hh]": f"iver{_OF_YEAR}", "[VvOoIi]": f"(?:erano|toño|nvierno){_OF_YEAR}|ierte[nsr]?{_PERIOD}",
    "[TtZzDdQqCc]": f"(?:hird|ercer|roisième|weite[nsr]?|ritte[nsr]?|euxième|uatrième|uarto){_PERIOD}",
}  # fmt: skip
"""How what `read_period` reads begins: the first letter and the rest, as patterns."""
_CLOCK = Unit("clock")
_LAST_SHORT = 69


def make_date(start: int, end: int, year: int, month: int = 0, day: int = 0) -> Reading | None:
    """A date that is written from `start` to `end`; None if there is no such day."""
    first = month
    if month > 500:
        return None
    if 100 < month < 200:
        first = 3 * (month - 100) - 2
    elif 200 < month < 300:
        first = 6 * (month - 200) - 5
    elif 300 < month < 400:
        first = {1: 3, 2: 6, 3: 9, 4: 12}[month - 300]
    elif month == 500:
        first = 1
    if first > 12 or (day > 28 and day > monthrange(year or 2024, first or 1)[1]):
        return None
    value = Decimal(date(year, first or 1, day or 1).toordinal()) if year else ZERO
    return Reading(start, end, value, kind="date", date=(year, month, day))


def year_of(written: str) -> int:
    """The year of two or four digits, perhaps after an apostrophe."""
    digits = written.lstrip("'’")
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year <= _LAST_SHORT else 1900)


def read_date(text: str, start: int, *, is_day_first: bool) -> list[Reading] | None:
    """Read the date, the range of days, or the time of day that begins with a digit at `start`."""
    for pattern, read in (
        (_ISO, _read_iso),
        (_DAY_MONTH, _read_days),
        (_DOTTED, _read_dotted),
        (_DECADE, _read_decade),
        (_QUARTER, _read_quarter),
        (_HALF, _read_half),
        (_TIME, _read_time),
        (_ISO_MONTH, _read_iso_month),
    ):
        if (match := pattern.match(text, start)) and (found := read(match)):
            return found
    if match := _SLASHED.match(text, start):
        return _slashed(match, is_day_first)
    return None


def read_period(text: str, start: int) -> list[Reading] | None:
    """Read the date that begins with a letter at `start`: a month, quarter, half-year, season or fiscal year."""
    if (match := _MONTH_DAY.match(text, start)) and (found := _read_month(match)):
        return found
    if (match := _QUARTER.match(text, start)) and (found := _read_quarter(match)):
        return found
    if (match := _HALF.match(text, start)) and (found := _read_half(match)):
        return found
    if match := _FISCAL.match(text, start):
        return _one(make_date(*match.span(), year_of(match["year"])))
    if match := _SEASON.match(text, start):
        season = next(number for number in _SEASONS if match[f"s{number}"])
        return _one(make_date(*match.span(), int(match["year"]), 300 + season))
    if match := _QUARTER_WORDS.match(text, start):
        number = next(number for number in _ORDINAL_WORDS if match[f"o{number}"])
        if match["half"] and number > 2:
            return None
        year = year_of(match["year"]) if match["year"] else 0
        if not year and match["half"]:
            return None
        return _one(make_date(*match.span(), year, (200 if match["half"] else 100) + number))
    return None


def _one(found: Reading | None) -> list[Reading] | None:
    return [found] if found else None


def _read_iso(match: re.Match[str]) -> list[Reading] | None:
    return _one(make_date(*match.span(), int(match["year"]), int(match["month"]), int(match["day"])))


def _read_iso_month(match: re.Match[str]) -> list[Reading] | None:
    year, month = int(match["year"]), int(match["month"])
    # "2011-12" is a season or a budget year.
    return None if month == (year + 1) % 100 else _one(make_date(*match.span(), year, month))


def _read_dotted(match: re.Match[str]) -> list[Reading] | None:
    return _one(make_date(*match.span(), year_of(match["year"]), int(match["month"]), int(match["day"])))


def _read_decade(match: re.Match[str]) -> list[Reading] | None:
    if match["short"]:
        # "The 90s" and "'90s", but not "30s", which are seconds.
        start = match.start()
        before = match.string[max(0, start - 6) : start].lower()
        if not before.endswith(("the ", "'", "early ", "late ")):
            return None
    year = int(match["year"]) if match["year"] else 1900 + int(match["short"])
    found = make_date(*match.span(), year, 500)
    if found:
        found.low, found.high = found.number, Decimal(date(year + 9, 12, 31).toordinal())
    return _one(found)


def _read_quarter(match: re.Match[str]) -> list[Reading] | None:
    groups = match.groupdict()
    written = groups["year"] or groups["short"]
    number = int(groups["n"] or groups["n2"] or groups["n3"])
    if groups["n2"] and not written:
        return None
    return _one(make_date(*match.span(), year_of(written) if written else 0, 100 + number))


def _read_half(match: re.Match[str]) -> list[Reading] | None:
    written = match["year"] or match["short"]
    number = int(match["n"] or match["n2"] or match["n3"] or match["n4"])
    return _one(make_date(*match.span(), year_of(written) if written else 0, 200 + number))


def _read_days(match: re.Match[str]) -> list[Reading] | None:
    name = match["month"]
    # "2 may differ" is no date.
    if name == "may" or (name in {"mar", "ago"}):
        return None
    year, month = int(match["year"] or 0), MONTH_NAMES[name]
    first = make_date(match.start(), match.end(), year, month, int(match["day"]))
    if not first or not int(match["day"]):
        return None
    if not match["last"]:
        return [first]
    last = make_date(match.start("last"), match.end(), year, month, int(match["last"]))
    if not last:
        return None
    return _days(first, last, match.start("dash"), match["dash"])


def _days(first: Reading, last: Reading, first_end: int, connector: str) -> list[Reading]:
    first.end = first_end
    if connector.split()[:1] not in (["and"], ["und"], ["et"], ["y"], ["or"]):
        first.low = last.low = first.number
        first.high = last.high = last.number
    return [first, last]


def _read_month(match: re.Match[str]) -> list[Reading] | None:
    written = match["year"] or match["year_after"]
    name = match["month"]
    if name in {"may", "mar", "ago", "march", "august"}:
        return None
    year, month, day = int(written or 0), MONTH_NAMES[name], int(match["day"] or 0)
    if not match["year"] and not day:
        return None
    first = make_date(match.start(), match.end(), year, month, day)
    if not first or not match["last"]:
        return _one(first)
    last = make_date(match.start("last"), match.end(), year, month, int(match["last"]))
    if not last:
        first.end = match.start("dash")
        return [first]
    return _days(first, last, match.start("dash"), match["dash"])


def _slashed(match: re.Match[str], is_day_first: bool) -> list[Reading] | None:
    a, b, year = int(match["a"]), int(match["b"]), year_of(match["year"])
    if not a or not b:
        return None
    day_first = make_date(*match.span(), year, b, a) if b <= 12 else None
    month_first = make_date(*match.span(), year, a, b) if a <= 12 else None
    best, other = (day_first, month_first) if is_day_first else (month_first, day_first)
    found = best or other
    if found and best and other and best.number != other.number:
        found.other = other.number
    return _one(found)


def _read_time(match: re.Match[str]) -> list[Reading] | None:
    hour = int(match["hour"] or match["hour12"] or match["hour_fr"])
    minute = int(match["minute"] or match["minute_fr"] or 0)
    half = (match["half"] or match["half12"] or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = Decimal(3600 * hour + 60 * minute + int(match["second"] or 0))
    found = Reading(*match.span(), seconds, kind="measure", unit=_CLOCK, unit_start=match.end())
    if match["minute"] and not half:
        # "2:30" may be a ratio or a score.
        found.other = None
    return [found]
