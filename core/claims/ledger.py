"""What a person decided and a model said about the claims of a report, in a file beside the check.

The file belongs to the user whose program wrote it: what came with a folder of somebody else signs nothing.
"""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ua_tui.core.claims.files import LEDGER, ledger_path
from ua_tui.core.claims.opinion import Opinion, Opinions, digest
from ua_tui.core.claims.records import Claim, State, TextQuote
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor, seal_json
from ua_tui.core.storage.folders import REPORT_CHECKS, state_folder
from ua_tui.core.storage.json_store import JsonStore
from ua_tui.core.storage.ownership import is_sealed, not_own, seal
from ua_tui.core.text import clean, clean_line

Answer = Literal["accepted", "rejected"]
_LONGEST_NOTE = 2_000
_SEAL = "claims"


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person decided about one claim.

    Attributes:
        quote: the claim in the text of the report.
        sentence: the sentence around it; in a changed sentence the claim is another one.
        link: the address, if the claim is a link; the same words with another address are another claim.
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
    link: str = ""
    answer: Answer | None = None
    note: str = ""


class ListedClaim(Claim, frozen=True, kw_only=True, omit_defaults=True):
    """A claim with the decision and the second opinion about it, if there are any."""

    decision: Decision | None = None
    opinion: Opinion | None = None

    @property
    def answer(self) -> Answer | None:
        """How it was decided; None if it is open."""
        return self.decision.answer if self.decision is not None else None


class LedgerFile(msgspec.Struct, kw_only=True):
    """The content of the file; by the `seal` it is recognised as written by this user's program."""

    version: int = 1
    report: str = ""
    seal: str = ""
    decisions: tuple[Decision, ...] = ()
    opinions: Opinions | UnsetType = UNSET

    @property
    def content(self) -> str:
        """What is sealed."""
        plain = msgspec.structs.replace(self, seal="")
        return msgspec.json.encode(plain, order="deterministic").decode()

    def is_own_in(self, folder: Path) -> bool:
        """Whether this user's program wrote the content to a file in a folder, or it says nothing."""
        is_empty = not self.decisions and not self.opinions
        return is_empty or is_sealed(self.seal, _SEAL, folder, self.content)


# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(LedgerFile)


class Ledger:
    """The decisions and the second opinion about a report of a `session`, by its path there; their file need not exist.

    Without a session they are only kept in memory, and nothing can be decided.

    Attributes:
        notice: why what is in the file is not read or does not count; empty if it does.
        opinions: the second opinion, if there is one.
    """

    def __init__(self, session: Path | None, report: str) -> None:
        self.notice = ""
        self.opinions: Opinions | None = None
        self._report = report
        self._store = _store(session / ledger_path(report)) if session is not None else None
        self._decisions: tuple[Decision, ...] = ()

    def read(self) -> Ledger:
        """Read the file. Blocks."""
        try:
            if self._store is not None:
                self._use(self._store, self._store.read())
        except WorkspaceError as error:
            self.notice = f"No decisions are shown: {clean_line(str(error), 400)}"
        return self

    def listed(self, claims: Sequence[Claim]) -> tuple[ListedClaim, ...]:
        """The claims of the report with what is decided and said about each.

        A decision counts if the check finds what it found then, an opinion if the passages are the same.
        """
        decided = _match(claims, self._decisions)
        judged = _match(claims, self.opinions.opinions if self.opinions is not None else ())
        return tuple(
            ListedClaim(**msgspec.structs.asdict(claim) | {
                "decision": decision if decision is not None and decision.state == claim.state else None,
                "opinion": opinion if opinion is not None and opinion.passages == digest(claim) else None,
            })
            for claim, decision, opinion in zip(claims, decided, judged, strict=True)
        )  # fmt: skip

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
        """Store the same answer about some claims of the report, in place of earlier ones. Blocks.

        None opens them; with a `note`, which replaces that of each, it leaves the answers. What has neither is removed.
        By default it is decided `by` the user of the machine, now.

        Raises:
            WorkspaceError: the file cannot be written, or is not the user's own.
        """
        by, at = by or getpass.getuser(), at or datetime.now(UTC)
        assert self._store is not None
        with self._changed(self._store, redactor) as stored:
            kept = dict.fromkeys(self._decisions)
            about = _match(claims, self._decisions)
            for number in numbers:
                claim, earlier = claims[number], about[number]
                given, text = answer, clean(note or "").strip()[:_LONGEST_NOTE]
                if earlier is not None:
                    kept.pop(earlier, None)
                    if note is None:
                        text = earlier.note
                    elif answer is None and earlier.state == claim.state:
                        given = earlier.answer
                if given is not None or text:
                    new = Decision(
                        quote=claim.quote, sentence=claim.sentence, link=_link(claim), state=claim.state,
                        at=at, by=by, answer=given, note=text,
                    )  # fmt: skip
                    kept[new] = None
            stored.decisions = tuple(kept)

    def add(self, opinions: Opinions, redactor: Redactor) -> None:
        """Store a second opinion, in place of an earlier one. Blocks.

        Raises:
            WorkspaceError: the file cannot be written, or is not the user's own.
        """
        self.opinions = opinions
        if self._store is not None:
            with self._changed(self._store, redactor) as stored:
                stored.opinions = opinions

    @contextmanager
    def _changed(self, store: JsonStore[LedgerFile], redactor: Redactor) -> Iterator[LedgerFile]:
        with store.changed() as stored:
            self._use(store, stored)
            if self.notice:
                raise WorkspaceError(self.notice)
            yield stored
            data = seal_json(msgspec.json.encode(stored).decode(), redactor)
            masked = _DECODER.decode(data)
            stored.report, stored.decisions, stored.opinions = self._report, masked.decisions, masked.opinions
            stored.seal = seal(_SEAL, store.path.parent, stored.content)
            self._use(store, stored)

    def _use(self, store: JsonStore[LedgerFile], stored: LedgerFile) -> None:
        own = stored.is_own_in(store.path.parent) and stored.report in ("", self._report)
        self.notice = "" if own else not_own(store.path, "its decisions do not count")
        self._decisions = stored.decisions if own else ()
        self.opinions = (stored.opinions or None) if own else None


