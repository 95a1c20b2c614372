"""Tests of `observers.output`."""
