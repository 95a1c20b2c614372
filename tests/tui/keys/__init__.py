"""Tests of `ua_tui.tui.keys`."""
