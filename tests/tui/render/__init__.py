"""Tests of `tui.render`."""
