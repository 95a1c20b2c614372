"""Tests of `ua_tui.tui.layout`."""
