"""Sentences of made-up sources and reports in four languages: what a source says, a report says in other words.

A name in braces is a value; of a report's sentences, each is a place where a fault can be seeded.
"""

# A sentence on one line is easier to compare with the next.
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["LANGUAGES", "TEXTS", "Fact", "Texts"]

LANGUAGES = ("en", "de", "fr", "es")


@dataclass(frozen=True)
class Fact:
    """A fact as its source has it and as reports have it."""

    source: Sequence[str]
    report: Sequence[str]


@dataclass(frozen=True)
class Texts:
    """All sentences of a language; `distractors` have figures of the same kinds that are about other things."""

    facts: Mapping[str, Fact]
    distractors: Sequence[str]
    quotations: Sequence[str]
    said: Sequence[str]
    headings: Sequence[str]
    table: tuple[str, str, str, str]
    listed: str
    sources: str


_EN = Texts(
    facts={
        "revenue": Fact(
            (
                "Turnover at {company} came to {money} for the twelve months that ended in {year}, after {money0} in the "
                "period before.",
                "In {year} customers paid the group {money}; twelve months earlier its turnover had been {money0}.",
            ),
            (
                "{company} had a turnover of {money} in {year}, an increase of {growth}.",
                "Turnover reached {round_money} in {year}, up {growth} on the {money0} of the previous period.",
            ),
        ),
        "staff": Fact(
            (
                "On its payroll are {staff} people, {research} of whom develop new products.",
                "The workforce counts {staff} heads; the laboratories employ {research} of them.",
            ),
            (
                "Its workforce is {staff} people strong, and {research_share} of them develop products.",
                "About {round_staff} people work for {company}, {research} of them in laboratories that develop products.",
            ),
        ),
        "plant": Fact(
            (
                "Production in {place} started on {date}; the plant cost {cost} and takes {power} of electricity.",
                "After two years of building for {cost}, the plant in {place} went into operation on {date} with a "
                "connection of {power}.",
            ),
            (
                "The {place} plant has produced since {date}. Its construction cost {cost}, and it draws {other_power}.",
                "Since {date} a plant that cost {cost} runs in {place}; the connection delivers {other_power}.",
            ),
        ),
        "survey": Fact(
            (
                "Of the {asked} buyers who answered, {late} complained about late deliveries and {dear} about prices.",
                "Late deliveries annoyed {late} buyers, prices {dear}; {asked} took part in the poll.",
            ),
            (
                "In total {both} buyers complained, {late} about deliveries and {dear} about prices.",
                "Late deliveries were the complaint of {late_share} of the {asked} buyers: {late} named them.",
            ),
        ),
        "market": Fact(
            (
                "By the {quarter} the brand stood on {share} of all pumps that dealers sold in Europe.",
                "Dealers in Europe report that {share} of the pumps sold in the {quarter} carried the brand.",
            ),
            (
                "In {other_quarter} the brand had {share} of the European pump market.",
                "Every dealer in Europe knows the brand: {round_share} of pumps sold in {other_quarter} carried it.",
            ),
        ),
        "price": Fact(
            (
                "Its smallest pump lists at {price}, weighs {weight} and lifts water over {height}.",
                "For {price} dealers sell the smallest pump, which at {weight} lifts water {height} high.",
            ),
            (
                "The smallest pump costs {price} and weighs {weight}.",
                "At {weight}, the smallest pump lifts water {height} and sells for {price}.",
            ),
        ),
    },
    distractors=(
        "A rival with {d1} employees reported sales of {d2}.",
        "The association met on {d3} and counted {d4} members.",
        "Energy prices rose {d5} in the region, while freight became {d6} dearer.",
        "The town hall was built in {d7} and seats {d8} guests.",
        "Shares of the sector changed by {d5} on {d3}.",
    ),
    quotations=(
        "We would rather ship a week late than ship something that leaks",
        "Nobody in this valley believed that a pump could be made without a single screw",
        "The hardest part was never the steel but the people who had to trust it",
        "Our customers forgive a high price long before they forgive a second repair",
    ),
    said=("{person} told the magazine: “{quote}.”", "“{quote},” {person} said in the interview."),
    headings=("Business", "People and plants", "Market", "Outlook"),
    table=("Year", "Turnover ($m)", "Source", "Total"),
    listed="Turnover over the years: {list}.",
    sources="Sources",
)
_DE = Texts(
    facts={
        "revenue": Fact(
            (
                "Der Umsatz von {company} belief sich im Geschäftsjahr {year} auf {money}, nach {money0} im Jahr zuvor.",
                "Im Jahr {year} nahm die Gruppe {money} ein; zwölf Monate früher lag der Umsatz bei {money0}.",
            ),
            (
                "{company} kam {year} auf einen Umsatz von {money}, ein Wachstum von {growth}.",
                "Der Umsatz erreichte {year} rund {round_money} und stieg um {growth} gegenüber {money0} in der Vorperiode.",
            ),
        ),
        "staff": Fact(
            (
                "Auf der Lohnliste stehen {staff} Menschen, {research} davon entwickeln neue Produkte.",
                "Die Belegschaft zählt {staff} Köpfe; in den Labors arbeiten {research} von ihnen.",
            ),
            (
                "Die Belegschaft umfasst {staff} Menschen, {research_share} davon entwickeln Produkte.",
                "Etwa {round_staff} Menschen arbeiten für {company}, {research} von ihnen in Labors für neue Produkte.",
            ),
        ),
        "plant": Fact(
            (
                "Die Produktion in {place} begann am {date}; das Werk kostete {cost} und benötigt {power} Strom.",
                "Nach zwei Jahren Bauzeit für {cost} ging das Werk in {place} am {date} mit einem Anschluss von {power} in "
                "Betrieb.",
            ),
            (
                "Das Werk in {place} produziert seit dem {date}. Der Bau kostete {cost}, der Anschluss liefert {other_power}.",
                "Seit dem {date} läuft in {place} ein Werk, das {cost} kostete; sein Strom: {other_power}.",
            ),
        ),
        "survey": Fact(
            (
                "Von den {asked} Käufern, die antworteten, beklagten {late} späte Lieferungen und {dear} die Preise.",
                "Späte Lieferungen ärgerten {late} Käufer, die Preise {dear}; an der Umfrage nahmen {asked} teil.",
            ),
            (
                "Insgesamt klagten {both} Käufer, {late} über Lieferungen und {dear} über Preise.",
                "Späte Lieferungen nannten {late_share} der {asked} Käufer, nämlich {late}.",
            ),
        ),
        "market": Fact(
            (
                "Im {quarter} trugen {share} aller Pumpen, die Händler in Europa verkauften, den Namen der Marke.",
                "Händler in Europa melden, dass {share} der im {quarter} verkauften Pumpen von der Marke stammten.",
            ),
            (
                "In {other_quarter} hatte die Marke {share} des europäischen Marktes für Pumpen.",
                "Jeder Händler in Europa kennt die Marke: {round_share} der Pumpen stammten in {other_quarter} von ihr.",
            ),
        ),
        "price": Fact(
            (
                "Die kleinste Pumpe steht mit {price} in der Liste, wiegt {weight} und hebt Wasser {height} hoch.",
                "Für {price} verkaufen Händler die kleinste Pumpe, die bei {weight} das Wasser {height} hoch hebt.",
            ),
            (
                "Die kleinste Pumpe kostet {price} und wiegt {weight}.",
                "Mit {weight} hebt die kleinste Pumpe Wasser {height} hoch; verkauft wird sie für {price}.",
            ),
        ),
    },
    distractors=(
        "Ein Rivale mit {d1} Beschäftigten meldete Erlöse von {d2}.",
        "Der Verband tagte am {d3} und zählte {d4} Mitglieder.",
        "Energie wurde in der Region um {d5} teurer, Fracht um {d6}.",
        "Das Rathaus wurde {d7} gebaut und fasst {d8} Gäste.",
        "Die Aktien der Branche bewegten sich am {d3} um {d5}.",
    ),
    quotations=(
        "Wir liefern lieber eine Woche zu spät als etwas, das tropft",
        "Niemand in diesem Tal glaubte an eine Pumpe ohne eine einzige Schraube",
        "Das Schwierigste war nie der Stahl, sondern die Menschen, die ihm vertrauen mussten",
        "Unsere Kunden verzeihen einen hohen Preis lange vor einer zweiten Reparatur",
    ),
    said=("{person} sagte dem Magazin: „{quote}.“", "„{quote}“, sagte {person} im Gespräch."),
    headings=("Geschäft", "Menschen und Werke", "Markt", "Ausblick"),
    table=("Jahr", "Umsatz (Mio. €)", "Quelle", "Summe"),
    listed="Der Umsatz über die Jahre: {list}.",
    sources="Quellen",
)
_FR = Texts(
    facts={
        "revenue": Fact(
            (
                "Le chiffre d'affaires de {company} s'est établi à {money} pour l'exercice {year}, après {money0} "
                "l'exercice précédent.",
                "En {year}, le groupe a encaissé {money} ; douze mois plus tôt, ses ventes atteignaient {money0}.",
            ),
            (
                "{company} a réalisé en {year} un chiffre d'affaires et des ventes de {money}, soit une hausse de {growth}.",
                "Les ventes du groupe ont atteint environ {round_money} en {year}, en hausse de {growth} par rapport aux "
                "{money0} de l'exercice précédent.",
            ),
        ),
        "staff": Fact(
            (
                "L'entreprise emploie {staff} personnes, dont {research} conçoivent de nouveaux produits.",
                "L'effectif compte {staff} personnes ; les laboratoires en occupent {research}.",
            ),
            (
                "L'effectif est de {staff} personnes, et {research_share} des personnes conçoivent des produits.",
                "Environ {round_staff} personnes travaillent pour {company}, {research} dans les laboratoires de produits.",
            ),
        ),
        "plant": Fact(
            (
                "La production à {place} a débuté le {date} ; l'usine a coûté {cost} et consomme {power} d'électricité.",
                "Après deux ans de travaux pour {cost}, l'usine de {place} est entrée en service le {date} avec un "
                "raccordement de {power}.",
            ),
            (
                "L'usine de {place} produit depuis le {date}. Sa construction a coûté {cost} et elle consomme {other_power}.",
                "Depuis le {date}, une usine qui a coûté {cost} tourne à {place} ; son raccordement : {other_power}.",
            ),
        ),
        "survey": Fact(
            (
                "Sur les {asked} acheteurs qui ont répondu, {late} déplorent des livraisons tardives et {dear} les prix.",
                "Les livraisons tardives agacent {late} acheteurs, les prix {dear} ; {asked} ont répondu au sondage.",
            ),
            (
                "Au total, {both} acheteurs se plaignent, {late} des livraisons et {dear} des prix.",
                "Les livraisons tardives sont citées par {late_share} des {asked} acheteurs, soit {late}.",
            ),
        ),
        "market": Fact(
            (
                "Au {quarter}, {share} des pompes vendues en Europe par les détaillants portaient la marque.",
                "Les détaillants européens indiquent que {share} des pompes vendues au {quarter} étaient de la marque.",
            ),
            (
                "Au {other_quarter}, la marque détenait {share} du marché européen des pompes.",
                "Tous les détaillants connaissent la marque : {round_share} des pompes vendues au {other_quarter}.",
            ),
        ),
        "price": Fact(
            (
                "La plus petite pompe est affichée à {price}, pèse {weight} et élève l'eau de {height}.",
                "Pour {price}, les détaillants vendent la plus petite pompe, qui élève l'eau de {height} et pèse {weight}.",
            ),
            (
                "La plus petite pompe coûte {price} et pèse {weight}.",
                "Avec {weight}, la plus petite pompe élève l'eau de {height} et se vend {price}.",
            ),
        ),
    },
    distractors=(
        "Un rival de {d1} salariés annonce des recettes de {d2}.",
        "La fédération s'est réunie le {d3} et compte {d4} membres.",
        "L'énergie a augmenté de {d5} dans la région, le fret de {d6}.",
        "La mairie, bâtie en {d7}, peut accueillir {d8} invités.",
        "Les titres du secteur ont varié de {d5} le {d3}.",
    ),
    quotations=(
        "Nous préférons livrer une semaine trop tard plutôt que livrer quelque chose qui fuit",
        "Personne dans cette vallée ne croyait à une pompe sans la moindre vis",
        "Le plus difficile n'a jamais été l'acier mais les gens qui devaient lui faire confiance",
        "Nos clients pardonnent un prix élevé bien avant de pardonner une deuxième réparation",
    ),
    said=("{person} a déclaré au magazine : « {quote}. »", "« {quote} », a dit {person} dans l'entretien."),
    headings=("Activité", "Personnel et usines", "Marché", "Perspectives"),
    table=("Année", "Ventes (M€)", "Source", "Total"),
    listed="Les ventes au fil des ans : {list}.",
    sources="Sources",
)
_ES = Texts(
    facts={
        "revenue": Fact(
            (
                "La facturación de {company} ascendió a {money} en el ejercicio {year}, tras {money0} en el anterior.",
                "En {year} el grupo ingresó {money}; doce meses antes su facturación había sido de {money0}.",
            ),
            (
                "{company} alcanzó en {year} una facturación de {money}, un crecimiento del {growth}.",
                "La facturación llegó a unos {round_money} en {year}, y creció un {growth} frente a los {money0} del periodo "
                "previo.",
            ),
        ),
        "staff": Fact(
            (
                "En nómina figuran {staff} personas, de las que {research} desarrollan nuevos productos.",
                "La plantilla suma {staff} personas; los laboratorios ocupan a {research} de ellas.",
            ),
            (
                "La plantilla es de {staff} personas, y el {research_share} de ellas desarrolla productos.",
                "Unas {round_staff} personas trabajan para {company}, {research} de ellas en laboratorios de productos.",
            ),
        ),
        "plant": Fact(
            (
                "La producción en {place} comenzó el {date}; la planta costó {cost} y consume {power} de electricidad.",
                "Tras dos años de obras por {cost}, la planta de {place} entró en servicio el {date} con una conexión de "
                "{power}.",
            ),
            (
                "La planta de {place} produce desde el {date}. Su construcción costó {cost} y consume {other_power}.",
                "Desde el {date} funciona en {place} una planta que costó {cost}; su conexión es de {other_power}.",
            ),
        ),
        "survey": Fact(
            (
                "De los {asked} compradores que respondieron, {late} se quejaron de entregas tardías y {dear} de los "
                "precios.",
                "Las entregas tardías molestaron a {late} compradores, los precios a {dear}; {asked} respondieron.",
            ),
            (
                "En total se quejaron {both} compradores, {late} de las entregas y {dear} de los precios.",
                "Las entregas tardías fueron la queja del {late_share} de los {asked} compradores, es decir, {late}.",
            ),
        ),
        "market": Fact(
            (
                "En el {quarter}, el {share} de las bombas vendidas en Europa por distribuidores llevaba la marca.",
                "Los distribuidores europeos informan de que el {share} de las bombas vendidas en el {quarter} eran de la "
                "marca.",
            ),
            (
                "En el {other_quarter} la marca tenía el {share} del mercado europeo de bombas.",
                "Todo distribuidor conoce la marca: el {round_share} de las bombas vendidas en el {other_quarter}.",
            ),
        ),
        "price": Fact(
            (
                "La bomba más pequeña figura a {price}, pesa {weight} y eleva el agua {height}.",
                "Por {price} los distribuidores venden la bomba más pequeña, que eleva el agua {height} y pesa {weight}.",
            ),
            (
                "La bomba más pequeña cuesta {price} y pesa {weight}.",
                "Con {weight}, la bomba más pequeña eleva el agua {height} y se vende por {price}.",
            ),
        ),
    },
    distractors=(
        "Un rival con {d1} empleados declaró ingresos de {d2}.",
        "La asociación se reunió el {d3} y contó {d4} socios.",
        "La energía subió un {d5} en la región, y el transporte un {d6}.",
        "El ayuntamiento se construyó en {d7} y acoge a {d8} invitados.",
        "Las acciones del sector variaron un {d5} el {d3}.",
    ),
    quotations=(
        "Preferimos entregar una semana tarde antes que entregar algo que gotea",
        "Nadie en este valle creía en una bomba sin un solo tornillo",
        "Lo más difícil nunca fue el acero sino la gente que debía confiar en él",
        "Nuestros clientes perdonan un precio alto mucho antes que una segunda reparación",
    ),
    said=("{person} dijo a la revista: «{quote}.»", "«{quote}», dijo {person} en la entrevista."),
    headings=("Negocio", "Personas y plantas", "Mercado", "Perspectivas"),
    table=("Año", "Facturación (M€)", "Fuente", "Total"),
    listed="La facturación a lo largo de los años: {list}.",
    sources="Fuentes",
)
TEXTS: Mapping[str, Texts] = {"en": _EN, "de": _DE, "fr": _FR, "es": _ES}
