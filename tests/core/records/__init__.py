"""Tests of `core.records`."""
