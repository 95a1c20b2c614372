"""Tests of `core.events`."""
