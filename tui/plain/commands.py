"""The commands of a session line by line: `/mode`, `/permissions` and `/commands`."""

from __future__ import annotations

from core.errors import SettingsError
from core.events.describe import MODE_RULES
from core.session.session import Session
from core.text import clean_line

__all__ = ["run_command"]

_SKIP = "Every check can only be skipped from the start, with --dangerously-skip-permissions."
_NO_RULES = "There are no rules: what is not contained asks each time."


async def run_command(session: Session, line: str) -> list[str] | None:
    """Run a command, and return the lines to write; None if the line is a query. Changed modes are events."""
    match line.split():
        case ["/mode"]:
            now = session.permission_mode
            modes = [
                f"{name}: {rule}{' (current)' if name == now else ''}" for name, rule in MODE_RULES.items()
            ]
            return [*modes, "To change the mode: /mode NAME"]
        case ["/mode", "bypassPermissions"]:
            return [_SKIP]
        case ["/mode", name, *rest]:
            try:
                # The session refuses a mode that does not exist.
                await session.set_permission_mode(" ".join((name, *rest)))  # type: ignore[arg-type]
            except SettingsError as error:
                return [str(error)]
            return []
        case ["/permissions"]:
            return _rules(session)
        case ["/commands"]:
            return _commands(session)
        case _:
            return None


def _commands(session: Session) -> list[str]:
    lines = [
        clean_line(f"/{each.name} {each.hint}: {each.description}", 300).replace(" :", ":")
        for each in session.custom_commands
    ]
    return lines or ["You have no commands of your own: they are Markdown files in ~/.claude/commands."]


def _rules(session: Session) -> list[str]:
    rules = session.rules
    lines: list[str] = []
    for rule in rules:
        used = rules.last_used(rule)
        when = f"last used {used.astimezone():%Y-%m-%d %H:%M}" if used is not None else "never used"
        lines.append(f"{rule.effect} {clean_line(rule.text, 200)} (from {rule.origin}, {when})")
    problem = [rules.problem] if rules.problem else []
    return [*problem, *(lines or [_NO_RULES]), "To remove stored rules, and for the log: ua-tui permissions"]
