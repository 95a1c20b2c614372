"""Tests of `ua_tui.core.history`."""
