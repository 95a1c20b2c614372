"""One table of units: how they are written in four languages, their base unit and their factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache

from ua_tui.observers.evidence.figures.figure import FigureKind

CONTEXT = Context(prec=40, Emax=10_000, Emin=-10_000, traps=[])
"""Arithmetic that never raises."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: a value in it times `factor` plus `offset` is the value in the base unit."""

    base: str
    factor: Decimal = Decimal(1)
    kind: FigureKind = "measure"
    offset: Decimal = Decimal(0)


_DAY = 86_400
_YEAR = 31_557_600
_ACRE, _GALLON, _POUND = "4046.8564224", "3.785411784", "453.59237"
# Base unit, factor, symbols (letters count as they are), words (in any letters) separated by "|".
_TABLE: tuple[tuple[str, object, str, str], ...] = (
    ("B", 1, "B", "byte|bytes|octet|octets"),
    ("bit", 1, "bit|b", "bits|bit"),
    ("B", 8 * 0 + 1024, "KiB", "kibibytes|kibibyte"),
    ("B", 1024**2, "MiB", "mebibytes|mebibyte"),
    ("B", 1024**3, "GiB", "gibibytes|gibibyte"),
    ("B", 1024**4, "TiB", "tebibytes|tebibyte"),
    ("B", 1024**5, "PiB", "pebibytes|pebibyte"),
    ("bit/s", 1, "bps", ""),
    ("bit/s", 10**3, "kbps|Kbps", ""),
    ("bit/s", 10**6, "Mbps", ""),
    ("bit/s", 10**9, "Gbps", ""),
    ("bit/s", 10**12, "Tbps", ""),
    ("B/s", 10**6, "MBps", ""),
    ("B/s", 10**9, "GBps", ""),
    ("B/s", 10**12, "TBps", ""),
    ("W", "745.7", "hp|PS|ch|CV", "horsepower|pferdestärken|chevaux|caballos de fuerza"),
    ("J", "4.184", "cal", "calories|calorie|kalorien"),
    ("J", 4184, "kcal|Cal", "kilocalories|kilokalorien|kilocalorías"),
    ("m", "0.0254", "″", "inch|inches|zoll|pouces|pouce|pulgadas|pulgada"),
    ("m", "0.3048", "ft|ft.|′", "foot|feet|fuß|pieds|pies"),
    ("m", "0.9144", "yd", "yard|yards"),
    ("m", "1609.344", "mi", "mile|miles|meile|meilen|milles|millas|milla"),
    ("m", 1852, "nmi", "nautical miles|nautical mile|seemeilen"),
    ("m", 10**3, "", "kilometers|kilometres|kilometern|kilómetros|kilómetro|km's"),
    ("m", "9460730472580800", "ly", "light years|light-years|light year|lichtjahre|lichtjahren"
     "|années-lumière|años luz"),
    ("m²", 1, "m²|m2|qm|sqm|sq m|sq. m", "square metres|square meters|square metre|square meter|quadratmeter"
     "|quadratmetern|mètres carrés|metros cuadrados"),
    ("m²", 10**6, "km²|km2|sq km|sq. km", "square kilometres|square kilometers|square kilometre|square kilometer"
     "|quadratkilometer|quadratkilometern|kilomètres carrés|kilómetros cuadrados"),
    ("m²", "0.0001", "cm²|cm2", "square centimetres|square centimeters|quadratzentimeter"),
    ("m²", "0.000001", "mm²|mm2", "square millimetres|square millimeters"),
    ("m²", "0.09290304", "sq ft|sq. ft|sq. ft.|sqft|ft²|ft2", "square feet|square foot"),
    ("m²", "2589988.110336", "sq mi|sq. mi|sq. mi.|mi²", "square miles|square mile"),
    ("m²", 10**4, "ha", "hectare|hectares|hektar|hectárea|hectáreas"),
    ("m²", _ACRE, "ac", "acre|acres|acker"),
    ("l", 1, "L", ""),
    ("l", 1000, "m³|m3|cbm", "cubic metres|cubic meters|cubic metre|cubic meter|kubikmeter|kubikmetern|mètres cubes"
     "|mètre cube|metros cúbicos|metro cúbico"),
    ("l", "0.001", "cm³|cm3|cc", "cubic centimetres|cubic centimeters|kubikzentimeter"),
    ("l", 10**9, "hm³|hm3", "cubic hectometres|hectomètres cubes|hectómetros cúbicos|hectómetro cúbico"),
    ("l", 10**12, "km³|km3", "cubic kilometres|cubic kilometers|kubikkilometer"),
    ("l", "0.016387064", "cu in|in³", "cubic inches|cubic inch"),
    ("l", "28.316846592", "cu ft|ft³", "cubic feet|cubic foot"),
    ("l", _GALLON, "gal", "gallon|gallons|gallonen|galones"),
    ("l", "158.987294928", "bbl", "barrel|barrels|fass|barils|baril|barriles|barril"),
    ("g", 10**6, "t|mt|MT", "tonne|tonnes|tonnen|tons|ton|metric tons|metric ton|metric tonnes|toneladas|tonelada"),
    ("g", 10**12, "Mt", ""),
    ("g", 10**15, "Gt", "gigatonnes|gigatons|gigatonnen"),
    ("g", _POUND, "lb|lbs|lb.|lbs.", "pound-mass"),
    ("g", "28.349523125", "oz|oz.", "ounce|ounces|unzen|onces"),
    ("g", "6350.29318", "", "stone"),
    ("g", 10**3, "kg|kgs", "kilo|kilos|kilogramm"),
    ("s", "0.001", "msec", "milliseconds|millisecond|millisekunden|millisekunde|millisecondes|milisegundos"),
    ("s", "0.000001", "", "microseconds|microsecond|mikrosekunden|microsecondes|microsegundos"),
    ("s", "0.000000001", "", "nanoseconds|nanosecond|nanosekunden|nanosecondes|nanosegundos"),
    ("s", 1, "sec|secs|sec.|Sek.", "second|seconds|sekunde|sekunden|seconde|secondes|segundo|segundos"),
    ("s", 60, "min|mins|min.|Min.", "minute|minutes|minuten|minuto|minutos"),
    ("s", 3600, "h|hr|hrs|hr.|hrs.|Std.", "hour|hours|stündige|stündigen|stunde|stunden|heure|heures|hora|horas"),
    ("s", _DAY, "", "day|days|tägige|tägigen|tägiger|tägiges|tag|tage|tagen|jour|jours|día|días|dia|dias"),
    ("s", 7 * _DAY, "wk|wks", "week|weeks|woche|wochen|semaine|semaines|semana|semanas"),
    ("s", 14 * _DAY, "", "fortnight|fortnights"),
    ("s", _YEAR // 12, "mo|mos", "month|months|monatige|monatigen|monat|monate|monaten|mois|mes|meses"),
    ("s", _YEAR, "yr|yrs|yr.|yrs.", "year|years|year-old|years-old|jährige|jährigen|jähriger|jähriges"
     "|jahr|jahre|jahren|an|ans|année|années|año|años"),
    ("s", 10 * _YEAR, "", "decade|decades|jahrzehnt|jahrzehnte|jahrzehnten|décennies|décennie|década|décadas"),
    ("s", 100 * _YEAR, "", "centuries|jahrhunderte|jahrhunderten|siècles|siglos"),
    ("m/s", Decimal(1000) / 3600, "kph|kmh|km/h|Km/h", "stundenkilometer|kilometres per hour|kilometers per hour"),
    ("m/s", "0.44704", "mph", "miles per hour|miles an hour"),
    ("m/s", Decimal(1852) / 3600, "kn|kt", "knots|knoten|nœuds|nudos"),
    ("l/m", "0.00001", "l/100km|l/100 km|L/100 km", ""),
    ("FLOP/s", 1, "FLOPS|FLOP/s", "flops"),
    ("op/s", 10**12, "TOPS", ""),
    ("frame/s", 1, "fps", "frames per second|bilder pro sekunde"),
    ("token/s", 1, "tokens/s|token/s|tok/s|tokens/sec", "tokens per second|tokens a second|token pro sekunde"
     "|tokens pro sekunde|tokens par seconde|jetons par seconde|tokens por segundo"),
    ("1/min", 1, "rpm", "revolutions per minute"),
    ("dB", 1, "dB|dBA", "decibels|decibel|dezibel|décibels|decibelios"),
    ("pixel", 1, "px", "pixels|pixel|pixeln"),
    ("pixel", 10**6, "MP", "megapixels|megapixel"),
    ("°C", 1, "°", "degrees|degree|grad|degrés|grados"),
    ("°C", 1, "°C|° C|℃", "degrees celsius|grad celsius|degrés celsius|grados celsius|celsius"
     "|degrees c|degrees centigrade"),
    ("ppm", 1, "ppm", "parts per million"),
    ("ppm", "0.001", "ppb", "parts per billion"),
    ("mol", 1, "mol", "moles"),
    ("g/l", 1, "", ""),
    ("Pa", 10**5, "bar", "bars"),
    ("Pa", "6894.757", "psi", "pounds per square inch"),
)  # fmt: skip
_PREFIXES = {
    "": "1", "n": "1e-9", "µ": "1e-6", "μ": "1e-6", "m": "1e-3", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12",
    "P": "1e15", "E": "1e18",
}  # fmt: skip
_PREFIX_WORDS = {
    "nano": "1e-9", "mikro": "1e-6", "micro": "1e-6", "milli": "1e-3", "mili": "1e-3", "kilo": "1e3", "mega": "1e6",
    "méga": "1e6", "giga": "1e9", "tera": "1e12", "téra": "1e12", "peta": "1e15", "exa": "1e18",
}  # fmt: skip
# Base unit, factor, symbol, prefixes of the symbol, words that take prefixes.
_METRIC: tuple[tuple[str, str, str, str, str], ...] = (
    ("B", "1", "B", "k M G T P E", "byte|bytes|octets"),
    ("B", "1", "o", "k M G T P", ""),
    ("bit", "1", "bit", "k M G T", "bit|bits"),
    ("bit", "1", "b", "M G T", ""),
    ("Hz", "1", "Hz", " k M G T", "hertz"),
    ("W", "1", "W", " m µ k M G T P", "watt|watts|vatios|vatio"),
    ("Wh", "1", "Wh", " m k M G T P", "watt hours|watt-hours|watthours|wattstunden|wattstunde|wattheures|vatios hora"
     "|watt hour|watt-hour|watts-heures|vatios-hora"),
    ("J", "1", "J", " m k M G T P E", "joule|joules|julios"),
    ("V", "1", "V", " m µ k M", "volt|volts|voltios"),
    ("A", "1", "A", " m µ k", "ampere|amperes|amps|ampères|amperios"),
    ("Ah", "1", "Ah", " m", "ampere hours|amp hours|amperestunden"),
    ("eV", "1", "eV", " k M G T m", ""),
    ("Pa", "1", "Pa", " h k M G", "pascal|pascals"),
    ("N", "1", "N", "k M", "newton|newtons"),
    ("Ω", "1", "Ω", " k M m", "ohm|ohms|ohmios"),
    ("m", "1", "m", " n µ m c k", "meter|meters|metre|metres|metern|mètre|mètres|metro|metros"),
    ("g", "1", "g", " n µ m k", "gram|grams|gramm|gramme|grammes|gramos|gramo"),
    ("l", "1", "l", " µ m c d M G", "liter|liters|litre|litres|litern|litro|litros"),
    ("l", "1", "L", " m M G", ""),
    ("s", "1", "s", " n µ m", ""),
    ("FLOP/s", "1", "FLOPS", "M G T P E", "flops|flop/s"),
    ("FLOP/s", "1", "FLOP/s", "M G T P E", ""),
    ("FLOP/s", "1", "FLOPs", "M G T P E", ""),
    ("cd", "1", "cd", " ", "candela"),
    ("nit", "1", "nits", " ", ""),
    ("Sv", "1", "Sv", " m µ", "sievert|sieverts"),
    ("Bq", "1", "Bq", " k M G T", "becquerel"),
    ("K", "1", "", "", ""),
)  # fmt: skip
_PER_CENT = (
    "percent|per cent|prozent|pour cent|por ciento|pct|pct.|v. h.|%ige|%iger|%igen|%iges|prozentige|prozentigen"
    "|prozentiger|percents|pour-cent|por cien|% per cent"
)
_POINTS = (
    "percentage points|percentage point|percentage-point|percentage-points|prozentpunkte|prozentpunkten|prozentpunkt"
    "|points de pourcentage|point de pourcentage|puntos porcentuales|punto porcentual|%-punkte|%-punkten|% points"
    "|% point|%-points|%-point|points de %|percent points|per cent points"
)
_BASIS_POINTS = (
    "basis points|basis point|basispunkte|basispunkten|points de base|puntos básicos|puntos basicos"
)
_MULTIPLES = "times|-fold|fold|-mal|mal|fois|veces|-fach|fach|-fache|fache|-faches|faches"


@cache
def _special() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """Shares, multiples, and units with an offset or of metric counts."""
    percent, points = Unit("%", kind="share"), Unit("pp", kind="share")
    symbols = {
        "%": percent,
        "٪": percent,
        "％": percent,
        "‰": Unit("%", Decimal("0.1"), "share"),
        "pp": points,
    }
    symbols |= dict.fromkeys(("pp.", "ppt", "ppts", "p.p.", "pts"), points) | {"v.H.": percent}
    symbols |= dict.fromkeys(("bps", "bp"), Unit("pp", Decimal("0.01"), "share"))
    symbols |= dict.fromkeys(("x", "×", "X"), Unit("×", kind="multiple"))
    fahrenheit = Unit(
        "°C", CONTEXT.divide(Decimal(5), Decimal(9)), "measure", CONTEXT.divide(Decimal(-160), Decimal(9))
    )
    symbols |= {
        "°F": fahrenheit,
        "° F": fahrenheit,
        "℉": fahrenheit,
        "K": Unit("°C", offset=Decimal("-273.15")),
    }
    words = dict.fromkeys(_PER_CENT.split("|"), percent) | dict.fromkeys(_POINTS.split("|"), points)
    words |= dict.fromkeys(_BASIS_POINTS.split("|"), Unit("pp", Decimal("0.01"), "share"))
    words |= dict.fromkeys(_MULTIPLES.split("|"), Unit("×", kind="multiple"))
    words |= dict.fromkeys(("degrees fahrenheit", "grad fahrenheit", "fahrenheit", "degrees f"), fahrenheit)
    return symbols, words | {"kelvin": symbols["K"]}


def _metric() -> Iterator[tuple[str, str, Unit]]:
    for base, factor, symbol, prefixes, words in _METRIC:
        for prefix in prefixes.replace("µ", "µ μ").split(" "):
            value = {"c": "1e-2", "d": "1e-1", "h": "1e2"}.get(prefix) or _PREFIXES[prefix]
            yield prefix + symbol, "", Unit(base, Decimal(factor) * Decimal(value))
        for word in filter(None, words.split("|")):
            yield "", word, Unit(base, Decimal(factor))
            for name, value in _PREFIX_WORDS.items():
                yield "", name + word, Unit(base, Decimal(factor) * Decimal(value))
            if base in "ml":
                for name in ("centi", "zenti", "dezi", "deci"):
                    yield "", name + word, Unit(base, Decimal("0.01" if name.endswith("nti") else "0.1"))


def _tables() -> tuple[dict[str, Unit], dict[str, Unit]]:
    symbols, words = dict[str, Unit](), dict[str, Unit]()
    for symbol, word, unit in _metric():
        if symbol:
            symbols.setdefault(symbol, unit)
        if word:
            words.setdefault(word, unit)
    # As many write them, in the one sense that they have there.
    loose = {"KB": "kB", "Kb": "kbit", "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB", "Gb": "Gbit", "Mb": "Mbit",
             "kw": "kW", "KW": "kW", "Kw": "kW", "kwh": "kWh", "KWh": "kWh", "Kwh": "kWh", "KM": "km", "Km": "km",
             "KG": "kg", "Kg": "kg", "khz": "kHz", "mhz": "MHz", "ghz": "GHz", "Ghz": "GHz", "Mhz": "MHz",
             "um": "µm"}  # fmt: skip
    for written, meant in loose.items():
        symbols[written] = symbols[meant]
    for base, factor, marks, names in _TABLE:
        unit = Unit(base, factor if isinstance(factor, Decimal) else Decimal(str(factor)))
        symbols |= dict.fromkeys(filter(None, marks.split("|")), unit)
        words |= dict.fromkeys(filter(None, names.split("|")), unit)
    special, special_words = _special()
    # "5 o" and "5 b" are no units; "bps" is of the bond market unless a prefix stands before it.
    for symbol in ("o", "b"):
        symbols.pop(symbol, None)
    return symbols | special, words | special_words


SYMBOLS, WORDS = _tables()
"""Units by the symbols as they are written, and by their words in lower case."""


@cache
def per(unit: Unit, time: Unit) -> Unit:
    """A unit divided by another, such as metres per second."""
    base = f"{unit.base}/{time.base}"
    return Unit(base, CONTEXT.divide(unit.factor, time.factor), unit.kind)
