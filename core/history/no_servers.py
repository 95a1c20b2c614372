"""The servers of a session that has none: one that is only to be read."""

from __future__ import annotations

from core.errors import SettingsError
from core.events.types import McpServer
from core.provider.models import KnownModel, ModelChoice

__all__ = ["NoModels", "NoServers"]

_WHY = "This session is only to be read: it has no agent, and no servers."


class NoServers:
    """Nothing is known, and nothing can be done."""

    known: tuple[McpServer, ...] = ()

    def refresh(self) -> None:
        """There is nothing to look at."""

    def reconnect(self, _name: str) -> str:
        """Say why there is nothing to connect."""
        return _WHY

    def switch(self, _name: str, *, on: bool) -> str:
        """Say why there is nothing to switch."""
        return _WHY


class NoModels:
    """Nothing answers, and nothing else can be chosen."""

    choice = ModelChoice()
    known: tuple[KnownModel, ...] = ()

    def choose(self, _choice: ModelChoice) -> bool:
        """Refuse to have a model answer.

        Raises:
            SettingsError: always.
        """
        raise SettingsError("This session is only read: go on with it to choose what answers.")
