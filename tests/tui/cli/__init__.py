"""Tests of `ua_tui.tui.cli`."""
