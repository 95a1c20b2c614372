"""The status line at the bottom of the screen, and the bar above the prompt that shows a problem.

`bar.py` is the widget and the place to start; `facts.py` turns events into what it shows, and `layout.py` decides
what fits. The app, the frame and the screens of past sessions use it; it imports no other pane.
"""
