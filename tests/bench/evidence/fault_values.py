"""Values of made-up companies: as a source writes them, as a report writes them, and wrongly."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Write = Callable[[float], str]

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_QUARTERS = {
    "en": ("first", "second", "third", "fourth"),
    "de": ("ersten", "zweiten", "dritten", "vierten"),
    "fr": ("premier", "deuxième", "troisième", "quatrième"),
    "es": ("primer", "segundo", "tercer", "cuarto"),
}
_MARKS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ","), "es": (".", ",")}
_LONG = {
    "en": "${} million",
    "de": "{} Millionen Euro",
    "fr": "{} millions d'euros",
    "es": "{} millones de euros",
}
_SHORT = {"en": "${}m", "de": "{} Mio. €", "fr": "{} M€", "es": "{} M€"}
_WRONG_MONEY = {
    "en": ("${} billion", "€{} million"),
    "de": ("{} Milliarden Euro", "{} Millionen Dollar"),
    "fr": ("{} milliards d'euros", "{} millions de dollars"),
    "es": ("{} mil millones de euros", "{} millones de dólares"),
}
_PRICE = {"en": "${}", "de": "{} Euro", "fr": "{} €", "es": "{} €"}
_PERCENT = {"en": "{} percent", "de": "{} Prozent", "fr": "{} %", "es": "{} %"}


@dataclass(frozen=True)
class Value:
    """A value in the words of a source and of a report; `wrong` gives what is wrong, by the kind of the fault."""

    source: str
    report: str
    wrong: Mapping[str, Callable[[random.Random], str]] = field(default_factory=dict)


def _digits(value: float, decimals: int, language: str) -> str:
    group, mark = _MARKS[language]
    whole, _, rest = f"{value:,.{decimals}f}".partition(".")
    if value < 10_000 and language == "es":
        whole = whole.replace(",", "")
    return whole.replace(",", group) + (mark + rest if rest else "")


def _changed(value: float, decimals: int, write: Write) -> Callable[[random.Random], str]:
    """Write another value, which differs by more than rounding."""

    def change(rng: random.Random) -> str:
        factor = rng.choice((rng.uniform(0.55, 0.85), rng.uniform(1.18, 1.7)))
        other = round(value * factor, decimals)
        return write(other if other != round(value, decimals) else other + 3)

    return change


def _day(year: int, month: int, day: int, language: str, *, is_report: bool) -> str:
    name = _MONTHS[language].split()[month - 1]
    if language == "en":
        return f"{name} {day}, {year}" if is_report else f"{day} {name} {year}"
    if language == "de":
        return f"{day:02}.{month:02}.{year}" if is_report else f"{day}. {name} {year}"
    return f"{day} de {name} de {year}" if language == "es" else f"{day} {name} {year}"


def _date(rng: random.Random, language: str) -> Value:
    year, month, day = rng.randint(2005, 2023), rng.randint(1, 12), rng.randint(2, 27)

    def wrong(chance: random.Random) -> str:
        which = chance.randrange(3)
        changed = (
            year + (chance.choice((-2, -1, 1, 2)) if which == 0 else 0),
            (month % 12) + 1 if which == 1 else month,
            day + 1 if which == 2 else day,
        )
        return _day(*changed, language, is_report=True)

    return Value(
        _day(year, month, day, language, is_report=False),
        _day(year, month, day, language, is_report=True),
        {"date": wrong},
    )


def _quarter(rng: random.Random, language: str) -> tuple[str, Value]:
    year, number = rng.randint(2023, 2025), rng.randint(1, 4)
    name = _QUARTERS[language][number - 1]
    words = {
        "en": f"{name} quarter of {year}",
        "de": f"{name} Quartal {year}",
        "fr": f"{name} trimestre {year}",
        "es": f"{name} trimestre de {year}",
    }[language]

    def short(number: int, year: int) -> str:
        return f"T{number} {year}" if language in {"fr", "es"} else f"Q{number} {year}"

    def wrong(chance: random.Random) -> str:
        if chance.random() < 0.5:
            return short(number % 4 + 1, year)
        return short(number, year + chance.choice((-2, -1, 1)))

    return words, Value(words, short(number, year), {"date": wrong})


def _money(rng: random.Random, value: float, language: str) -> Value:
    report = rng.choice((_LONG, _SHORT))[language]

    def write(amount: float) -> str:
        return report.format(_digits(amount, 1, language))

    def wrong_unit(chance: random.Random) -> str:
        return chance.choice(_WRONG_MONEY[language]).format(_digits(value, 1, language))

    return Value(
        _LONG[language].format(_digits(value, 1, language)),
        write(value),
        {"figure": _changed(value, 1, write), "unit": wrong_unit},
    )


def _percent(value: float, decimals: int, language: str, *, is_sign: bool = False) -> Value:
    form = "{} %" if is_sign and language != "en" else "{}%" if is_sign else _PERCENT[language]

    def write(amount: float) -> str:
        return form.format(_digits(amount, decimals, language))

    return Value(_PERCENT[language].format(_digits(value, decimals, language)), write(value), {
        "figure": _changed(value, decimals, write)
    })  # fmt: skip


def _count(value: int, language: str) -> Value:
    def write(amount: float) -> str:
        return _digits(amount, 0, language)

    return Value(write(value), write(value), {"figure": _changed(value, 0, write)})


def _measure(
    value: float, decimals: int, units: tuple[str, str], factor: float, language: str, wrong: str
) -> Value:
    """A measure that the report writes in the second unit, `factor` times the first."""
    source_unit, report_unit = units
    decimals_then = decimals if factor == 1 else 0

    def write(amount: float) -> str:
        return f"{_digits(amount * factor, decimals_then, language)} {report_unit}"

    return Value(
        f"{_digits(value, decimals, language)} {source_unit}",
        write(value),
        {
            "figure": _changed(value, decimals, write),
            "unit": lambda _: f"{_digits(value * factor, decimals_then, language)} {wrong}",
        },
    )


def company_values(rng: random.Random, language: str) -> dict[str, Value]:
    """Draw all values of a company, those that follow from others included."""
    revenue = round(rng.uniform(80, 900), 1)
    before = round(revenue * rng.uniform(0.68, 0.95), 1)
    staff = rng.randint(1_200, 48_000)
    research = rng.randint(staff // 20, staff // 5)
    late, dear = rng.randint(61, 240), rng.randint(23, 58)
    asked = late + dear + rng.randint(40, 300)
    share, year = round(rng.uniform(12, 60), 1), rng.randint(2022, 2025)
    quarter_words, quarter = _quarter(rng, language)
    power = round(rng.uniform(2, 38), 1)
    price = rng.randint(210, 9_800)

    def write_rounded(amount: float) -> str:
        return _LONG[language].format(_digits(amount, 0, language))

    def write_price(amount: float) -> str:
        return _PRICE[language].format(_digits(amount, 0, language))

    rounded_staff = round(staff, -3) if staff > 10_000 else round(staff, -2)
    return {
        "money": _money(rng, revenue, language),
        "money0": _money(rng, before, language),
        "round_money": Value("", write_rounded(revenue), {"figure": _changed(revenue, 0, write_rounded)}),
        "growth": _percent((revenue - before) / before * 100, 1, language, is_sign=True),
        "year": Value(
            str(year), str(year), {"date": lambda chance: str(year + chance.choice((-4, -3, -2, 2, 3)))}
        ),
        "staff": _count(staff, language),
        "round_staff": _count(rounded_staff, language),
        "research": _count(research, language),
        "research_share": _percent(research / staff * 100, 1, language),
        "date": _date(rng, language),
        "cost": _money(rng, round(rng.uniform(11, 39), 1), language),
        "power": Value(f"{_digits(power, 1, language)} MW", ""),
        "other_power": _measure(power, 1, ("MW", "kW"), 1_000, language, "GW"),
        "asked": _count(asked, language),
        "late": _count(late, language),
        "dear": _count(dear, language),
        "both": _count(late + dear, language),
        "late_share": _percent(late / asked * 100, 1, language),
        "quarter": Value(quarter_words, quarter_words),
        "other_quarter": quarter,
        "share": _percent(share, 1, language),
        "round_share": _percent(share, 0, language),
        "price": Value(write_price(price), write_price(price), {"figure": _changed(price, 0, write_price)}),
        "weight": _measure(round(rng.uniform(4, 90), 1), 1, ("kg", "kg"), 1, language, "t"),
        "height": _measure(rng.randint(13, 180), 0, ("m", "m"), 1, language, "km"),
    }


def draw_distractors(rng: random.Random, language: str) -> dict[str, str]:
    """Draw figures of the same kinds for sentences about other things."""
    return {
        "d1": _digits(rng.randint(100, 30_000), 0, language),
        "d2": _LONG[language].format(_digits(rng.uniform(10, 900), 1, language)),
        "d3": _date(rng, language).source,
        "d4": _digits(rng.randint(20, 900), 0, language),
        "d5": _PERCENT[language].format(_digits(rng.uniform(1, 40), 1, language)),
        "d6": _PERCENT[language].format(_digits(rng.uniform(1, 40), 0, language)),
        "d7": str(rng.randint(1700, 1950)),
        "d8": _digits(rng.randint(100, 2_000), 0, language),
    }
