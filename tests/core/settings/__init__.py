"""Tests of `ua_tui.core.settings`."""
