"""Tests of `ua_tui.core.toolkit`."""
