"""Runs the jobs of a batch as headless sessions: on this machine, or as a worker of a team.

It stands above `compose`, with which each session is put together, and below the commands `batch`, `worker` and
`fleet`. Start with `job_session`, which runs one job.
"""
