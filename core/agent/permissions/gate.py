"""The permission gate: where a tool call waits for a person's answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.bounds import LONGEST_NAME
from ua_tui.core.agent.permissions.actions import Action, OwnServers
from ua_tui.core.agent.permissions.arguments import ToolInput
from ua_tui.core.agent.permissions.policy import Judgement, PermissionPolicy, is_free
from ua_tui.core.agent.permissions.proposals import advice, exact_pattern, proposal
from ua_tui.core.agent.permissions.rule_set import RuleSet
from ua_tui.core.bus import Publish
from ua_tui.core.errors import AgentError
from ua_tui.core.events.describe import questions_of
from ua_tui.core.events.types import (
    ASK_USER,
    EXIT_PLAN,
    PermissionAnswered,
    PermissionApplied,
    PermissionAsked,
    PermissionModeChanged,
)
from ua_tui.core.redaction.redactor import Redactor, mask_words
from ua_tui.core.text import clean, clean_line


def unmasked(tool: str, changed: ToolInput, shown: Any, original: ToolInput) -> ToolInput:
    """Return the arguments with which a call runs: the secrets that were masked on the screen are put back.

    Answers to questions of the agent are returned below the questions as the agent wrote them.
    """
    restored: ToolInput = _restored(changed, shown, original)
    answers = restored.get("answers")
    if tool == ASK_USER and isinstance(answers, dict):
        names = dict(zip(questions_of(shown), questions_of(original), strict=False))
        restored["answers"] = {names.get(key, key): answer for key, answer in answers.items()}
    return restored


def _restored(changed: Any, shown: Any, original: Any) -> Any:
    if changed == shown:
        return original
    if isinstance(changed, dict) and isinstance(shown, dict) and isinstance(original, dict):
        return {key: _restored(value, shown.get(key), original.get(key)) for key, value in changed.items()}
    lists = isinstance(changed, list) and isinstance(shown, list) and isinstance(original, list)
    if lists and len(changed) == len(shown) == len(original):
        return [_restored(*each) for each in zip(changed, shown, original, strict=True)]
    return changed


def changes_in(changed: Any, before: Any, place: str = "") -> Iterator[str]:
    """Describe how arguments were changed, a line for each value, with its place: `tools[0].arguments.subject`."""
    if isinstance(changed, Mapping) and isinstance(before, Mapping):
        for key in dict.fromkeys((*before, *changed)):
            name = f"{place}.{clean_line(key)}" if place else clean_line(key)
            if key not in changed:
                yield f"{name}: removed"
            elif key not in before:
                yield f"{name}: added {_shown(changed[key])}"
            else:
                yield from changes_in(changed[key], before[key], name)
    elif isinstance(changed, list) and isinstance(before, list) and len(changed) == len(before):
        for number, values in enumerate(zip(changed, before, strict=True)):
            yield from changes_in(*values, f"{place}[{number}]")
    elif changed != before:
        yield f"{place}: {' → '.join(_differing(_text(before), _text(changed)))}"


def _differing(before: str, after: str) -> list[str]:
    """Two texts; long ones from a few characters before they differ."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((place for place, (a, b) in pairs if a != b), min(len(before), len(after)))
    start = same - 30 if max(len(before), len(after)) > LONGEST_NAME and same > 30 else 0
    return [_shown(f"{'…' if start else ''}{text[start:]}") for text in (before, after)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    return clean_line(_text(value), LONGEST_NAME) or '""'


REASON_LIMIT = 1_000
"""How many characters of a person's reason for a denial are passed to the model."""
_DECIDE_ALONE = "No one is available to answer. Decide by yourself, say what you have assumed, and continue."


class PermissionReply(msgspec.Struct, frozen=True):
    """What was decided about one waiting call.

    `reason` is passed to the model with a denial. `patterns` are the rules that are stored for the `scope`; without
    any, the names of the tools are. `input` are the arguments with which the call runs, if the person changed them;
    those of a question of the agent have its `answers`.
    """

    allow: bool
    scope: str = "once"
    reason: str = ""
    patterns: tuple[str, ...] = ()
    input: ToolInput | None = None


class PermissionGate(msgspec.Struct, eq=False):
    """Asks a person, waits without a time limit, and answers exactly once.

    If nobody can be asked (`interactive=False`), every call is denied with the reason, and what would have allowed it.
    Before the first question about a tool of an own MCP server, a person is asked where that server acts.

    Attributes:
        interactive: whether a person can be asked.
        denied: why calls were denied, by a person, a rule or a pipeline.
    """

    policy: PermissionPolicy
    publish: Publish
    interactive: bool
    redactor: Redactor
    rules: RuleSet = msgspec.field(default_factory=RuleSet)
    servers: OwnServers = msgspec.field(default_factory=OwnServers)
    _asking_about_servers: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    _waiting: dict[str, tuple[PermissionAsked, ToolInput, asyncio.Future[PermissionReply]]] = {}
    denied: dict[str, str] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for a person."""
        return bool(self._waiting)

    async def apply(self, judgement: Judgement, tool_name: str, tool_use_id: str) -> None:
        """Record that a rule or the mode decided a call without a question, if one did."""
        rule, denied = judgement.rule, judgement.verdict == "deny"
        if denied:
            self.denied[tool_use_id] = judgement.reason
        if rule is not None:
            self.rules.note_used(rule)
            if self.rules.has_unsaved_uses:
                await asyncio.to_thread(self.rules.save_uses)
        by_rule = rule is not None and rule.origin != "demo"
        if judgement.verdict != "ask" and (by_rule or denied):
            self.publish(
                PermissionApplied(
                    tool_name=tool_name,
                    tool_use_id=tool_use_id,
                    decision="deny" if denied else "allow",
                    subjects=[clean(subject) for subject in judgement.subjects],
                    rule=clean(self.redactor.redact(rule.text)) if rule is not None else "",
                    origin=rule.origin if rule is not None else "mode",
                    reason=judgement.reason,
                )
            )

    async def ask(self, tool_name: str, tool_input: ToolInput, tool_use_id: str) -> PermissionReply:
        """Allow or deny a call; the policy is consulted again first, as it may have changed since."""
        judgement = self.policy.judge(tool_name, tool_input)
        if judgement.verdict == "ask" and judgement.rule is None and self.interactive:
            await self._ask_about_servers(self._in_question(tool_name, tool_input))
            judgement = self.policy.judge(tool_name, tool_input)
        if judgement.verdict != "ask":
            if judgement.verdict == "deny":
                await self.apply(judgement, tool_name, tool_use_id)
            return PermissionReply(judgement.verdict == "allow", "policy", judgement.reason)
        actions = self._in_question(tool_name, tool_input)
        proposed = proposal(actions, self.policy)
        if any(clean(self.redactor.redact(each)) != each for each in proposed):
            # A rule with a secret or an invisible character is not what it seems.
            proposed = ()
        event = PermissionAsked(
            request_id=uuid4().hex[:12],
            tool_name=tool_name,
            input=self.redactor.redact_value(tool_input, mask_words),
            tool_use_id=tool_use_id,
            subjects=[clean(subject) for subject in judgement.subjects],
            reason=judgement.reason,
            once_only=not proposed or judgement.rule is not None or any(map(self.policy.repeats, actions)),
            proposed=list(proposed),
            scopes=list(self.rules.scopes),
            acts_here=bool(actions) and all(action.here for action in actions),
        )
        if not self.interactive:
            self.publish(event)
            answer = PermissionReply(False, "headless", self._headless_reason(judgement, actions))
        else:
            answer = await self._apply_answer(event, tool_input, await self._put(event, tool_input))
        if not answer.allow:
            self.denied[tool_use_id] = answer.reason or "The person denied this."
        self._answered(event, answer)
        if answer.allow and tool_name == EXIT_PLAN and self.mode == "plan":
            self.change_mode("default", "plan")
        return answer

    async def may_read(self, path: Path) -> bool:
        """Whether a file that a query names is read: not if only the user of this machine could allow it.

        What a rule asks about waits for an answer; otherwise the name is the answer.

        Raises:
            AgentError: a rule or a person denies it; the message is the reason.
        """
        given = {"file_path": str(path)}
        judgement = self.policy.judge("Read", given)
        if judgement.verdict == "deny":
            if judgement.rule is None:
                return False
            raise AgentError(judgement.reason)
        if judgement.verdict == "ask" and judgement.rule is not None:
            answer = await self.ask("Read", given, f"named-{uuid4().hex[:12]}")
            if not answer.allow:
                raise AgentError(answer.reason or "you denied it")
        return True

    async def _put(self, event: PermissionAsked, tool_input: ToolInput) -> PermissionReply:
        """Publish a question, and wait for its answer, which a subscriber may give at once."""
        future: asyncio.Future[PermissionReply] = asyncio.get_running_loop().create_future()
        self._waiting[event.request_id] = event, tool_input, future
        self.publish(event)
        try:
            return await future
        except asyncio.CancelledError:
            self._answered(event, PermissionReply(False, "interrupted"))
            raise
        finally:
            self._waiting.pop(event.request_id, None)

    async def _ask_about_servers(self, actions: tuple[Action, ...]) -> None:
        """Ask where the servers of these actions act, if nobody has said; at most once in a session."""
        async with self._asking_about_servers:
            for name, question in self.servers.questions(actions).items():
                event = PermissionAsked(
                    request_id=uuid4().hex[:12], tool_name=ASK_USER, input=question, once_only=True
                )
                answer = await self._put(event, question)
                await asyncio.to_thread(self.servers.note_answer, name, answer.input)
                self._answered(event, answer)

    def _in_question(self, tool_name: str, tool_input: ToolInput) -> tuple[Action, ...]:
        """The actions of a call that need a rule to run without a question."""
        if tool_name in (EXIT_PLAN, ASK_USER):
            return ()
        return tuple(each for each in self.policy.actions_of(tool_name, tool_input) if not is_free(each))

    @property
    def mode(self) -> str:
        """The permission mode."""
        return self.policy.mode

    def change_mode(self, mode: str, by: Literal["person", "plan"] = "person") -> bool:
        """Change the permission mode, and judge the waiting calls again; returns False if it is the mode already."""
        previous = self.policy.mode
        if mode == previous:
            return False
        self.policy.mode = mode
        self.publish(PermissionModeChanged(previous=previous, mode=mode, by=by))
        for request_id, (event, given, _) in list(self._waiting.items()):
            judgement = self.policy.judge(event.tool_name, given)
            if judgement.verdict != "ask":
                allow = judgement.verdict == "allow"
                self.answer(request_id, PermissionReply(allow, "mode", judgement.reason))
        return True

    async def _apply_answer(
        self, event: PermissionAsked, tool_input: ToolInput, answer: PermissionReply
    ) -> PermissionReply:
        """Apply a person's answer, where the policy permits it."""
        if not answer.allow:
            return replace(answer, reason=clean(answer.reason).strip()[:REASON_LIMIT], input=None)
        if answer.input is not None:
            changed = unmasked(event.tool_name, answer.input, event.input, tool_input)
            judgement = self.policy.judge(event.tool_name, changed)
            if judgement.verdict == "deny":
                return PermissionReply(False, reason=f"With the changed arguments {judgement.reason}.")
            answer = replace(answer, scope="once", input=changed)
        if answer.scope in ("once", "mode"):
            return answer
        actions = self._in_question(event.tool_name, tool_input)
        texts = answer.patterns or tuple(dict.fromkeys(exact_pattern(action.name) for action in actions))
        problem = await asyncio.to_thread(
            self.rules.remember,
            actions,
            answer.scope,
            texts,
            self.policy.workspace,
        )
        return (
            PermissionReply(True, "once", problem) if problem is not None else replace(answer, patterns=texts)
        )

    def _headless_reason(self, judgement: Judgement, actions: tuple[Action, ...]) -> str:
        if ASK_USER in judgement.subjects:
            return _DECIDE_ALONE
        if judgement.rule is not None:
            return f"No one is available to answer, and {judgement.reason}."
        denied = f"Denied: {self.redactor.redact(clean(judgement.reason))}. No one is available to answer"
        found = "; or ".join(advice(actions, self.policy, self.servers.undecided(actions)))
        if not found:
            return f"{denied}, and no rule is narrow enough to allow it in advance."
        masked = self.redactor.redact(clean(found))
        hint = "" if masked == found else " (with the masked values)"
        return f"{denied}. {masked[0].upper()}{masked[1:]}{hint}."

    def answer(self, request_id: str, answer: PermissionReply) -> bool:
        """Answer a waiting call; returns False if no call waits under this id."""
        _, _, future = self._waiting.get(request_id, (None, None, None))
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True

    def cancel_all(self, reason: str) -> None:
        """Deny every waiting call."""
        for request_id in list(self._waiting):
            self.answer(request_id, PermissionReply(False, "interrupted", reason))

    def _answered(self, event: PermissionAsked, answer: PermissionReply) -> None:
        changed = None if answer.input is None else self.redactor.redact_value(answer.input, mask_words)
        is_edit = changed is not None and not event.is_question
        self.publish(
            PermissionAnswered(
                request_id=event.request_id,
                tool_name=event.tool_name,
                decision="allow" if answer.allow else "deny",
                subjects=event.subjects,
                scope=answer.scope,
                reason=answer.reason,
                patterns=[clean(pattern) for pattern in answer.patterns],
                input=changed,
                changes=list(changes_in(changed, event.input)) if is_edit else [],
                tool_use_id=event.tool_use_id,
            )
        )
