"""Tests of `ua_tui.core.doctor`."""
