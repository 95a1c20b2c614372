"""Tests of `core.net`."""
