"""Seeds faults in made-up reports, and counts which are found and what is accused falsely."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.evidence.fault_reports import Made, Place, make_report
from tests.bench.table import Row, Section
from ua_tui.core.evidence.records import Claim, Level, ReportCheck, Verdict
from ua_tui.observers.evidence.check import check_report

REPORTS = 50
_PER_REPORT = {"figure": 4, "date": 2, "unit": 1, "link": 1, "attribution": 2}
_WRONG_SOURCE = {Verdict.OTHER_SOURCE, Verdict.MISATTRIBUTED}


@dataclass(frozen=True)
class Seeded:
    """A fault: its kind, the place that is wrong, and what is written there."""

    kind: str
    name: str
    text: str


def seed_faults(made: Made, rng: random.Random) -> Iterator[Seeded]:
    """Draw the faults of a report; each is seeded alone."""
    _, places = made.report({})
    names = [place.name for place in places]
    for kind, count in _PER_REPORT.items():
        if kind in {"figure", "date", "unit"}:
            possible = [name for name in names if kind in _wrong(made, name)]
            for name in rng.sample(possible, min(count, len(possible))):
                yield Seeded(kind, name, _wrong(made, name)[kind](rng))
            continue
        facts = [name.removeprefix("cite ") for name in names if name.startswith("cite ")]
        for fact in rng.sample(facts, count):
            if kind == "link":
                yield Seeded(kind, f"link {fact}", _invented(made, rng))
            else:
                yield Seeded(kind, f"cite {fact}", rng.choice([
                    subject for subject in ("plant", "survey", "market", "rival") if subject != fact
                ]))  # fmt: skip


def _wrong(made: Made, name: str) -> Mapping[str, Callable[[random.Random], str]]:
    """How the value at a place is written wrongly, by the kind of the fault."""
    kind, _, rest = name.partition(" ")
    value = made.values.get(rest.rpartition(" ")[2]) if kind == "value" else None
    return value.wrong if value else {}


def _invented(made: Made, rng: random.Random) -> str:
    """An address that was never read: of another host, or with another path."""
    url = made.url(rng.choice(("plant", "survey", "market")))
    if rng.random() < 0.5:
        return url.replace("/articles/", f"/news/{rng.randint(2019, 2025)}/")
    return url.replace(".example", "-group.example")


def is_found(check: ReportCheck, fault: Seeded, places: Sequence[Place]) -> bool:
    """Whether the check doubts what is wrong."""
    if fault.kind == "link":
        return any(
            claim.kind == "link" and claim.url == fault.text and _is_accused(claim) for claim in check.claims
        )
    place = next(place for place in places if place.name == fault.name)
    inside = [claim for claim in check.claims if claim.start < place.end and place.start < claim.end]
    if fault.kind == "attribution":
        return any(
            _is_accused(claim) or claim.verdict in _WRONG_SOURCE for claim in inside if claim.kind != "link"
        )
    return any(claim.level is not Level.SUPPORTED for claim in inside if claim.kind == "figure")


def _is_accused(claim: Claim) -> bool:
    return claim.level is Level.UNSUPPORTED


def false_accusations(check: ReportCheck, level: Level) -> list[Claim]:
    """The claims of a report without faults that have a level; names are left out, as they are never accused."""
    return [claim for claim in check.claims if claim.level is level and claim.kind != "name"]


def check_made(made: Made, fault: Seeded | None = None) -> tuple[ReportCheck, list[Place]]:
    """Check a report with one fault or none."""
    text, places = made.report({fault.name: fault.text} if fault else {})
    return check_report(text.encode(), made.path, made.sources), places


def measure_faults(_base: Path) -> Section:
    """Seed 500 faults one by one in 50 reports, and check the reports without any."""
    seeded: Counter[str] = Counter()
    found: Counter[str] = Counter()
    claims, accused, doubted = 0, 0, 0
    details = []
    for number in range(REPORTS):
        made = make_report(number)
        rng = random.Random(number)
        check, _ = check_made(made)
        claims += sum(claim.kind != "name" for claim in check.claims)
        for claim in false_accusations(check, Level.UNSUPPORTED):
            accused += 1
            details.append(
                f"accused falsely: {claim.verdict} {claim.text!r} in {claim.sentence!r} ({made.format})"
            )
        doubted += len(false_accusations(check, Level.LOOK))
        for fault in seed_faults(made, rng):
            seeded[fault.kind] += 1
            check, places = check_made(made, fault)
            if is_found(check, fault, places):
                found[fault.kind] += 1
            else:
                details.append(f"not found: {fault.kind} {fault.name}: {fault.text!r} ({made.format})")
    kinds = [f"{kind}: {found[kind]} of {count} found" for kind, count in seeded.items()]
    missed = 100 * (1 - found.total() / max(seeded.total(), 1))
    return Section(
        [
            Row(f"evidence: faults that are not found, of {seeded.total()} seeded", missed, "%", 10.0),
            Row(
                f"evidence: true claims accused falsely, of {claims}",
                100 * accused / max(claims, 1),
                "%",
                1.0,
            ),
            Row(
                "evidence: true claims that a person should look at", 100 * doubted / max(claims, 1), "%", 1.0
            ),
        ],
        ["seeded faults in made-up reports", *kinds, *details],
    )
