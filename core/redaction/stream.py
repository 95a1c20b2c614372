"""Masks secrets in a text that arrives in pieces, none of which may be the half of one."""

from __future__ import annotations

import re

from ua_tui.core.redaction.assignments import undecided
from ua_tui.core.redaction.redactor import Redactor

_SIGN = re.compile("[:=：|]")
_OPEN_END = re.compile(r"[!-~]+\Z")
_LONGEST_WAIT = 512
_CONTEXT = 4_096


class StreamRedactor:
    """Passes a text on, except for what may be the beginning of a secret, which waits until it is complete.

    That is the last word, the beginning of a known secret, and the rest of a line behind the name of a secret.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._passed = self._masked = ""
        self._waiting = ""
        self._is_undecided = False

    def feed(self, piece: str) -> str:
        """Add a piece; returns what can be passed on, without secrets."""
        self._waiting += piece
        if self._is_undecided and "\n" not in piece and len(self._waiting) < _LONGEST_WAIT:
            return ""
        self._is_undecided = self._is_undecided or _SIGN.search(piece) is not None
        return self._pass_on(self._complete())

    def end(self) -> str:
        """Return the rest at the end of the text; another text may follow."""
        rest = self._pass_on(len(self._waiting))
        self._passed = self._masked = ""
        self._is_undecided = False
        return rest

    def _complete(self) -> int:
        """How many of the waiting characters belong to complete words."""
        word = _OPEN_END.search(self._waiting[-_LONGEST_WAIT:])
        end = len(self._waiting) - (len(word[0]) if word and len(word[0]) < _LONGEST_WAIT else 0)
        name = len(self._waiting)
        if self._is_undecided and name < _LONGEST_WAIT:
            before = self._passed[-100:]
            name = max(undecided(before + self._waiting) - len(before), 0)
        self._is_undecided = name < len(self._waiting)
        return self._redactor.before_unfinished(self._waiting, min(name, end))

    def _pass_on(self, count: int) -> str:
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        if not ready:
            return ""
        if len(self._passed) > _CONTEXT + _LONGEST_WAIT:
            self._passed = self._passed[-_CONTEXT:]
            self._masked = self._redactor.redact(self._passed)
        # A name such as `password:` may have been passed on before its value came.
        before = self._masked
        self._passed += ready
        self._masked = self._redactor.redact(self._passed)
        if self._masked.startswith(before):
            return self._masked.removeprefix(before)
        return self._redactor.redact(ready)
