"""Tests of `core.settings`."""
