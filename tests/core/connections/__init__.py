"""Tests of `core.connections`."""
