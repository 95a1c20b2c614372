"""The knowledge base of a team, in the tables `k_…` of its PostgreSQL database.

It has the methods and answers of the SQLite file (`ua_tui.core.knowledge.index.store`,
`ua_tui.core.knowledge.search.search`), and the same words: `lexemes` makes vectors and queries of PostgreSQL from what
the tokenizer of the file gives. `ua_tui.core.knowledge.access` alone opens it, and only for an address: everything here
needs `psycopg`. Start with `store` and `search`.
"""
