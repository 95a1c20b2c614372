"""The requests of MCP servers as lines: first whether they are answered, then the fields of a form, one by one."""

from __future__ import annotations

from ua_tui.core.agent.elicitation.form import Value, checked_value, field_hint
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import ElicitationAsked, FormField
from ua_tui.core.text import clean_line
from ua_tui.tui.plain.questions import DENIED, Answer, Question
from ua_tui.tui.terminal.links import browser_link

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
    numbers = typed.replace(",", " ").split()
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
