"""Made-up articles in four languages, with words that are never written by a person about a real thing."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

__all__ = ["LANGUAGES", "Language", "sentences"]


@dataclass(frozen=True)
class Language:
    """The parts of sentences; any of each part goes with any of the others."""

    who: Sequence[str]
    did: Sequence[str]
    what: Sequence[str]
    when: Sequence[str]
    said: str
    """What a report writes before a quotation."""
    spare: Sequence[str]
    """Words that change a sentence."""


LANGUAGES: Mapping[str, Language] = {
    "en": Language(
        (
            "The harbour authority",
            "A small team of engineers",
            "Nobody on the council",
            "The region’s oldest mill",
        ),
        (
            "replaced",
            "did not measure",
            "quietly rebuilt",
            "has paid for",
            "couldn’t explain",
            "wants to open",
        ),
        (
            "the well-known lighthouse at the northern pier",
            "a third of the water pipes – and their valves –",
            "the final filter of the first plant",
            "more than 1,250 metres of cable",
            "“a bridge that no one needs”",
        ),
        (
            "after the storm of last winter",
            "before the office could answer a single letter",
            "while prices fell by 4.5 percent",
            "because the old contract ends in 2031",
            "and that was not expected",
        ),
        "The paper says:",
        ("slowly", "never", "twelve", "cheaper", "harbours"),
    ),
    "de": Language(
        (
            "Die Hafenbehörde der Stadt",
            "Eine kleine Gruppe von Fachleuten",
            "Niemand im Rat",
            "Die älteste Mühle",
        ),
        ("ersetzte", "vermisst", "erneuerte ohne Aufsehen", "bezahlte", "prüfte", "eröffnete"),
        (
            "den weithin bekannten Leuchtturm am Nordkai",
            "ein Drittel der Wasserrohre – samt Ventilen –",
            "die größte Straße zum Flusskraftwerk",
            "mehr als 1.250 Meter Kabel",
            "„eine Brücke, die niemand braucht“",
        ),
        (
            "nach dem Sturm des letzten Winters",
            "noch bevor das Amt einen einzigen Brief beantwortet hatte",
            "während die Preise um 4,5 Prozent fielen",
            "weil der alte Vertrag 2031 endet",
            "und das hatte niemand erwartet",
        ),
        "Die Zeitung schreibt:",
        ("langsam", "niemals", "zwölf", "billiger", "Häfen"),
    ),
    "fr": Language(
        (
            "L’autorité du port",
            "Une petite équipe d’ingénieurs",
            "Personne au conseil",
            "Le plus vieux moulin",
        ),
        ("a remplacé", "n’a pas mesuré", "a discrètement refait", "a payé", "explique mal", "veut ouvrir"),
        (
            "le phare bien connu de la jetée nord",
            "un tiers des conduites d’eau – et leurs vannes –",
            "le dernier filtre de l’usine",
            "plus de 1 250 mètres de câble",
            "« un pont dont personne n’a besoin »",
        ),
        (
            "après la tempête de l’hiver dernier",
            "avant que le bureau ne réponde à une seule lettre",
            "tandis que les prix baissaient de 4,5 pour cent",
            "parce que l’ancien contrat prend fin en 2031",
            "et cela, nul ne l’attendait",
        ),
        "Le journal écrit :",
        ("lentement", "jamais", "douze", "moins", "ports"),
    ),
    "es": Language(
        (
            "La autoridad del puerto",
            "Un pequeño grupo de ingenieros",
            "Nadie en el consejo",
            "El molino más viejo",
        ),
        ("sustituyó", "no midió", "rehízo sin ruido", "ha pagado", "no sabe explicar", "quiere abrir"),
        (
            "el conocido faro del muelle norte",
            "un tercio de las tuberías de agua – y sus válvulas –",
            "el último filtro de la fábrica",
            "más de 1.250 metros de cable",
            "«un puente que nadie necesita»",
        ),
        (
            "tras la tormenta del invierno pasado",
            "antes de que la oficina respondiera a una sola carta",
            "mientras los precios bajaban un 4,5 por ciento",
            "porque el antiguo contrato termina en 2031",
            "y eso no se esperaba",
        ),
        "El diario escribe:",
        ("despacio", "nunca", "doce", "menos", "puertos"),
    ),
}


def sentences(language: Language, count: int, draw: random.Random) -> list[str]:
    """Different sentences, in any order."""
    every = list(product(language.who, language.did, language.what, language.when))
    return [" ".join(parts) + "." for parts in draw.sample(every, count)]
