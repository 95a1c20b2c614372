"""The message below a past session, and above a replay: how it ended, what could not be read or was never sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ua_tui.core.events.describe import Severity
from ua_tui.core.events.units import quantity
from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.history.recording import Recording
from ua_tui.core.text import as_sentence, clean
from ua_tui.tui.panes.conversation.notices import AppMessage

MOST_UNSENT = 20
LONGEST_UNSENT = 2_000
TOPIC = "past session"


def past_message(stats: SessionStats, unsent: Sequence[str]) -> AppMessage | None:
    """Return the message, if there is one; texts from the session are cleaned here."""
    details = (*stats.unread.sentences("screen"), *_unsent(unsent))
    folder = tuple(map(as_sentence, stats.folder))
    if stats.read >= 1.0 and not stats.events:
        return AppMessage(Severity.STOPPED, "The journal of this session has no events.", details, TOPIC)
    match stats.state:
        case "finished" | "stopped":
            # That it is a past session stands in the prompt.
            lines = (*folder, *details)
            return AppMessage(Severity.INFO, lines[0], lines[1:], TOPIC) if lines else None
        case "running":
            # Without details the prompt and the status line say that the session is followed.
            text = "This session is running in another program, and some of it cannot be shown."
            return AppMessage(Severity.STOPPED, text, details) if details else None
        case "crashed":
            text = "The program ended in the middle of this session: open calls are shown as unfinished."
            return AppMessage(Severity.STOPPED, text, (*folder, *details), TOPIC)


def resumed_message(stats: SessionStats, unsent: Sequence[str]) -> AppMessage | None:
    """Return the message for a resumed session: only what could not be read; unsent queries are in the prompt."""
    details = tuple(stats.unread.sentences("screen"))
    if not details:
        return None
    return AppMessage(Severity.STOPPED, "Some of the past session cannot be shown.", details, TOPIC)


def missing_text(recording: Recording) -> str:
    """Say what is missing in a recording; empty if nothing is."""
    if not len(recording):
        return "The journal of this session has no events that can be read: there is nothing to replay."
    sentences = [*recording.journal.unread.sentences("screen")]
    if recording.starts_late and not recording.journal.unread.left_out:
        sentences.append("The beginning of its journal is missing.")
    if recording.orphans:
        lacking = quantity(recording.orphans, "call or query has", "calls or queries have")
        sentences.append(f"Events are missing: {lacking} no beginning.")
    if recording.disordered:
        are = "is" if recording.disordered == 1 else "are"
        sentences.append(f"{quantity(recording.disordered, 'event')} {are} out of order.")
    return " ".join(sentences)


def _unsent(unsent: Sequence[str]) -> Iterator[str]:
    if not unsent:
        return
    were = "was" if len(unsent) == 1 else "were"
    yield f"{quantity(len(unsent), 'query', 'queries')} {were} never sent:"
    for text in unsent[:MOST_UNSENT]:
        yield "› " + clean(text[:LONGEST_UNSENT]).strip() + (" …" if len(text) > LONGEST_UNSENT else "")
    if len(unsent) > MOST_UNSENT:
        yield f"and {len(unsent) - MOST_UNSENT:,} more, in queue.json"
