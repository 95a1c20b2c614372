"""Tests of `tui.plain`."""
