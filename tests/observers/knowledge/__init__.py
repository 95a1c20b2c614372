"""Tests of `observers.knowledge`."""
