"""Tests of `core.doctor`."""
