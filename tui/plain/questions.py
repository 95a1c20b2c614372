"""The requests that need an answer, as numbered questions; the first answer is harmless and the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ua_tui.core.agent.mcp.elicitation import Value, checked_value, field_hint
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import AuthRequired, ElicitationAsked, FormField, PermissionAsked
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.terminal.links import browser_link


@dataclass(frozen=True)
class Answer:
    """An answer: whether a call is allowed and for how long, or the outcome of a link.

    `mode` is the permission mode in which the work continues after a plan, if not in the default one; `text` is the
    answer to a question of the agent.
    """

    allow: bool = False
    scope: str = "once"
    reason: str = ""
    outcome: Literal["completed", "cancelled"] = "cancelled"
    rules: tuple[str, ...] = ()
    mode: Literal["", "acceptEdits"] = ""
    text: str = ""


DENIED = Answer()
_SCOPES = {
    "session": "Allow for this session",
    "folder": "Allow in this folder, until removed",
    "everywhere": "Allow everywhere, until removed",
}


@dataclass(frozen=True)
class Question:
    """A question as lines, and the answers by number from 1; the first one is the default.

    Attributes:
        accepts_text: whether a text that is no number is a no with a reason.
        is_open: whether such a text is the answer to the question instead.
        several: whether several numbers are an answer.
    """

    lines: Sequence[str]
    answers: Sequence[tuple[str, Answer]]
    accepts_text: bool
    is_open: bool = False
    several: bool = False

    @property
    def all_lines(self) -> list[str]:
        """The question and its numbered answers."""
        numbered = [
            f"{number}. {label}{' (default)' if number == 1 else ''}"
            for number, (label, _) in enumerate(self.answers, 1)
        ]
        return [clean(line) for line in (*self.lines, *numbered)]

    @property
    def hint(self) -> str:
        """What can be an answer, for a line that is not an answer."""
        what = f"{'numbers' if self.several else 'a number'} from 1 to {len(self.answers)}"
        return f"Please answer with {what}{', or with text' if self.is_open else ''}."

    def chosen(self, typed: str) -> Answer | None:
        """Return the answer with this number, or those with these numbers if several are possible; else None."""
        return self._several(typed) if self.several else self._numbered(typed)

    def _numbered(self, typed: str) -> Answer | None:
        typed = typed.strip().removesuffix(".")
        if typed.isascii() and typed.isdigit() and 1 <= int(typed[:3]) <= len(self.answers):
            return self.answers[int(typed[:3]) - 1][1]
        return None

    def answer(self, typed: str) -> Answer | None:
        """Return the answer for a typed line; an empty line is the default, None if it is not an answer."""
        if not typed.strip():
            return self.answers[0][1]
        found = self.chosen(typed)
        if found is None and not self._is_slip(typed):
            if self.is_open:
                return Answer(allow=True, text=typed.strip())
            if self.accepts_text:
                return Answer(reason=typed.strip())
        return found

    def _is_slip(self, typed: str) -> bool:
        """Whether a line is meant as numbers of answers, although it is no answer."""
        parts = _parts(typed)
        numbers = all(part.isdigit() for part in parts)
        return numbers and (len(parts) == 1 or any(self._numbered(part) is not None for part in parts))

    def _several(self, typed: str) -> Answer | None:
        found = [self._numbered(each) for each in _parts(typed)]
        if not found or DENIED in found:
            return DENIED if found else None
        texts = [each.text for each in found if each is not None]
        return Answer(allow=True, text=", ".join(texts)) if len(texts) == len(found) else None


def _parts(typed: str) -> list[str]:
    """The words of a line, separated by commas or blanks."""
    return typed.replace(",", " ").split()


def questions_of_agent(event: PermissionAsked) -> dict[str, Question]:
    """Describe the questions that the agent asks, each by its text."""
    from ua_tui.tui.screens.requests.question import agent_questions

    return {
        each.text: Question(
            [
                f"Question: {each.text}",
                *(["Several numbers are possible, such as 2 3."] if each.several else []),
                "You can also type an answer.",
            ],
            [
                ("Do not answer", DENIED),
                *(
                    (f"{label}: {about}" if about else label, Answer(allow=True, text=label))
                    for label, about in each.options
                ),
            ],
            accepts_text=False,
            is_open=True,
            several=each.several,
        )
        for each in agent_questions(event)
    }


def question_of(event: PermissionAsked | AuthRequired) -> Question:
    """Describe the request of an event, with everything that would run or be opened."""
    match event:
        case PermissionAsked(is_plan=True):
            return _plan(event)
        case PermissionAsked():
            return _permission(event)
        case AuthRequired():
            by = f" by {event.expires_at.astimezone():%H:%M}" if event.expires_at is not None else ""
            return Question(
                [f"Sign in with the link above{by}, then come back. Was the account connected?"],
                [
                    ("No, continue without it", DENIED),
                    ("Yes, the agent continues", Answer(outcome="completed")),
                ],
                accepts_text=False,
            )


def _permission(event: PermissionAsked) -> Question:
    from ua_tui.tui.screens.requests.arguments import argument_lines, reveal
    from ua_tui.tui.screens.requests.headings import heading_of

    subjects = [reveal(subject) for subject in event.subjects]
    runs = ", ".join(subjects) or reveal(event.tool_name)
    tool = reveal(event.tool_name)
    answers = [("Deny", DENIED), ("Allow once", Answer(allow=True))]
    if not event.once_only:
        rules = tuple(event.proposed)
        what = f": {clean_line(reveal(' '.join(rules)), 300)}" if rules else ""
        answers += [
            (f"{label}{what}", Answer(allow=True, scope=scope, rules=rules))
            for scope, label in _SCOPES.items()
            if scope in event.scopes
        ]
    return Question(
        [
            f"Permission needed: {heading_of(event.tool_name, event.input, subjects)}",
            *(f"  {line}" for line in argument_lines(event.input)),
            f"Tool: {runs}{f' ({tool})' if tool != runs else ''}",
            *([f"Why: {clean_line(reveal(event.reason), 500)}"] if event.reason else []),
        ],
        answers,
        accepts_text=True,
    )


def _plan(event: PermissionAsked) -> Question:
    from ua_tui.tui.plain.plain_markdown import unmarked

    plan = unmarked(str(event.input.get("plan") or ""))
    return Question(
        ["The plan:", *(f"  {line}".rstrip() for line in plan.splitlines()), "Do you approve it?"],
        [
            ("Keep planning", DENIED),
            ("Approve it; other calls still need permission", Answer(allow=True)),
            ("Approve it, and allow file edits", Answer(allow=True, mode="acceptEdits")),
        ],
        accepts_text=True,
    )


CANCELLED = Answer(reason="cancel")
_WARNING = (
    "Warning: this server asks for a password or a key, which servers must not do. It gets whatever you type."
)


def server_question(event: ElicitationAsked) -> Question:
    """Ask whether a request is answered, with all that it asks for."""
    from ua_tui.tui.screens.requests.arguments import reveal, reveal_line

    server, said = reveal_line(event.server), reveal(event.message) or "(no message)"
    if event.mode == "url":
        link = browser_link(event.url)
        host = f"It leads to {link.host}." if link else "It is not a web link."
        lines = [f"The MCP server {server} asks you to open a page: {said}", host, reveal_line(event.url)]
        accepted = "I have opened it; continue"
    else:
        titles = ", ".join(reveal_line(each.title) for each in event.fields) or "nothing"
        lines = [f"The MCP server {server} asks: {said}", f"It asks for: {titles}."]
        lines += [_WARNING] if any(each.secret for each in event.fields) else []
        accepted = "Answer"
    answers = [("Decline", DENIED), (accepted, Answer(allow=True)), ("Cancel", CANCELLED)]
    return Question(lines, answers, accepts_text=False)


def field_lines(field: FormField) -> list[str]:
    """Describe a field, with its choices by number from 1."""
    needed = "required" if field.required else "optional: press Enter to leave it out"
    if field.default is not None:
        needed = f"press Enter for {clean_line(_written(field, field.default))}"
    notes = [clean_line(note, 1_000) for note in (field.about, field_hint(field)) if note]
    lines = [f"{clean_line(field.title)} ({needed})", *notes]
    lines += [f"{number}. {clean_line(title)}" for number, (_, title) in enumerate(_choices(field), 1)]
    return [*lines, "Several numbers are possible, such as 2 3."] if field.kind == "choices" else lines


def typed_value(field: FormField, typed: str) -> Value | None:
    """Return the value of a field for a typed line; an empty line is the default.

    Raises:
        FormError: it does not fit.
    """
    typed = typed.strip()
    if not typed:
        return checked_value(field, field.default)
    choices = _choices(field)
    if not choices:
        return checked_value(field, typed)
    numbers = _parts(typed)
    if not all(each.isascii() and each.isdigit() and 1 <= int(each[:4]) <= len(choices) for each in numbers):
        raise FormError(f"Enter a number from 1 to {len(choices)}.")
    found = [choices[int(each) - 1][0] for each in numbers]
    if field.kind == "choices":
        return checked_value(field, found)
    if len(found) > 1:
        raise FormError("Enter one number.")
    return checked_value(field, found[0])


def _choices(field: FormField) -> list[tuple[bool | str, str]]:
    if field.kind == "boolean":
        return [(True, "yes"), (False, "no")]
    return [(option.value, option.title) for option in field.options]


def _written(field: FormField, value: Value) -> str:
    titles = dict(_choices(field))
    values = value if isinstance(value, list) else [value]
    return ", ".join(
        titles.get(each, str(each)) if isinstance(each, bool | str) else str(each) for each in values
    )
