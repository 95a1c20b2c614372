"""The spending limit of a batch is kept to within one turn of the model."""

from __future__ import annotations

from tests.bench.table import Row, Section
from tests.bench.team.desk import desk

TASKS = 30
LIMIT = 2.05
_TURN = 0.1
"""What one request costs: 100 tokens at this price."""
_PRICE = "my-model=1000/0"


def limits() -> Section:
    """The row of a batch that costs more than it may."""
    with desk(pause=0.1, prices=_PRICE) as team:
        for name in ("one", "two", "three"):
            team.start_worker(name, parallel=2)
        batch = team.submit(range(1, TASKS + 1), "--max-cost-all", str(LIMIT), "--max-cost-each", "0.5")
        code = batch.wait(600.0)
        results = batch.results
        spent = sum(each["cost_usd"] or 0.0 for each in results)
        done = sum(each["state"] == "done" for each in results)
    over = (spent - LIMIT) / _TURN
    compared = f"${spent:.2f} spent of ${LIMIT:.2f}, {done} of {TASKS} answered, exit code {code}"
    return Section([Row("team: spent above the limit of a batch", over, "turns", 1.0, compared)])
