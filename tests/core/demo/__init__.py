"""Tests of `ua_tui.core.demo`."""
