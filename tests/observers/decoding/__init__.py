"""Tests of `observers.decoding`."""
