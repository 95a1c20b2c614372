from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.concurrency.cancellation import Stop, Stopped
from core.evidence.records import Claim, Disagreement, Source, SourceKind
from observers.evidence.disagreements import find_disagreements
from observers.evidence.figure_claims import check_figures
from observers.evidence.report import Block, Link, Report, Sentence
from observers.evidence.sources import SourceText
from tests.observers.evidence.quoting.reports import Known


def source(
    number: int,
    text: str,
    *,
    site: str = "",
    kind: SourceKind = "article",
    title: str = "",
    published: str = "",
) -> SourceText:
    url = f"https://{site or f'site{number}.example'}/page{number}"
    return SourceText(number, Source(kind=kind, url=url, title=title, published=published), text)


def report(*sentences: str, title: str = "") -> Report:
    """A report of paragraphs; each cites the first source."""
    blocks = []
    for sentence in sentences:
        mark = Link(len(sentence), len(sentence) + 3, "https://site0.example/page0")
        text = f"{sentence}[1]"
        blocks.append(Block(kind="paragraph", text=text, offsets=array("L", range(len(text))), links=(mark,)))
    return Report(
        source="\n".join(block.text for block in blocks),
        title=title,
        blocks=blocks,
        sentences=[
            Sentence(number, block, 0, len(block.text), (block.links[0].url,))
            for number, block in enumerate(blocks)
        ],
    )


def claims_of(the_report: Report, sources: Known) -> list[Claim]:
    claims = check_figures(the_report, sources)
    return [
        Claim(
            **{name: getattr(claim, name) for name in claim.__struct_fields__ if name != "id"}
            | {"id": number}
        )
        for number, claim in enumerate(claims, 1)
    ]


def find(said: str | Report, *texts: str | SourceText) -> list[Disagreement]:
    """Compare a report, whose figures are from the first of the sources."""
    the_report = report(said) if isinstance(said, str) else said
    sources = Known(
        [text if isinstance(text, SourceText) else source(number, text) for number, text in enumerate(texts)]
    )
    return list(find_disagreements(claims_of(the_report, sources), the_report, sources))


REVENUE = "Nvidia's revenue reached $57.0 billion in the third quarter of 2025."

Case = tuple[str, str | SourceText, str | SourceText]

