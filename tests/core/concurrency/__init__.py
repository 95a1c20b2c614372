"""Tests of `core.concurrency`."""
