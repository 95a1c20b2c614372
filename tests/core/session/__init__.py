"""Tests of `ua_tui.core.session`."""
