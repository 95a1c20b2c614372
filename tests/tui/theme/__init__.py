"""Tests of `ua_tui.tui.theme`."""
