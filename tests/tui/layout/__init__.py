"""Tests of `tui.layout`."""
