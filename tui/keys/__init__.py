"""Keys: their names, the standard keys of every action, custom keys, and their order of delivery.

A key is stated in the binding of its class. `places.py` reads the bindings for the help, `standard.json` is generated
from them, and `keymap.py` applies the custom keys of the settings. Any folder of `tui` may import this one, which
imports none of them. Start with `places.py`.
"""
