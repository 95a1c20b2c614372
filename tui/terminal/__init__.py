"""What the program does with the terminal and the desktop: clipboard, browser, editor, suspending, pasting.

Any part of `tui` may import it; it imports only `core`, themes and graphics. Start with `foreground.py` for programs
that need the terminal, and `output_filter.py` for what may reach it.
"""
