"""Where the agent waits for a person: calls for permission, and MCP servers for an answer."""

from __future__ import annotations

from dataclasses import dataclass

from ua_tui.core.agent.elicitation.gate import ElicitationGate
from ua_tui.core.agent.permissions.gate import PermissionGate


@dataclass(frozen=True)
class Gates:
    """The gates of a session."""

    permissions: PermissionGate
    elicitation: ElicitationGate

    @property
    def is_waiting(self) -> bool:
        """Whether something waits for a person."""
        return self.permissions.is_waiting or self.elicitation.is_waiting

    def cancel_all(self, reason: str) -> None:
        """Deny or cancel everything that waits."""
        self.permissions.cancel_all(reason)
        self.elicitation.cancel_all(reason)
