"""Measures the work of a team: batches that go on through faults, what an operator meets, and what a job costs.

Everything is real: a PostgreSQL server, `ua-tui worker` and `ua-tui batch`, the agent, and a server with a tool that
sends. Only the model is scripted. `desk` puts them together; `python -m tests.bench.team` measures parts.
"""
