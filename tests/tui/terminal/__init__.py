"""Tests of `ua_tui.tui.terminal`."""
