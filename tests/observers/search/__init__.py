"""Tests of `ua_tui.observers.search`."""
