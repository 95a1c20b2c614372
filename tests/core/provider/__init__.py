"""Tests of `ua_tui.core.provider`."""
