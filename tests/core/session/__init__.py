"""Tests of `core.session`."""
