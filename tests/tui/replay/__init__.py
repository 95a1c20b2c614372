"""Tests of `ua_tui.tui.replay`."""
