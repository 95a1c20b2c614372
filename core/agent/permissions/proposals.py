"""Rules that would allow a call: the narrowest ones to propose, and what is wrong with those that a person wrote."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ua_tui.core.agent.bounds import MOST_PARTS
from ua_tui.core.agent.permissions.actions import Action, can_be_remembered, is_wrapper
from ua_tui.core.agent.permissions.arguments import (
    ADDRESS_WORDS,
    CODE_ARGUMENTS,
    host_of,
    is_plain_option,
    leaves,
    names_destination,
)
from ua_tui.core.agent.permissions.conditions import command_words, escape
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.rules import LONGEST_RULE, MAIN_ARGUMENTS, Origin, Rule, check
from ua_tui.core.events.types import READ_RESOURCE
from ua_tui.core.text import words_of

_WILD = re.compile(r"[*?\[]")
_FIRST_WORD = re.compile(r"[^_\-.(]+[_\-.]?")
_RULES = re.compile(r"[^\s,()]+(?:\(.*?\)(?=[\s,]|$))?", re.DOTALL)


def exact_pattern(name: str) -> str:
    """The pattern that matches only this name, with the wild cards in it escaped."""
    return _WILD.sub(lambda found: f"[{found[0]}]", name)


def first_word(name: str) -> str:
    """What a pattern for this tool must begin with, such as `GMAIL_`; empty if there is nothing suitable."""
    found = _FIRST_WORD.match(name)
    return found[0] if found else ""


def split_rules(text: str) -> tuple[str, ...]:
    """The rules that a person wrote in one line, separated by spaces or commas outside of parentheses."""
    rest = _RULES.sub(" ", text).replace(",", " ").split()
    return tuple(dict.fromkeys([*_RULES.findall(text), *rest]))


def proposal(actions: Iterable[Action], policy: PermissionPolicy) -> tuple[str, ...]:
    """The narrowest rules that would allow these actions from now on; none if there are no suitable ones."""
    found = [_narrowest_of(action, policy, "session") for action in actions]
    return tuple(dict.fromkeys(text for text in found if text is not None)) if None not in found else ()


def advice(actions: Sequence[Action], policy: PermissionPolicy, undecided: Iterable[str] = ()) -> list[str]:
    """What can be done in advance so that actions run: alternatives, in words with options quoted for a shell.

    Each was tried on the policy. `undecided` are the servers of which nobody said where they act.
    """
    found: list[str] = []
    rules = [_narrowest_of(action, policy, "option") for action in actions]
    if None not in rules and rules:
        options = " ".join(
            dict.fromkeys(f"--allow {shlex.quote(text)}" for text in rules if text is not None)
        )
        found.append(f"to allow it, start with {options}")
    for name in undecided:
        rule = Rule("allow", f"mcp__{name}__*")
        if all(policy.would_allow(action, rule, here=True) for action in actions):
            found.append(
                f"if no tool of {name} reaches anything outside this machine, run `ua-tui servers here {name}` once "
                f"and start with --allow '{rule.text}'"
            )
    return found


def _narrowest_of(action: Action, policy: PermissionPolicy, origin: Origin) -> str | None:
    """The narrowest rule after which an action would run unasked."""
    texts = (text for text in _candidates(action, policy.workspace) if check(text) is None)
    return next((text for text in texts if policy.would_allow(action, Rule("allow", text, origin))), None)


def _candidates(action: Action, folder: Path) -> Iterator[str]:
    if is_wrapper(action.name):
        return
    if (text := _narrowest(action, folder)) is not None:
        yield text
    names = [exact_pattern(action.name)] if action.server or action.name not in MAIN_ARGUMENTS else []
    more = list(_with_all_arguments(action)) if action.server else []
    # A name alone does not hold for long if the tool may send something to somebody.
    yield from (*more, *names) if action.is_own and not (action.here or action.reads) else (*names, *more)


def _with_all_arguments(action: Action) -> Iterator[str]:
    """Rules that name each argument: with the code and short values of the call, or with all of them."""
    values: dict[str, list[str]] = {}
    for path, value in leaves(action.arguments):
        if not is_plain_option(path, value):
            values.setdefault(".".join(path), []).append(str(value))
    for longest in (40, LONGEST_RULE):
        conditions = []
        for name, found in values.items():
            text = "|".join(map(escape, found))
            conditions.append(f"{name}={text if len(text) <= longest or name in CODE_ARGUMENTS else '*'}")
        yield f"{exact_pattern(action.name)}({', '.join(conditions)})"


def rules_problem(
    texts: Sequence[str], actions: Sequence[Action], folder: Path, origin: Origin = "session"
) -> str | None:
    """Why a person may not allow a call of `actions` with these rules in its dialog; None if they may.

    Each action must be covered, and a rule must begin with the complete first word of one of them: a bare `*` would
    allow tools that nobody has considered.
    """
    if not actions:
        return "This call needs no rule."
    if not texts:
        return "Write a rule, such as the name of the tool."
    if len(texts) > MOST_PARTS:
        return f"Write at most {MOST_PARTS} rules."
    heads = {head for action in actions if (head := first_word(action.name))}
    rules = [Rule("allow", text, origin) for text in texts]
    for rule in rules:
        if (problem := check(rule.text)) is not None:
            return problem
        if not any(_WILD.split(rule.tool, maxsplit=1)[0].startswith(head) for head in heads):
            return f"{rule.text} is too broad: begin it with {' or '.join(sorted(heads)) or 'the name'}."
    for action in actions:
        if any(rule.matches(action, folder) for rule in rules):
            continue
        named = [rule for rule in rules if fnmatchcase(action.name, rule.tool)]
        if (
            named
            and not (action.here or can_be_remembered(action.name))
            and not any(rule.names_destination for rule in named)
        ):
            return f"{action.name} needs an argument that limits where it may go, such as {_example(action)}."
        widest = ["Bash(*)", _narrowest(action, folder)] if action.name == "Bash" else []
        if widest and not any(text and Rule("allow", text).matches(action, folder) for text in widest):
            return "No rule covers this command: it could run something else, or write a file."
        return f"It does not cover {action.name}, which this call runs."
    return None


def _example(action: Action) -> str:
    if action.name in MAIN_ARGUMENTS and not action.server:
        return "Bash(git diff:*)" if action.name == "Bash" else f"{action.name}(/folder/**)"
    return f"{action.name}(to=*@ourfirm.example)"


def _narrowest(action: Action, folder: Path) -> str | None:
    given = action.arguments
    if given is None or is_wrapper(action.name):
        return None
    name = exact_pattern(action.name)
    if not action.server and action.name in MAIN_ARGUMENTS:
        value = given.get(MAIN_ARGUMENTS[action.name])
        if action.name == "Bash":
            plain = isinstance(value, str) and command_words(value) and "*" not in value
            return f"Bash({value})" if plain else None
        return _file_rule(action.name, value, folder)
    if action.name == READ_RESOURCE:
        # The parts of its address are names on the server.
        return f"{name}(uri={escape(str(given.get('uri')))})"
    conditions: dict[str, None] = {}
    for argument, values in _destinations(action).items():
        hosts = [host_of(value) for value in values]
        is_address = not ADDRESS_WORDS.isdisjoint(words_of(argument.split(".")[-1]))
        is_host = is_address and all(hosts)
        choices = dict.fromkeys(map(str, hosts if is_host else values))
        if len(choices) > 10:
            return None
        key = "host" if is_host else argument
        conditions[f"{key}={'|'.join(escape(choice) for choice in choices)}"] = None
    return f"{name}({', '.join(conditions)})" if conditions else None


def _destinations(action: Action) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, value in leaves(action.arguments):
        if value != "" and not isinstance(value, bool) and any(map(names_destination, path)):
            found.setdefault(".".join(path), []).append(str(value))
    return found


def _file_rule(tool: str, value: object, folder: Path) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        path = (folder / Path(value).expanduser()).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return f"{tool}({escape(str(path), quoted=False)})"
