"""Tests of `tui.terminal`."""
