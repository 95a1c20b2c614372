"""Tests of `ua_tui.tui.screens`."""
