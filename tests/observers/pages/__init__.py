"""Tests of `observers.pages`."""
