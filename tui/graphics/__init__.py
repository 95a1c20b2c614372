"""Pictures in terminal graphics: Kitty's protocol with placeholders, or Sixel painted over the screen.

`capabilities.py` chooses the graphics, `kitty.py` and `sixel.py` encode, and `store.py` sends and deletes. The viewers
and the application import this package; it imports nothing of ours. Start with `store.py`. `textual-image` does not
replace it: that library blocks on queries to the terminal when it is imported, and shows pictures only as widgets.
"""
