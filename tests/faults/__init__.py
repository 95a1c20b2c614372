"""Faults, brought about in the real program: kills, stopped children, a full disk, a lost terminal.

`uv run pytest tests/faults`, a step of `.ci/run`, runs them and prints a table of what was seen and what was lost.
Start with `test_kills.py`. `starter.py` starts the program a hundred times in the time of a few, and `evidence.py`
compares what it left with what others saw. `python -m tests.faults.soak` is a long session, which no test runs.
"""