FOUND: dict[str, Case] = {
    "money": (
        REVENUE,
        "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "In the third quarter of 2025, revenue at Nvidia was $54.1 billion.",
    ),
    "share of a market": (
        "TSMC held 71 percent of the foundry market in 2025.",
        "TSMC had a foundry market share of 71 percent in 2025, up from 65 percent a year earlier.",
        "In 2025 TSMC's foundry market share was 66 percent.",
    ),
    "who says it differs": (
        "According to IDC, smartphone shipments in India rose 4 percent in 2025.",
        "Smartphone shipments in India rose 4 percent in 2025, according to IDC.",
        "According to Counterpoint, smartphone shipments in India rose 9 percent in 2025.",
    ),
    "after a change": (
        "Unemployment in Spain fell to 10.4 percent in 2025.",
        "Unemployment in Spain fell from 11.2 to 10.4 percent in 2025.",
        "Unemployment in Spain fell to 9.8 percent in 2025.",
    ),
    "count": (
        "Boeing delivered 348 aircraft in 2024.",
        "Boeing delivered 348 aircraft in 2024, its lowest number since the pandemic.",
        "Boeing delivered 393 aircraft in 2024.",
    ),
    "scales": (
        "Ethiopia has a population of 130 million people.",
        "Ethiopia has a population of 130 million people.",
        "The population of Ethiopia is 115,000,000 people.",
    ),
    "measure": (
        "The Colossus cluster in Memphis draws 300 MW of power.",
        "The Colossus cluster in Memphis draws 300 MW of power.",
        "The Colossus cluster in Memphis draws 150 MW of power.",
    ),
    "subject in the title": (
        "Tesla's deliveries reached 497,000 vehicles in the third quarter of 2025.",
        "Tesla said deliveries were 497,000 vehicles in the third quarter of 2025.",
        source(
            1,
            "Deliveries came to 462,000 vehicles in the third quarter of 2025.",
            title="Tesla results for the third quarter",
        ),
    ),
    "search row": (
        REVENUE,
        "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        source(1, "Nvidia revenue for the third quarter of 2025 was $49 billion.", kind="search_row"),
    ),
    "no dates, published at the same time": (
        "Acme employs 12,400 people at its plant in Dresden.",
        source(0, "Acme employs 12,400 people at its plant in Dresden.", published="2025-11-03"),
        source(1, "Acme employs 9,100 people at its plant in Dresden.", published="2025-11-20"),
    ),
    "ranges that do not meet": (
        "Analysts expect Hynix to raise DRAM prices by 15 to 20 percent in 2026.",
        "Hynix is expected to raise DRAM prices by 15 to 20 percent in 2026.",
        "Hynix is expected to raise DRAM prices by 30 to 40 percent in 2026.",
    ),
    "bound that is not met": (
        "More than 40 million people in Sudan lack clean water.",
        "More than 40 million people in Sudan lack clean water.",
        "Some 25 million people in Sudan lack clean water.",
    ),
    "German": (
        "Siemens erzielte im Jahr 2025 einen Umsatz von 78,9 Milliarden Euro.",
        "Siemens hat im Jahr 2025 einen Umsatz von 78,9 Milliarden Euro erzielt.",
        "Der Umsatz von Siemens lag 2025 bei 74,1 Milliarden Euro.",
    ),
    "German share": (
        "Der Anteil erneuerbarer Energien am Stromverbrauch in Deutschland stieg 2024 auf 54,4 Prozent.",
        "Der Anteil erneuerbarer Energien am Stromverbrauch in Deutschland stieg 2024 auf 54,4 Prozent.",
        "2024 lag der Anteil erneuerbarer Energien am Stromverbrauch in Deutschland bei 52,1 Prozent.",
    ),
    "French": (
        "Le chiffre d'affaires de Renault a atteint 56,2 milliards d'euros en 2024.",
        "En 2024, le chiffre d'affaires de Renault a atteint 56,2 milliards d'euros.",
        "Le chiffre d'affaires de Renault s'élève à 52,4 milliards d'euros en 2024.",
    ),
    "French count": (
        "La population de Marseille compte 886 000 habitants en 2023.",
        "La population de Marseille compte 886 000 habitants en 2023.",
        "En 2023, la population de Marseille compte 862 000 habitants.",
    ),
    "Spanish": (
        "La inflación en Argentina fue del 31,5 por ciento en 2025.",
        "La inflación en Argentina alcanzó el 31,5 por ciento en 2025.",
        "La inflación en Argentina fue del 28,2 por ciento en 2025.",
    ),
    "Spanish count": (
        "España recibió 93,8 millones de turistas en 2024.",
        "España recibió 93,8 millones de turistas en 2024.",
        "En 2024 España recibió 89,1 millones de turistas.",
    ),
    "report in another language": (
        "Nvidia erzielte im dritten Quartal 2025 einen Umsatz von 57,0 Milliarden Dollar, wie die Firma und die Bank "
        "mit Blick auf das Jahr sagten.",
        "Nvidia reported revenue of $57.0 billion for the third quarter of 2025. It is the best of the year for the "
        "firm and in line with what was seen by the bank.",
        "In the third quarter of 2025, revenue at Nvidia was $54.1 billion.",
    ),
}

