"""Tests of `ua_tui.core.connections`."""
