"""The models of a session: which exist, which one answers, and the choice of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import Event, ModelChosen
from ua_tui.core.json_values import text_in
from ua_tui.core.provider.request import DEFAULT_URL
from ua_tui.core.settings.model import EFFORTS, Effort, Settings
from ua_tui.core.text import clean_line

_LONGEST = 200
_MOST = 100


class ModelChoice(msgspec.Struct, frozen=True):
    """A choice of models: the model (None leaves it to the agent), the fallback model, and the effort."""

    model: str | None = None
    fallback: str | None = None
    effort: Effort | None = None


class KnownModel(msgspec.Struct, frozen=True):
    """A model as the agent lists it: its name, a title, and a description."""

    name: str
    title: str = ""
    about: str = ""


class Models:
    """The choice of a session; another choice takes effect with a new connection.

    `check` raises `SettingsError` if a choice is not possible in this session.

    Attributes:
        choice: the choice for the next queries.
        known: the models that the agent lists, once it is connected; at an address of one's own, those of the settings,
            if there are any.
    """

    def __init__(
        self,
        settings: Settings,
        publish: Callable[[Event], object],
        check: Callable[[ModelChoice], None],
    ) -> None:
        self._check = check
        self.choice = ModelChoice(settings.model, settings.fallback_model, settings.effort)
        named = dict.fromkeys(filter(None, (settings.model, settings.simple_model, settings.fallback_model)))
        about = "scripted, for the demo" if settings.demo else "from your settings"
        self.known = tuple(KnownModel(clean_line(name, _LONGEST), about=about) for name in named)
        # The agent lists the models of Anthropic, whatever another server has that needs a name in the settings.
        self._is_listed = settings.base_url in (None, DEFAULT_URL) or not named
        self._publish = publish

    def choose(self, choice: ModelChoice) -> bool:
        """Choose the model for the next queries; returns False if the choice is unchanged.

        Raises:
            SettingsError: it is not valid; the choice stays as it was.
        """
        checked = ModelChoice(_name(choice.model), _name(choice.fallback), choice.effort or None)
        if checked.effort is not None and checked.effort not in EFFORTS:
            raise SettingsError(f"the effort must be one of {', '.join(EFFORTS)}.")
        if checked.fallback is not None and checked.fallback == checked.model:
            raise SettingsError("a model cannot be its own fallback: name another one.")
        if checked == self.choice:
            return False
        self._check(checked)
        self.choice = checked
        self._publish(
            ModelChosen(model=checked.model, fallback_model=checked.fallback, effort=checked.effort)
        )
        return True

    def read_list(self, listed: Iterable[Any]) -> None:
        """Read the list of models that the agent gives when it is connected."""
        if not self._is_listed:
            return
        shown = ("value", "displayName", "description")
        found = {
            text_in(each, "value"): KnownModel(*(clean_line(text_in(each, name), _LONGEST) for name in shown))
            for each in listed
            if text_in(each, "value").strip()
        }
        self.known = tuple(found.values())[:_MOST]


def _name(name: str | None) -> str | None:
    if name is None or not name.strip() or name.strip() == "default":
        return None
    tidy = name.strip()
    if len(tidy) > _LONGEST or not tidy.isprintable() or " " in tidy:
        raise SettingsError("this is not a model name: names have no spaces, and at most 200 characters.")
    return tidy
