"""Tests of `tui.serve`."""
