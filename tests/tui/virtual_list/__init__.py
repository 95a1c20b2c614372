"""Tests of `tui.virtual_list`."""
