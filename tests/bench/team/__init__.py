"""Measures the work of a team: batches that go on through faults, spending limits, and the queue against procrastinate.

Everything is real: a PostgreSQL server, `ua-tui worker` and `ua-tui batch`, the agent, and a server with a tool that
sends. Only the model is scripted. `desk` puts them together; start with `section`.
"""
