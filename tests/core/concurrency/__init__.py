"""Tests of `ua_tui.core.concurrency`."""
