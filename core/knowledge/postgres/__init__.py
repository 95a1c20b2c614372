"""The knowledge base of a team, in the tables `k_…` of its PostgreSQL database: what differs from the SQLite file.

Only `ua_tui.core.knowledge.access` opens it, and only for an address: everything here needs `psycopg`.
"""
