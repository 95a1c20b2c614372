"""Tests of `tui.viewers`."""
