"""Tests of `core.knowledge`."""
