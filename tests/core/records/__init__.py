"""Tests of `ua_tui.core.records`."""
