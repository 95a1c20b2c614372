"""Tests of `ua_tui.tui.plain`."""
