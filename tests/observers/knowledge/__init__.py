"""Tests of `ua_tui.observers.knowledge`."""
