"""Tests of `core.web_reader`."""
