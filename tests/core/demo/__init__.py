"""Tests of `core.demo`."""
