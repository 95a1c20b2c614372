"""Tests of `tui.app`."""
