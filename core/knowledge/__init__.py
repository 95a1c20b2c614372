"""The knowledge base: what the sessions below a folder found, in one SQLite file with a full-text index.

A team has it in its PostgreSQL database instead: `postgres` has what differs, and gives the same answers. `place` says
where it is, and `access` opens either. `records` has the types, `index` the file and what writes to it, `search`
answers queries, and `forgetting` removes what a person names. `ua_tui.observers.knowledge` fills it from journals and
artifacts, which remain the source of truth: the file can be deleted and made again. The toolkit, the screen and the
command line read it. Start with `index/store` and `search/search`.
"""