NOT_FOUND: dict[str, Case] = {
    "other year": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $35.1 billion for the third quarter of 2024."),
    "other quarter": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $46.7 billion for the second quarter of 2025."),
    "quarter and year": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $130.5 billion for 2025."),
    "other company": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "AMD reported revenue of $9.2 billion for the third quarter of 2025."),
    "rival of the company": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "AMD, a rival of Nvidia, reported revenue of $9.2 billion for the third quarter of 2025."),
    "profit": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported profit of $31.9 billion for the third quarter of 2025."),
    "revenue and profit in a sentence": (REVENUE,
        "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia grew in the third quarter of 2025 with revenue in all parts and profit of $31.9 billion."),
    "part of the company": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported data center revenue of $51.2 billion for the third quarter of 2025."),
    "part named before": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "In China, Nvidia reported revenue of $3.0 billion for the third quarter of 2025."),
    "currency": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of €49.5 billion for the third quarter of 2025."),
    "forecast": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia expects revenue of $54.0 billion for the third quarter of 2025."),
    "analysts' forecast": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Analysts predicted that Nvidia would report revenue of $55.0 billion for the third quarter of 2025."),
    "rounded": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $57 billion for the third quarter of 2025."),
    "exact": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $57,006 million for the third quarter of 2025."),
    "hardly another": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $57.3 billion for the third quarter of 2025."),
    "also the same value": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $54.0 billion for the third quarter of 2025.\n\nCorrection: Nvidia's revenue was "
        "$57.0 billion."),
    "share of revenue": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia's revenue rose 62 percent in the third quarter of 2025."),
    "a run": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        source(1, "Nvidia reported revenue of $49 billion for the third quarter of 2025.", kind="run")),
    "a query": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        source(1, "Nvidia reported revenue of $49 billion for the third quarter of 2025.", kind="query")),
    "the same site": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        source(1, "Nvidia reported revenue of $49 billion for the third quarter of 2025.", site="www.site0.example")),
    "untraced": ("Nvidia's revenue reached $61.0 billion in the third quarter of 2025.",
        "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $54.1 billion for the third quarter of 2025."),
    "nine months": (REVENUE, "Nvidia reported revenue of $57.0 billion for the third quarter of 2025.",
        "Nvidia reported revenue of $147.8 billion for the nine months to the third quarter of 2025."),
    "fiscal year": ("Acme's revenue was $4 billion in 2025.", "Acme's revenue was $4 billion in 2025.",
        "Acme's revenue was $3 billion in fiscal 2025."),
    "before and after": ("Unemployment in Spain fell to 10.4 percent in 2025.",
        "Unemployment in Spain fell to 10.4 percent in 2025.",
        "Unemployment in Spain fell from 11.2 percent in 2025."),
    "before and after in a range": ("Unemployment in Spain fell to 5 percent in 2025.",
        "Unemployment in Spain fell to 5 percent in 2025.",
        "Unemployment in Spain fell from 7 to 5 percent in 2025."),
    "compared with": ("Unemployment in Spain was 10.4 percent in 2025.",
        "Unemployment in Spain was 10.4 percent in 2025.",
        "Unemployment in Spain in 2025 is lower compared with 11.2 percent."),
    "change and level": ("Inflation in Turkey fell to 33 percent in 2025.",
        "Inflation in Turkey fell to 33 percent in 2025.",
        "Inflation in Turkey fell 11 percent in 2025."),
    "up and down": ("Sales of Volvo trucks rose 7 percent in 2025.", "Sales of Volvo trucks rose 7 percent in 2025.",
        "Sales of Volvo trucks fell 5 percent in 2025 after subsidies."),
    "by a range": ("DRAM prices at Hynix rose 17 percent in 2025.", "DRAM prices at Hynix rose 17 percent in 2025.",
        "DRAM prices at Hynix rose 15 to 20 percent in 2025."),
    "more than": ("More than 40 million people in Sudan lack clean water.",
        "More than 40 million people in Sudan lack clean water.",
        "Some 45 million people in Sudan lack clean water."),
    "up to": ("The Colossus cluster in Memphis draws up to 300 MW of power.",
        "The Colossus cluster in Memphis draws up to 300 MW of power.",
        "The Colossus cluster in Memphis draws 250 MW of power."),
    "about": ("Ethiopia has a population of 130 million people.", "Ethiopia has a population of 130 million people.",
        "Ethiopia has a population of about 126 million people."),
    "unit of the family": ("The tunnel under the Fehmarn Belt is 18 km long.",
        "The tunnel under the Fehmarn Belt is 18 km long.",
        "The tunnel under the Fehmarn Belt is 11.2 miles long."),
    "list of countries": ("Acme runs 15 plants in Italy.",
        "Acme runs 12 plants in Spain, 15 plants in Italy and 9 plants in France.",
        "Acme runs 12 plants in Spain, 15 plants in Italy and 9 plants in France."),
    "list of other values": ("Acme runs 15 plants in Italy.", "Acme runs 15 plants in Italy.",
        "Acme runs 12 plants in Spain, 9 plants in France and some plants in Italy."),
    "table": ("Acme's revenue in Italy was $15 million.", "Acme's revenue in Italy was $15 million.",
        "| country | Acme revenue |\n|---|---|\n| Italy | $12 million |\n| Acme revenue in Italy | $11 million |"),
    "rank": ("Acme ranked number 5 among makers of ships in Korea.",
        "Acme ranked number 5 among makers of ships in Korea.",
        "Acme ranked number 7 among makers of ships in Korea."),
    "version": ("Acme Studio needs Python version 3.11 in Berlin.", "Acme Studio needs Python version 3.11 in Berlin.",
        "Acme Studio needs Python version 3.9 in Berlin."),
    "date": ("The Hoover Dam opened on 30 September 1935.", "The Hoover Dam opened on 30 September 1935.",
        "The Hoover Dam opened on 11 October 1936."),
    "model": ("Acme's H100 chips cost $30,000 in Taiwan.", "Acme's H100 chips cost $30,000 in Taiwan.",
        "Acme's H200 chips cost $40,000 in Taiwan."),
    "counted thing": ("Acme has 500 employees in Dresden and stores nearby.",
        "Acme has 500 employees in Dresden and stores nearby.",
        "Acme has 300 stores and employees in Dresden nearby."),
    "ago": ("Acme moved its plant to Dresden 3 years ago.", "Acme moved its plant to Dresden 3 years ago.",
        "Acme moved its plant to Dresden 5 years ago."),
    "per month": ("Acme makes 30,000 wafers per month in Dresden.", "Acme makes 30,000 wafers per month in Dresden.",
        "Acme makes 100,000 wafers per quarter in Dresden."),
    "average": ("The price of a Volvo truck in Norway was $90,000.",
        "The price of a Volvo truck in Norway was $90,000.",
        "The average price of a Volvo truck in Norway was $80,000."),
    "not": ("Two thirds, or 66 percent, of Acme's customers in Oslo pay by card.",
        "Two thirds, or 66 percent, of Acme's customers in Oslo pay by card.",
        "Some 20 percent of Acme's customers in Oslo do not pay by card."),
    "years between publication": ("Acme employs 12,400 people at its plant in Dresden.",
        source(0, "Acme employs 12,400 people at its plant in Dresden.", published="2025-11-03"),
        source(1, "Acme employs 9,100 people at its plant in Dresden.", published="2022-01-20")),
    "subject of another page": ("Tesla's deliveries reached 497,000 vehicles in the third quarter of 2025.",
        "Tesla said deliveries were 497,000 vehicles in the third quarter of 2025.",
        source(1, "Deliveries came to 462,000 vehicles in the third quarter of 2025.", title="BYD results")),
    "house number": ("Acme has its office at 430 Allegan Street in Lansing.",
        "Acme has its office at 430 Allegan Street in Lansing.",
        "Acme has its office at 123 Allegan Street in Lansing."),
    "time": ("The Acme story from Delhi was published at 10.54 IST by the paper.",
        "The Acme story from Delhi was published at 10.54 IST by the paper.",
        "The Acme story from Delhi was published at 02.35 IST by the paper."),
    "counter of a page": ("Discuss the Garo series in the forum (17 posts).",
        "Discuss the Garo series in the forum (17 posts).",
        "Discuss the Garo series in the forum (6 posts)."),
    "teams in the title": (
        "The Kings attempted 87 shots (45 on goal, 22 blocked).",
        source(0, "The Kings attempted 87 shots (45 on goal, 22 blocked).", title="Kings and Flames in numbers"),
        source(1, "The Flames attempted 42 shots (18 on goal, 17 blocked).", title="Kings and Flames in numbers")),
    "only the name in common": ("Acme beat the index of the exchange in Oslo by 20 percent.",
        "Acme beat the index of the exchange in Oslo by 20 percent.",
        "The good results of Acme went on in a year of many changes to its board, 6 percent above the index in Oslo."),
    "German profit": ("Siemens erzielte im Jahr 2025 einen Umsatz von 78,9 Milliarden Euro.",
        "Siemens hat im Jahr 2025 einen Umsatz von 78,9 Milliarden Euro erzielt.",
        "Siemens hat im Jahr 2025 einen Gewinn von 10,4 Milliarden Euro erzielt."),
    "German forecast": ("Siemens erzielte im Jahr 2025 einen Umsatz von 78,9 Milliarden Euro.",
        "Siemens hat im Jahr 2025 einen Umsatz von 78,9 Milliarden Euro erzielt.",
        "Siemens soll im Jahr 2025 einen Umsatz von 80,5 Milliarden Euro erzielen."),
    "German companies": ("Der Umsatz des Unternehmens stieg 2025 auf 5,2 Milliarden Euro.",
        "Der Umsatz des Unternehmens stieg 2025 auf 5,2 Milliarden Euro.",
        "Der Umsatz des Unternehmens stieg 2025 auf 7,9 Milliarden Euro."),
    "French change": ("Le chiffre d'affaires de Renault a atteint 56,2 milliards d'euros en 2024.",
        "En 2024, le chiffre d'affaires de Renault a atteint 56,2 milliards d'euros.",
        "En 2024, le chiffre d'affaires de Renault a augmenté de 3,8 milliards d'euros."),
    "French year": ("La population de Marseille compte 886 000 habitants en 2023.",
        "La population de Marseille compte 886 000 habitants en 2023.",
        "La population de Marseille compte 862 000 habitants en 2015."),
    "Spanish place": ("La inflación en Argentina fue del 31,5 por ciento en 2025.",
        "La inflación en Argentina alcanzó el 31,5 por ciento en 2025.",
        "La inflación en Chile fue del 4,2 por ciento en 2025."),
    "Spanish forecast": ("España recibió 93,8 millones de turistas en 2024.",
        "España recibió 93,8 millones de turistas en 2024.",
        "España prevé que recibirá 98 millones de turistas en 2024."),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_sources_disagree(name: str) -> None:
    said, first, second = FOUND[name]
    found = find(said, first, second)
    assert len(found) == 1, found
    (one,) = found
    assert len(one.values) == len(one.evidence) == 2
    assert [evidence.source for evidence in one.evidence] == [0, 1]
    for value, evidence in zip(one.values, one.evidence, strict=True):
        ((start, end),) = evidence.marks
        assert evidence.passage[start:end] == value
    assert one.claims
    assert "…" in one.subject
    assert "[1]" not in one.subject


