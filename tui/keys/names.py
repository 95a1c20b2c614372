"""The names of keys: as Textual has them, as a person writes them, and as the screen shows them."""

from __future__ import annotations

import difflib
import unicodedata
from string import ascii_lowercase

from textual.keys import KEY_NAME_REPLACEMENTS, _character_to_key, key_to_character
from textual.keys import Keys as KnownKeys

_SHOWN = {
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "delete": "Del",
    "insert": "Ins",
    "space": "Space",
}
_WRITTEN = {
    **{shown.casefold(): name for name, shown in _SHOWN.items()},
    "esc": "escape",
    "return": "enter",
    "page_up": "pageup",
    "page_down": "pagedown",
    "backtab": "shift+tab",
}
_HELD = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_EXAMPLES = [
    f"{held}+{key}" for held in ("ctrl", "alt") for key in (*ascii_lowercase, "up", "down", "left", "right")
]
_HELD_AS = {"control": "ctrl", "option": "alt", "cmd": "super", "command": "super", "win": "super"}
_LONGER = {name: longer for longer, name in KEY_NAME_REPLACEMENTS.items()}
_NAMED = {
    *_SHOWN,
    *(name for key in KnownKeys if "+" not in (name := key.value) and name.isidentifier()),
    *(f"f{number}" for number in range(1, 25)),
}


def key_name(written: str) -> str:
    """Return the name of the key that a person wrote, such as `ctrl+k` for `Ctrl+K` or `question_mark` for `?`.

    Raises:
        ValueError: there is no such key; the message says what was meant, if that can be guessed.
    """
    text = written.strip()
    if not text:
        raise ValueError("a key has no name")
    parts = text.split("+") if len(text) > 1 else [text]
    if len(parts) > 2 and parts[-2:] == ["", ""]:
        parts = [*parts[:-2], "+"]
    *held, last = (part.strip() for part in parts)
    modifiers = {_HELD_AS.get(each.casefold(), each.casefold()) for each in held}
    base = _base(last, alone=not modifiers)
    if base is None or not modifiers <= set(_HELD):
        close = difflib.get_close_matches(text.casefold(), [*_NAMED, *_HELD, *_EXAMPLES], n=1)
        raise ValueError(f"there is no key {text[:40]!r}" + (f"; did you mean {close[0]}?" if close else ""))
    if modifiers == {"shift"} and len(base) == 1 and base.isalpha():
        return base.upper()
    return "+".join([*(each for each in _HELD if each in modifiers), base])


def _base(text: str, *, alone: bool) -> str | None:
    if len(text) == 1 and text not in _WRITTEN:
        if not text.isprintable():
            return None
        name = _character_to_key(text)
        return name if alone else name.lower()
    folded = text.casefold()
    name = _WRITTEN.get(folded, folded)
    if name in _NAMED:
        return name
    # Textual names a punctuation mark as Unicode does, with low lines in the place of blanks.
    try:
        return _character_to_key(unicodedata.lookup(name.replace("_", " ")))
    except KeyError:
        pass
    return name if _character(name) is not None else None


def _character(name: str) -> str | None:
    """The character of a key by its name, which Textual has shortened for some."""
    return key_to_character(_LONGER.get(name, name))


def shown_key(name: str) -> str:
    """Write a key as the screen shows it, such as `Ctrl+K` or `?`."""
    *held, last = name.split("+")
    character = _character(last)
    if last in _SHOWN:
        shown = _SHOWN[last]
    elif character is not None and character.isprintable():
        shown = character.upper() if held else character
    else:
        shown = last.replace("_", " ").title().replace(" ", "")
    return "+".join([*(each.capitalize() for each in held), shown])


def is_typed(name: str) -> bool:
    """Tell whether a key is text where a person types."""
    character = _character(name)
    return character is not None and character.isprintable()
