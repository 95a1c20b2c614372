"""Tests of `core.agent`."""
