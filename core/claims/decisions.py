"""What a person decided about the claims of a report: accepted or rejected, with a note, in a file beside the check.

The file belongs to the user whose program wrote it: decisions that came with a folder of somebody else sign nothing.
"""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.claims.files import DECISIONS, SealedFile
from ua_tui.core.claims.records import Claim, State, TextQuote
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.units import signed_of
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import REPORT_CHECKS, state_folder
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.ownership import not_own
from ua_tui.core.text import clean, clean_line

Answer = Literal["accepted", "rejected"]
_LONGEST_NOTE = 2_000


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person decided about one claim.

    Attributes:
        quote: the claim in the text of the report.
        sentence: the sentence around it; in a changed sentence the claim is another one.
        state: what the check had found when it was decided; where it finds something else now, the claim is open.
        answer: None if there is only a note.
        by: the user's name.
        note: the person's own words.
    """

    quote: TextQuote
    sentence: str
    state: State
    at: datetime
    by: str
    answer: Answer | None = None
    note: str = ""


class DecisionFile(SealedFile, kw_only=True):
    """The content of the file."""

    decisions: tuple[Decision, ...] = ()


class Decisions:
    """The decisions about one report.

    Args:
        path: the file; it need not exist.
        report: the path of the report relative to its session's folder.

    Attributes:
        notice: why the decisions in the file are not read or do not count; empty if they do.
    """

    def __init__(self, path: Path, report: str) -> None:
        self.notice = ""
        self._report = report
        self._store = _store(path)
        self._decisions: tuple[Decision, ...] = ()

    def read(self) -> None:
        """Read the file. Blocks."""
        try:
            self._use(self._store.read())
        except WorkspaceError as error:
            self.notice = f"No decisions are shown: {clean_line(str(error), 400)}"

    def of(self, claims: Sequence[Claim]) -> list[Decision | None]:
        """Return the decision about each claim of the report; None if it is open, or has another state by now."""
        found = zip(claims, self._about(claims), strict=True)
        return [each if each is not None and each.state == claim.state else None for claim, each in found]

    def decide(
        self,
        claims: Sequence[Claim],
        numbers: Collection[int],
        answer: Answer | None,
        redactor: Redactor,
        *,
        by: str = "",
        at: datetime | None = None,
        note: str | None = None,
    ) -> None:
        """Store the same answer about some claims of the report, in place of earlier ones; None opens them. Blocks.

        A `note` replaces that of each; None leaves it. A claim without an answer and without a note is removed. By
        default it is decided `by` the user of the machine, now.

        Raises:
            WorkspaceError: the file cannot be written, or is not the user's own.
        """
        by, at = by or getpass.getuser(), at or datetime.now(UTC)
        with self._store.changed() as stored:
            self._use(stored)
            if self.notice:
                raise WorkspaceError(self.notice)
            kept = dict.fromkeys(self._decisions)
            about = self._about(claims)
            for number in numbers:
                claim, earlier = claims[number], about[number]
                text = clean(note or "").strip()[:_LONGEST_NOTE]
                if earlier is not None:
                    kept.pop(earlier, None)
                    text = earlier.note if note is None else text
                if answer is not None or text:
                    quote, sentence, state = claim.quote, claim.sentence, claim.state
                    new = Decision(
                        quote=quote, sentence=sentence, state=state, at=at, by=by, answer=answer, note=text
                    )
                    kept[new] = None
            stored.report, stored.decisions = self._report, tuple(kept)
            sealed = stored.sealed_in(self._store.path.parent, redactor)
            stored.decisions, stored.seal = sealed.decisions, sealed.seal
            self._use(stored)

    def summary(self, claims: Sequence[Claim]) -> str:
        """Say how many claims are decided: "Signed: 58 of 62 accepted, 1 rejected, 3 open"; empty if none is."""
        answers = [decision.answer for decision in self.of(claims) if decision is not None]
        accepted, rejected = answers.count("accepted"), answers.count("rejected")
        signed = accepted + rejected
        return signed_of(accepted, rejected, len(claims) - signed) if signed else ""

    def _about(self, claims: Sequence[Claim]) -> list[Decision | None]:
        """The decision about each claim, whatever its state.

        A claim that moved is recognised by its sentence. If the report has the sentence several times, only those are
        recognised that have the same words around them.
        """
        exact = {(_key(each), each.quote): each for each in self._decisions}
        found = [exact.get((_key(claim), claim.quote)) for claim in claims]
        left = {each: _key(each) for each in {*self._decisions} - {*found}}
        wanted = Counter(_key(claim) for claim, each in zip(claims, found, strict=True) if each is None)
        given = Counter(left.values())
        moved = {key: each for each, key in left.items() if given[key] == wanted[key] == 1}
        return [each or moved.get(_key(claim)) for claim, each in zip(claims, found, strict=True)]

    def _use(self, stored: DecisionFile) -> None:
        own = _is_own(self._store.path, stored) and stored.report in ("", self._report)
        self.notice = "" if own else not_own(self._store.path, "its decisions sign nothing")
        self._decisions = stored.decisions if own else ()


def find_decisions(session: Path) -> list[Path]:
    """The files with decisions of a session, also those of somebody else. Blocks."""
    folder = session / REPORT_CHECKS
    return [] if folder.is_symlink() else sorted(folder.glob(f"*{DECISIONS}"))


def count_decisions(path: Path) -> tuple[int, bool]:
    """How many decisions are in a file, and whether they are the user's own. Blocks.

    Raises:
        WorkspaceError: it cannot be read, or has something else.
    """
    stored = _store(path).read()
    return len(stored.decisions), _is_own(path, stored)


def adopt(path: Path) -> None:
    """Make the decisions in a file the user's own, as they are. Blocks.

    Raises:
        WorkspaceError: the file cannot be read or written.
    """
    with _store(path).changed() as stored:
        stored.seal = stored.seal_in(path.parent)


def _store(path: Path) -> JsonStore[DecisionFile]:
    return JsonStore(path, DecisionFile, lock=state_folder() / "claims.lock")


def _is_own(path: Path, stored: DecisionFile) -> bool:
    return not stored.decisions or stored.is_own_in(path.parent)


def _key(about: Claim | Decision) -> tuple[str, ...]:
    return tuple(" ".join(text.split()) for text in (about.sentence, about.quote.exact))
