"""Tests of `ua_tui.core.view`."""
