"""Companies, what is written of them, and what a person would type to find it again.

The words of the texts and the words of the questions are written apart: a question has another form of a word, a word
that means the same, or one that only the search had that found the page.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.bench.knowledge.prose import invent_word

__all__ = ["ATTRIBUTES", "FIELDS", "Attribute", "Company", "Fact", "Field", "invent_company"]


@dataclass(frozen=True)
class Field:
    """What a session is about: the words of the person who searches, and those of the articles that are found."""

    name: str
    searched: tuple[str, ...]
    written: tuple[str, ...]


@dataclass(frozen=True)
class Attribute:
    """What can be known of a company.

    Attributes:
        texts: sentences with the name of the company and a figure.
        words: words of all of these sentences.
        forms: words of the sentences in another form, regular or not.
        meanings: words that mean the same and are in none of the sentences.
        asked: questions as people type them, for a name in the place of {}.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...]
    forms: tuple[str, ...]
    meanings: tuple[str, ...]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class Company:
    """A company with a name of two words, and the person who leads it."""

    name: str
    head: str

    @property
    def short(self) -> str:
        """The name as people write it when they have named it once."""
        return self.name.split()[0]


@dataclass(frozen=True)
class Fact:
    """A sentence on a company, and the figure in it."""

    company: Company
    attribute: Attribute
    sentence: str
    figure: str


def invent_company(draw: random.Random, field: Field, name: str) -> Company:
    """A company of the field whose name begins with this word."""
    return Company(
        f"{name} {draw.choice(field.written).capitalize()}",
        f"{invent_word(draw, (2, 2)).capitalize()} {invent_word(draw, (2, 3)).capitalize()}",
    )


FIELDS = (
    Field(
        "AI chips", ("semiconductor", "inference hardware"), ("accelerator", "wafer", "compute", "silicon")
    ),
    Field("batteries", ("energy storage", "electric cars"), ("cell", "cathode", "lithium", "pack")),
    Field("olive oil", ("food", "mediterranean farming"), ("harvest", "grove", "mill", "bottle")),
    Field("sea freight", ("container shipping", "logistics"), ("vessel", "harbour", "cargo", "lane")),
    Field("night trains", ("rail travel", "tourism"), ("sleeper", "carriage", "berth", "route")),
    Field("copper", ("metals", "commodities"), ("mine", "smelter", "ore", "concentrate")),
    Field("gene therapy", ("biotech", "rare diseases"), ("vector", "trial", "dose", "patient")),
    Field("offshore wind", ("renewables", "clean power"), ("turbine", "blade", "tender", "foundation")),
    Field("quantum computing", ("physics startups", "qubits"), ("trap", "gate", "fidelity", "cryostat")),
    Field("coffee", ("beverages", "crops"), ("roaster", "bean", "plantation", "arabica")),
    Field("satellites", ("space industry", "orbit"), ("launcher", "constellation", "antenna", "payload")),
    Field("heat pumps", ("home heating", "efficiency"), ("compressor", "refrigerant", "radiator", "boiler")),
    Field("banking software", ("fintech", "payments"), ("ledger", "terminal", "transfer", "issuer")),
    Field("cheese", ("dairy", "protected names"), ("milk", "rind", "cellar", "creamery")),
    Field("vaccines", ("immunology", "public health"), ("adjuvant", "booster", "strain", "syringe")),
    Field("steel", ("heavy industry", "decarbonisation"), ("furnace", "slab", "scrap", "hydrogen")),
    Field("games", ("video games", "entertainment"), ("studio", "engine", "console", "sequel")),
    Field("robots", ("automation", "warehouses"), ("gripper", "arm", "conveyor", "actuator")),
    Field("desalination", ("drinking water", "drought"), ("membrane", "brine", "intake", "reservoir")),
    Field("bicycles", ("micromobility", "commuting"), ("frame", "hub", "motor", "saddle")),
)

