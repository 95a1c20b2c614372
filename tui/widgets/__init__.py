"""The widgets and base classes that panes, viewers and screens share: dialogs, lists, commands, background work.

Everything above may import it; it imports only the layers below, such as keys and render. Start with `dialog.py`,
the base of every dialog, and `modal.py`, the base of every screen above the panes.
"""
