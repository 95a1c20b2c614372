"""Tests of `ua_tui.core.events`."""
