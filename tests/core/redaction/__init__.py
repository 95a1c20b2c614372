"""Tests of `core.redaction`."""
