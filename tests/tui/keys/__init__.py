"""Tests of `tui.keys`."""
