"""Tests of `ua_tui.tui.serve`."""
