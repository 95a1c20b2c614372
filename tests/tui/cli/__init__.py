"""Tests of `tui.cli`."""
