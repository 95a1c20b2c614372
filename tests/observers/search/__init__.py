"""Tests of `observers.search`."""
