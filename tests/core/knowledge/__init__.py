"""Tests of `ua_tui.core.knowledge`."""
