"""Texts with planted secrets in each syntax and form, and texts without any, also from installed files."""

from __future__ import annotations

import random
import re
import string
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TABLES = tomllib.loads((HERE / "planted.toml").read_text("utf-8"))
INNOCENT = (HERE / "innocent.txt").read_text("utf-8").splitlines()
_MARKED = re.compile("«(.+?)»")
_LETTERS = {
    "w": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "u": string.ascii_uppercase + "234567",
}
_BASE = Path(sysconfig.get_paths()["stdlib"])
_PACKAGES = Path(sysconfig.get_paths()["purelib"])
_SHOWN = ("svg?token=", "eyJhbGciOi", '"password":"zxc"')

Planted = tuple[str, tuple[str, ...]]


def planted() -> list[Planted]:
    """Texts, and the secrets that must not be left in each."""
    chance = random.Random(32)
    names, values = TABLES["names"].split(), TABLES["values"].split()
    found = [_planted(filled(each, chance)) for each in TABLES["texts"].strip("\n").splitlines()]
    for syntax in TABLES["syntaxes"].strip("\n").splitlines():
        for name in names:
            found.append(_planted(syntax.replace("NAME", name).replace("VALUE", chance.choice(values))))
    found += [_planted(f"see «{filled(each, chance)}» there") for each in TABLES["formats"].split()]
    return found


def filled(form: str, chance: random.Random) -> str:
    """A key of a form such as `ghp_{w36}`: 36 random letters and digits, at least one of them a digit."""

    def fill(found: re.Match[str]) -> str:
        letters, count = _LETTERS[found[1]], int(found[2])
        text = "".join(chance.choices(letters, k=count))
        return text if count < 2 else text[:1] + chance.choice("234567") + text[2:]

    return re.sub(r"\{([whdu])(\d+)\}", fill, form)


def halves(rows: list[Planted]) -> tuple[list[Planted], list[Planted]]:
    """The rows in two halves, by chance and always the same."""
    mixed = random.Random(7).sample(rows, len(rows))
    return mixed[::2], mixed[1::2]


def ordinary_files() -> Iterator[tuple[str, str]]:
    """Source, documents and licences that are installed with this program, without those that show a secret."""
    for path in sorted([*_BASE.glob("*.py"), *_PACKAGES.glob("*.dist-info/METADATA")]):
        text = path.read_text("utf-8", "replace")
        # Badges with the token of a repository, a signed JSON Web Token, a password in an example.
        if not any(each in text for each in _SHOWN):
            yield path.name if path.suffix else path.parent.name, text


def _planted(marked: str) -> Planted:
    text = marked.replace("\\n", "\n").replace("\\t", "\t") if "\\\\" not in marked else marked
    return _MARKED.sub(r"\1", text), tuple(_MARKED.findall(text))
