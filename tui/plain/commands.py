"""The commands of plain mode: `/mode`, `/permissions`, `/context` and `/commands`."""

from __future__ import annotations

from functools import partial
from inspect import isawaitable
from typing import Any

from ua_tui.core.agent.messages.usage import describe_total
from ua_tui.core.agent.permissions.rule_set import NO_RULES
from ua_tui.core.errors import SettingsError, UniversalAgentError
from ua_tui.core.events.describe import MODE_RULES
from ua_tui.core.session.session import Session
from ua_tui.core.text import as_sentence, clean_line
from ua_tui.tui.widgets.command import Argument, Command, command_problem, sent_commands, typed_command

_PERMISSIONS = (
    "`ua-tui permissions remove` removes stored rules, and `ua-tui permissions log` shows the decisions"
)
_SKIP = "Checks can only be skipped from the start, with --dangerously-skip-permissions."


async def run_command(session: Session, line: str) -> list[str] | None:
    """Run a command, and return the lines to write; None if the line is a query. Changed modes are events."""
    commands = _commands_of(session)
    if line.strip() in ("/", "/help"):
        servers = [
            f"/{name}: lists the prompts and resources of {name}" for name in session.references.servers
        ]
        return [*(f"/{each.name}: {each.title}" for each in commands), *servers]
    if (call := session.references.prompt_call(line)) is not None:
        return None if call.name else await _contents(session, call.server)
    command = typed_command(line, commands)
    if command is None:
        # Until the agent is connected, its own commands are not known.
        known = session.commands or {line[1:].partition(" ")[0]}
        problem = command_problem(line, commands, known)
        return [as_sentence(problem)] if problem else None
    lines: Any = command.run()
    return list(await lines if isawaitable(lines) else lines)


def _commands_of(session: Session) -> list[Command]:
    modes = Argument("permission mode", lambda: MODE_RULES, partial(_change_mode, session))
    return [
        Command(
            "mode",
            "shows the permission modes; /mode NAME changes the mode",
            "",
            partial(_modes, session),
            argument=modes,
        ),
        Command("permissions", "lists the permission rules", "", partial(_rules, session)),
        Command("commands", "lists your own commands", "", partial(_custom_commands, session)),
        Command("context", "shows what fills the model's context", "", partial(_context, session)),
        *sent_commands(session),
    ]


async def _contents(session: Session, server: str) -> list[str]:
    try:
        contents = await session.references.list(server)
    except UniversalAgentError as error:
        return [f"{error}."]
    prompts = [
        clean_line(f"/{server}:{each.name} {each.hint}".strip() + f": {each.about}", 300)
        for each in contents.prompts
    ]
    resources = [
        clean_line(f"@{server}:{each.uri}: {each.title}", 300).removesuffix(": ")
        for each in contents.resources
    ]
    return [*prompts, *resources] or [f"{server} has no prompts and no resources."]


async def _context(session: Session) -> list[str]:
    try:
        usage = await session.context_usage()
    except UniversalAgentError as error:
        return [f"The agent did not report what fills the context: {clean_line(str(error), 300)}"]
    if usage is None:
        return ["The agent is not connected: there is no context yet."]
    lines = [describe_total(usage)]
    for part in usage.parts:
        if part.is_used:
            details = ", ".join(f"{name} {tokens:,}" for name, tokens in part.details)
            lines.append(f"{part.name}: {part.tokens:,} tokens{f' ({details})' if details else ''}")
    return lines


def _modes(session: Session) -> list[str]:
    now = session.permission_mode
    modes = [f"{name}: {rule}{' (current)' if name == now else ''}" for name, rule in MODE_RULES.items()]
    return [*modes, "To change the mode: /mode NAME"]


async def _change_mode(session: Session, name: str) -> list[str]:
    if name == "bypassPermissions":
        return [_SKIP]
    if name == session.permission_mode:
        return [f"The permission mode is already {name}."]
    try:
        await session.set_permission_mode(name)  # type: ignore[arg-type]
    except SettingsError as error:
        return [error.advice.sentence]
    return []


def _custom_commands(session: Session) -> list[str]:
    lines = [
        clean_line(f"/{each.name} {each.hint}: {each.description}", 300).replace(" :", ":")
        for each in session.custom_commands
    ]
    none = "You have no commands of your own. To add one, write a Markdown file in ~/.claude/commands."
    return lines or [none]


def _rules(session: Session) -> list[str]:
    rules = session.rules
    lines: list[str] = []
    for rule in rules:
        used = rules.last_used(rule)
        when = f"last used {used.astimezone():%Y-%m-%d %H:%M}" if used is not None else "never used"
        lines.append(f"{rule.effect} {clean_line(rule.text, 200)} (from {rule.origin}, {when})")
    problem = [rules.problem] if rules.problem else []
    return [*problem, *(lines or [NO_RULES]), _PERMISSIONS]
