"""The port to the model of a session: which there are, which one answers, and the choice of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import SettingsError
from core.events.types import Event, ModelChosen
from core.settings.model import EFFORTS, Effort, Settings
from core.text import clean_line

__all__ = ["KnownModel", "ModelChoice", "Models", "checked_choice"]

_LONGEST = 200
_MOST = 100


@dataclass(frozen=True)
class ModelChoice:
    """What answers: the model (None leaves it to the agent), the one to fall back on, and how hard it thinks."""

    model: str | None = None
    fallback: str | None = None
    effort: Effort | None = None


@dataclass(frozen=True)
class KnownModel:
    """A model as the agent lists it: the name it takes, a title, and a line about it."""

    name: str
    title: str = ""
    about: str = ""


def checked_choice(choice: ModelChoice) -> ModelChoice:
    """Tidy a choice up.

    Raises:
        SettingsError: it cannot be had.
    """
    checked = ModelChoice(_name(choice.model), _name(choice.fallback), choice.effort or None)
    if checked.effort is not None and checked.effort not in EFFORTS:
        raise SettingsError(f"The effort is one of {', '.join(EFFORTS)}.")
    if checked.fallback is not None and checked.fallback == checked.model:
        raise SettingsError("A model cannot be the one to fall back on from itself: name another one.")
    return checked


class Models:
    """Keeps the choice of a session; a connection is made with it, and made again for another one.

    Attributes:
        choice: what holds for the queries to come.
        known: what the agent lists, once it is connected; with a server of one's own these may not be all.
    """

    def __init__(self, settings: Settings, publish: Callable[[Event], object]) -> None:
        self.choice = ModelChoice(settings.model, settings.fallback_model, settings.effort)
        self.known: tuple[KnownModel, ...] = ()
        self._publish = publish

    def choose(self, choice: ModelChoice) -> bool:
        """Have other queries answered by another model, from the next one on; False when it is the same.

        Raises:
            SettingsError: it cannot be had; the choice stays as it was.
        """
        checked = checked_choice(choice)
        if checked == self.choice:
            return False
        self.choice = checked
        self._publish(
            ModelChosen(model=checked.model, fallback_model=checked.fallback, effort=checked.effort)
        )
        return True

    def read_list(self, listed: Iterable[Any]) -> None:
        """Take up what the agent lists when it is connected."""
        found = {}
        for each in listed:
            if isinstance(each, Mapping) and isinstance(name := each.get("value"), str) and name.strip():
                title, about = (
                    clean_line(str(each.get(key) or ""), 200) for key in ("displayName", "description")
                )
                found[name] = KnownModel(clean_line(name, _LONGEST), title, about)
        self.known = tuple(found.values())[:_MOST]


def _name(name: str | None) -> str | None:
    if name is None or not name.strip() or name.strip() == "default":
        return None
    tidy = name.strip()
    if len(tidy) > _LONGEST or not tidy.isprintable() or " " in tidy:
        raise SettingsError(
            "This is no name of a model: names have no blanks, and no more than 200 characters."
        )
    return tidy
