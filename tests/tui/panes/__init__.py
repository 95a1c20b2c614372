"""Tests of `ua_tui.tui.panes`."""
