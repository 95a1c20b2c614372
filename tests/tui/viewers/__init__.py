"""Tests of `ua_tui.tui.viewers`."""
