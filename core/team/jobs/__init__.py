"""Batches and their jobs: the file of a batch, where its jobs are stored, and the queue that brings them to workers.

`results_file` has the results of a batch on one machine. `postgres_jobs` has the jobs of a team, and `queue` is its
worker. Start with `batch_file`.
"""
