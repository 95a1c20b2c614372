"""Tests of `ua_tui.observers.decoding`."""
