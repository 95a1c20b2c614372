"""Tests of `core.toolkit`."""
