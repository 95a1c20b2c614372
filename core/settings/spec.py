"""How a setting is read, what it decides about, and how values of several places are weighed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ua_tui.core.settings import parsers as values
from ua_tui.core.trust.state import Affects


@dataclass(frozen=True)
class Spec:
    """How a setting is read.

    Attributes:
        parse: makes the value of a text or of a value in a file.
        variables: further environment variables; `UA_<NAME>` comes before them.
        affects: what it decides about. The files of a folder that is not trusted may only set what affects the look,
            and about data and tools the user's own file wins over them.
        stricter: returns the stricter one of two values: a folder may set such a value, and no other.
        secret: its value is never shown.
        hidden_if_wrong: a wrong value is not shown, as it may have a password.
        user_only: the files of a folder may not set it.
        unset: what is meant when it has no value.
        adds_up: the values of all places count, and not only that of the first one.
        table: how it is written if it is a table in a settings file; it has no variables then.
    """

    parse: values.Parse = values.text
    variables: tuple[str, ...] = ()
    _: KW_ONLY
    affects: Affects
    stricter: Callable[[Any, Any], Any] | None = None
    secret: bool = False
    hidden_if_wrong: bool = False
    user_only: bool = False
    unset: str = "none"
    adds_up: bool = False
    table: str = ""

    @property
    def accepts(self) -> str:
        """What is allowed, in words."""
        if self.table:
            return self.table
        try:
            # No parser accepts this; its error says what it accepts.
            self.parse(object())
        except ValueError as error:
            return str(error)
        return "anything"
