"""Batches and their jobs: the file of a batch, where its jobs are stored, and the queue that brings them to workers.

`sqlite_jobs` has the jobs of this machine, `postgres_jobs` those of a team; both implement `JobStore`. `queue` is the
worker of a team; it and `delivery` need the extra `ua-tui[team]`. Start with `batch_file`.
"""