ATTRIBUTES = (
    Attribute(
        ("{name} will charge {n} dollars for a unit, a third less than before.",
         "Buyers were charged {n} dollars for each unit that {name} delivered."),
        ("dollars", "unit", "dollars unit"), ("charging", "charges units", "charge per units"),
        ("price", "cost", "pricing"), ("how much does {} cost", "what does {} charge", "{} price per unit"),
    ),
    Attribute(
        ("{name} raised {n} million euros from investors who already held shares.",
         "Investors gave {name} {n} million euros in a round that was raised within a week."),
        ("million euros", "investors", "raised investors"), ("raising", "investor", "raises euro"),
        ("funding", "capital", "financing"), ("who invested in {}", "{} funding round", "how much did {} raise"),
    ),
    Attribute(
        ("{name} employs {n} people after the dismissals of the spring.",
         "The dismissals leave {name} with {n} people, and it employs fewer in its head office."),
        ("employs people", "dismissals", "employs"), ("employing", "employees", "dismissed"),
        ("layoffs", "staff", "headcount"), ("how many employees has {}", "{} layoffs", "does {} employ many people"),
    ),
    Attribute(
        ("{name} builds a factory that will make {n} thousand pieces a year.",
         "The factory that {name} builds is planned for {n} thousand pieces a year."),
        ("factory", "factory pieces", "builds factory"), ("built factories", "building", "factories"),
        ("plant", "capacity", "manufacturing"), ("where is the {} factory", "{} production capacity", "{} new plant"),
    ),
    Attribute(
        ("A court fined {name} {n} million for what its contracts concealed.",
         "{name} appeals against the court, which fined it {n} million for concealed clauses."),
        ("court", "fined", "court fined"), ("fine", "fines courts", "concealing"),
        ("lawsuit", "penalty", "verdict"), ("why was {} fined", "{} lawsuit", "what did the court decide {}"),
    ),
    Attribute(
        ("{name} recalls {n} thousand units because a seal can break.",
         "A broken seal led {name} to the decision that it recalls {n} thousand units."),
        ("recalls", "seal", "recalls seal"), ("recalled", "recalling units", "recall seals"),
        ("defect", "safety problem", "fault"), ("why did {} recall units", "{} recall", "{} defect seal"),
    ),
    Attribute(
        ("{name} and a rival merge, and together they will hold {n} percent of the market.",
         "The rivals merge: {name} brings {n} percent of the market into the new company."),
        ("merge", "market rival", "merge percent"), ("merging", "merged rivals", "merges"),
        ("merger", "takeover", "acquisition"), ("who merges with {}", "{} merger", "{} market share percent"),
    ),
    Attribute(
        ("{name} delays its next model by {n} weeks, since the tests failed twice.",
         "The tests failed twice, so that {name} delays the model by {n} weeks."),
        ("delays model", "tests failed", "delays weeks"), ("delayed", "delaying models", "failing test"),
        ("postponed", "late", "behind schedule"), ("why is {} late", "{} delay weeks", "when will {} ship"),
    ),
    Attribute(
        ("An independent laboratory measured {n} percent less waste at {name}.",
         "At {name} the waste is {n} percent lower, as an independent laboratory measured."),
        ("laboratory waste", "measured waste", "independent laboratory"),
        ("measuring", "laboratories measure", "measurement"),
        ("study", "audit", "emissions"), ("who measured the {} waste", "{} waste study", "{} laboratory results"),
    ),
    Attribute(
        ("{name} grew by {n} percent in the quarter and expects the same for the next.",
         "In the quarter {name} grew by {n} percent, which analysts had not expected."),
        ("grew quarter", "grew percent", "expects quarter"), ("growing", "grow quarterly", "expected"),
        ("sales growth", "revenue", "earnings"), ("how fast did {} grow", "{} quarter results", "{} growth"),
    ),
    Attribute(
        ("{name} opens {n} branches in the north, where it had none.",
         "Where it had none, {name} opens {n} branches: the north is next."),
        ("branches", "opens branches", "branches north"), ("opening", "branch", "opened branch"),
        ("expansion", "locations", "outlets"), ("where does {} open branches", "{} expansion north", "{} branches"),
    ),
    Attribute(
        ("A patent of {name} on a cooling method was upheld after {n} months.",
         "After {n} months the office upheld the patent that {name} has on a cooling method."),
        ("patent", "patent cooling", "upheld patent"), ("patents", "patented", "cool method"),
        ("intellectual property", "invention", "licence"), ("what patent has {}", "{} patent cooling", "{} invention"),
    ),
)  # fmt: skip