@pytest.mark.parametrize("name", NOT_FOUND)
def test_sources_do_not_disagree(name: str) -> None:
    said, first, second = NOT_FOUND[name]
    assert not find(said, first, second)


FIRST = "Nvidia reported revenue of $57.0 billion for the third quarter of 2025."
SECOND = "Nvidia reported revenue of $54.1 billion for the third quarter of 2025."


def test_claims_of_one_subject_are_one_disagreement() -> None:
    the_report = report(REVENUE, "As said, Nvidia had a revenue of $57 billion in the third quarter of 2025.")
    (one,) = find(the_report, FIRST, SECOND)
    assert len(one.claims) == 2


def test_a_report_that_has_both_values_is_one_disagreement() -> None:
    the_report = report(REVENUE)
    mark = Link(0, 1, "https://site1.example/page1")
    block = Block(kind="paragraph", text=SECOND, offsets=array("L", range(len(SECOND))), links=(mark,))
    second = Sentence(1, block, 0, len(SECOND), (mark.url,))
    both = Report(
        source=f"{the_report.source}\n{SECOND}",
        blocks=(*the_report.blocks, block),
        sentences=(*the_report.sentences, second),
    )
    (one,) = find(both, FIRST, SECOND)
    assert one.values == ("$57.0 billion", "$54.1 billion")
    assert len(one.claims) == 2


