"""Tests of `tui.replay`."""
