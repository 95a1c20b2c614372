"""What a person says into the running turn, from its sending until the agent says that it took it up."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

from core.agent.messages.translate import TurnResult

__all__ = ["Steering"]


@dataclass
class Steering:
    """The messages of one turn that were sent and not yet taken up, oldest first.

    The agent takes them up after the next tool result. When none comes it ends the turn and begins another one
    with them by itself: the turn has not ended for a person before that one has.
    """

    waiting: dict[str, str] = field(default_factory=dict)
    _before: TurnResult | None = None

    @property
    def went_on(self) -> bool:
        """Whether a result came while something still had to be taken up, so that a further turn follows."""
        return self._before is not None

    def add(self, text: str) -> str:
        """Note a message; gives the id to send it under."""
        message_id = str(uuid.uuid4())
        self.waiting[message_id] = text
        return message_id

    def taken(self, message_id: str) -> str | None:
        """The text that the agent has taken up; None when it is not of these."""
        return self.waiting.pop(message_id, None)

    def end(self, result: TurnResult) -> TurnResult | None:
        """The result of the whole turn; None when the agent still has to take something up."""
        before = self._before
        if before is not None:
            result = replace(result, turns=before.turns + result.turns, text=result.text or before.text)
        self._before = result
        return None if self.waiting else result

    def give_up(self) -> TurnResult | None:
        """The result there is, when the agent does not go on; None when there is none."""
        return self._before
