"""Tests of `ua_tui.tui.widgets`."""