def test_each_value_is_given_once() -> None:
    texts = [FIRST, SECOND, SECOND, SECOND.replace("54.1", "49.5"), FIRST]
    (one,) = find(REVENUE, *texts)
    assert one.values == ("$57.0 billion", "$54.1 billion", "$49.5 billion")
    assert [evidence.source for evidence in one.evidence] == [0, 1, 3]


def test_the_subject_is_short() -> None:
    said = f"After many months in which hardly anybody in the industry knew what to think, {REVENUE[:-1]} by all means."
    (one,) = find(said, FIRST, SECOND)
    assert "revenue reached … in the third quarter of 2025" in one.subject
    assert len(one.subject) < 110


@pytest.mark.parametrize("texts", [[], [FIRST], [FIRST, ""]])
def test_nothing_to_compare(texts: list[str]) -> None:
    assert not find(REVENUE, *texts)


def test_there_are_at_most_fifty() -> None:
    cities = [f"{first}{second}berg" for first in ("Ar", "Bor", "Car", "Dor", "Er", "Far", "Gor", "Har")
              for second in "abcdefgh"]  # fmt: skip
    lines = [f"Acme employs {1_000 + 37 * at} people in {city} in 2025." for at, city in enumerate(cities)]
    others = [f"Acme employs {5_000 + 37 * at} people in {city} in 2025." for at, city in enumerate(cities)]
    found = find(report(*lines), "\n\n".join(lines), "\n\n".join(others))
    assert 0 < len(found) <= 50


