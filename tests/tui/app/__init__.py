"""Tests of `ua_tui.tui.app`."""
