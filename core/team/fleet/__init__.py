"""The current sessions of this machine and of a team, and following one of them.

`rows` has what is known of sessions, batches and workers, and their order; `source` keeps that up to date from the
folders of this machine (`local`) and from the database of the team (`database`). `followed_session` is a session that
another program runs: its questions are answered from here. Start with `source`.
"""
