"""Keys: their names, the standard keys of every action, custom keys, and their order of delivery.

The keys of every class are in `bindings.json`, which `bindings.py` reads. `places.py` reads the bindings of classes for
the help, `standard.json` is generated from them, and `keymap.py` applies the custom keys of the settings. Any folder of
`tui` may import this one, which imports none of them. Start with `bindings.py`.
"""
