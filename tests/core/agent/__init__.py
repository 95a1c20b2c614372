"""Tests of `ua_tui.core.agent`."""
