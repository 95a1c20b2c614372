"""Tests of `ua_tui.tui.render`."""
