"""Work of a team: batches of queries, their jobs, and sessions that other people and other machines can see.

`records` has the types and the protocols. Without a database one program runs a batch, and its results are in a file;
with one the jobs are in PostgreSQL, as is a copy of each session, from which another machine can resume it. Start with
`records`.
"""
