"""Tests of `ua_tui.core.web_reader`."""
