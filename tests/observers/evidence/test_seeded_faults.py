from __future__ import annotations

import random

import pytest

from tests.bench.evidence.fault_reports import FORMATS, make_report
from tests.bench.evidence.faults import check_made, false_accusations, is_found, seed_faults
from ua_tui.core.evidence.records import Level


@pytest.mark.parametrize("number", range(len(FORMATS)))
def test_finds_the_faults_of_a_report_and_accuses_nothing_else(number: int) -> None:
    """A report of each format and, among them, of each language; the benchmark has 50 of them."""
    made = make_report(number)
    check, _ = check_made(made)
    assert len(check.claims) > 20
    doubted = [
        *false_accusations(check, Level.UNSUPPORTED),
        *false_accusations(check, Level.LOOK),
    ]
    assert [(claim.text, str(claim.verdict)) for claim in doubted] == []
    missed = []
    for fault in seed_faults(made, random.Random(number)):
        checked, places = check_made(made, fault)
        if not is_found(checked, fault, places):
            missed.append(fault)
    assert missed == []
