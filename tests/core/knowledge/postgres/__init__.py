"""Tests of `core.knowledge.postgres` on a real server."""
