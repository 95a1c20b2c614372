"""Tests of `ua_tui.observers.pages`."""
