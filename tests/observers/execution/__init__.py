"""Tests of `observers.execution`."""
