"""Tests of `ua_tui.observers.output`."""
