"""Tests of `tui.theme`."""
