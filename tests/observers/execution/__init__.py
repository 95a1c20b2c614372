"""Tests of `ua_tui.observers.execution`."""
