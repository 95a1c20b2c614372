"""One list widget for any number of rows, of which only those on screen are rendered.

`virtual_list.py` is the widget and the place to start: a subclass says how its entries are drawn. `source.py` has the
entries with their keys and heights. Prefix sums of the heights and a cache of rendered lines there keep every change
cheap, and `typed_query.py` is the text a person types to search or to filter. The panes use
it; it imports nothing from them.
"""
