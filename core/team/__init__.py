"""Work of a team: batches of queries, their jobs, and sessions that other people and other machines can see.

`records` has the types and the protocols. Without a database the jobs are in a SQLite file of this machine; with one
they are in PostgreSQL, as is a copy of each session, from which another machine can resume it. Start with `records`.
"""
