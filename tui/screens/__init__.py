"""Screens and dialogs over the panes."""
