"""Tests of `ua_tui.core.net`."""
