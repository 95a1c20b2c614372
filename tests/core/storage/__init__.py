"""Tests of `core.storage`."""
