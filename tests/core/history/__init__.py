"""Tests of `core.history`."""
