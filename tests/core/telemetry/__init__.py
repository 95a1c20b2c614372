"""Tests of `core.telemetry`."""
