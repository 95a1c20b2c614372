"""Tests of `tui.graphics`."""