def test_it_stops() -> None:
    the_report = report(REVENUE)
    sources = Known([source(0, FIRST), source(1, SECOND)])
    claims = claims_of(the_report, sources)
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        list(find_disagreements(claims, the_report, sources, stop))


PIECES = (
    *(
        "Nvidia",
        "revenue",
        "$57.0 billion",
        "$54.1 billion",
        "2025",
        "Q3",
        "from",
        "to",
        "rose",
        "5",
        "7 percent",
        "not",
    ),
    *(
        "|",
        "\n\n",
        ". The ",
        ", ",
        "will",
        "a year",
        "“",
        "ago",
        "H100",
        "Umsatz",
        "d'affaires",
        "5–7",
        "%",
        "'",
        "’s",
    ),
)


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join), min_size=2, max_size=4))
def test_whatever_the_sources_are_the_passages_have_the_values(texts: list[str]) -> None:
    for one in find(f"{REVENUE} It rose 7 percent.", *(f"{FIRST} {text}" for text in texts), SECOND):
        assert len(one.values) == len(one.evidence) > 1
        assert len(set(one.values)) == len(one.values)
        for value, evidence in zip(one.values, one.evidence, strict=True):
            ((start, end),) = evidence.marks
            assert evidence.passage[start:end] == value


@pytest.mark.parametrize(
    "noise", ["A" * 300, "A.A " * 100, " " * 300, "\n\t" * 150, "5 " * 150, "according to " * 30]
)
def test_hostile_sources_take_linear_time(noise: str) -> None:
    hostile = " ".join(f"{noise} revenue of Nvidia {number} billion dollars" for number in range(200))
    assert find(REVENUE, FIRST, hostile) == []
