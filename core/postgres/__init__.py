"""PostgreSQL for a team: addresses without passwords, connections, errors in plain words, and the tables' migrations.

It needs the extra `ua-tui[team]`; nothing else may import `psycopg` before a command of a team runs. Start with
`address`, then `connection` and `schema`. `ua_tui.core.team` and `ua_tui.core.knowledge.postgres` build on it.
"""
