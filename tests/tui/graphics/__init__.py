"""Tests of `ua_tui.tui.graphics`."""
