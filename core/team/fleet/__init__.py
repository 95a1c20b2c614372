"""All sessions of this machine and of a team, as they are now, and one of them followed from here.

`rows` has what is known of each and their order; `source` keeps that up to date from the folders and the jobs of this
machine (`local`) and from the database of the team (`database`). `followed` is a session that runs elsewhere: its
questions are answered from here. Start with `source`.
"""
