"""Tests of `ua_tui.tui.virtual_list`."""