def find_ledgers(session: Path) -> list[Path]:
    """The files with decisions and opinions of a session, also those of somebody else. Blocks."""
    folder = session / REPORT_CHECKS
    return [] if folder.is_symlink() else sorted(folder.glob(f"*{LEDGER}"))


def read_content(path: Path) -> tuple[int, int, bool]:
    """The numbers of decisions and of opinions in a file, and whether it is the user's own. Blocks.

    Raises:
        WorkspaceError: it cannot be read, or has something else.
    """
    stored = _store(path).read()
    opinions = len(stored.opinions.opinions) if stored.opinions else 0
    return len(stored.decisions), opinions, stored.is_own_in(path.parent)


def adopt(path: Path) -> None:
    """Make the decisions and opinions in a file the user's own, as they are. Blocks.

    Raises:
        WorkspaceError: the file cannot be read or written.
    """
    with _store(path).changed() as stored:
        stored.seal = seal(_SEAL, path.parent, stored.content)


def _store(path: Path) -> JsonStore[LedgerFile]:
    return JsonStore(path, LedgerFile, lock=state_folder() / "claims.lock")


_About = TypeVar("_About", bound=Decision | Opinion)


def _match(claims: Sequence[Claim], said: Sequence[_About]) -> list[_About | None]:
    """What is said about each claim.

    A claim that moved is recognised by its sentence. If the report has the sentence several times, only those are
    recognised that have the same words around them.
    """
    exact = {(_key(each), each.quote): each for each in said}
    found: list[_About | None] = [exact.get((_key(claim), claim.quote)) for claim in claims]
    left = {each: _key(each) for each in {*said} - {*found}}
    wanted = Counter(_key(claim) for claim, each in zip(claims, found, strict=True) if each is None)
    given = Counter(left.values())
    moved = {key: each for each, key in left.items() if given[key] == wanted[key] == 1}
    pairs = zip(claims, found, strict=True)
    return [each if each is not None else moved.get(_key(claim)) for claim, each in pairs]


def _key(about: Claim | Decision | Opinion) -> tuple[str, ...]:
    return (*(" ".join(text.split()) for text in (about.sentence, about.quote.exact)), _link(about))


def _link(about: Claim | Decision | Opinion) -> str:
    """The address, if it is about a link."""
    if isinstance(about, Claim):
        return about.url if about.kind == "link" else ""
    return about.link if isinstance(about, Decision) else ""
