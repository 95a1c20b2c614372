"""Tests of `core.provider`."""
