"""The SDK's hooks: where pipelines, permissions and the rules for sub-agents reach into the running agent.

Hooks run in this process, between the model's request and its execution: `PreToolUse` before a call, `PostToolUse` and
`PostToolUseFailure` after it, `SubagentStop` before a sub-agent stops, `UserPromptSubmit` when a query is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.attachments.mentions import without_mentions
from ua_tui.core.agent.bounds import LONGEST_TEXT, STEP_SECONDS
from ua_tui.core.agent.definitions.rules import UnmetRule
from ua_tui.core.agent.ledger import ActionRecorder
from ua_tui.core.agent.messages.result_files import READERS, ResultStore
from ua_tui.core.agent.messages.results import RawResult
from ua_tui.core.agent.messages.translate import Translator
from ua_tui.core.agent.permissions.actions import subjects_of
from ua_tui.core.agent.permissions.arguments import Arguments, ToolInput
from ua_tui.core.agent.permissions.gate import PermissionGate
from ua_tui.core.agent.permissions.policy import is_search
from ua_tui.core.agent.permissions.taint import LARGEST_READ, Taint, has_addresses
from ua_tui.core.errors import AgentError, Denied
from ua_tui.core.events.types import ASK_USER, EXIT_PLAN, ComplianceEnforced, ComplianceFailed
from ua_tui.core.json_values import JsonObject, text_in
from ua_tui.core.log import log
from ua_tui.core.observation import ReturnedFile
from ua_tui.core.pipelines import AfterTool, BeforeTool, Pipelines, ToolErrored
from ua_tui.core.text import clean

if TYPE_CHECKING:
    import claude_agent_sdk as sdk
    from claude_agent_sdk.types import HookEvent


SIMPLE_HINT = (
    "This question can be answered from general knowledge. Answer it directly and briefly; "
    "use a tool only if the answer would otherwise be wrong."
)
PLAN_HINT = (
    "The session is in plan mode: use only tools that read or search, and write or send nothing. There is no plan "
    "file. When the plan is ready, whatever it is about, write all of it as Markdown in your message, then call "
    f"{EXIT_PLAN}: the person reads it there, and approves it or asks for changes."
)
STOPPED_HINT = (
    "The person stopped this sub-agent; it did not fail. What it saved is in the workspace. Do not start it again for "
    "the same task unless the person asks for that. Continue with what there is, and say in the answer what is missing."
)
# Others let a sub-agent work elsewhere, such as in a copy of the repository around the session, where files that it may
# not read have paths that it may.
_OF_SUBAGENTS = {"description", "prompt", "subagent_type", "model", "effort", "resume"}
_CHANGED = (
    "The person changed the arguments of this call before allowing it: it did what they want, not exactly what you "
    "asked for. It ran with: {}"
)


SubagentCheck = Callable[[str, str, datetime | None], Awaitable[Sequence[UnmetRule]]]
"""Checks a sub-agent that is about to stop: (its name, its request, when it started) -> the rules it has not met."""


class HookCopies(msgspec.Struct):
    """What the hooks received for one call, kept until its result message arrives."""

    effective_input: ToolInput | None = None
    response: Any = None
    files: tuple[ReturnedFile, ...] = ()
    transcript: str = ""
    error: str | None = None
    note: str = ""
    """What the model is to know about the call, with its result."""


class AgentHooks(msgspec.Struct, eq=False):
    """Answers the SDK's hook calls for one session.

    `on_simple_path` says that the running query is on that path, `stopping` that it is being stopped. `final_plan`
    is the plan with which it ended, as nobody can approve it. `copies` are what the hooks received,
    by call. `recorder` records the calls that act outside.
    """

    pipelines: Pipelines
    gate: PermissionGate
    taint: Taint
    results: ResultStore
    translator: Translator
    recorder: ActionRecorder
    check_subagent: SubagentCheck
    copies: dict[str, HookCopies] = {}
    _sent_back: dict[str, list[ComplianceFailed | ComplianceEnforced]] = {}
    _plans: dict[str, asyncio.Future[str]] = {}
    on_simple_path: bool = False
    stopping: bool = False
    final_plan: str = ""

    def matchers(self) -> dict[HookEvent, list[sdk.HookMatcher]]:
        """The hooks as the SDK takes them; a failing `PreToolUse` blocks the call."""
        from claude_agent_sdk import HookMatcher

        return {
            "PreToolUse": [HookMatcher(hooks=[self._before], timeout=24 * 3600.0, on_failure="block")],
            "PostToolUse": [HookMatcher(hooks=[self._after])],
            "PostToolUseFailure": [HookMatcher(hooks=[self._failed])],
            "SubagentStop": [HookMatcher(hooks=[self._subagent_stop])],
            "UserPromptSubmit": [HookMatcher(hooks=[self._prompt])],
        }

    def forget(self) -> None:
        """Forget every call, as when its agent is gone."""
        self.copies.clear()
        self._sent_back.clear()
        self._plans.clear()

    def note_subagent_active(self, call: str | None) -> None:
        """Report that a sub-agent was sent back, now that it works again; `call` is the call that started it."""
        for event in self._sent_back.pop(call or "", ()):
            self.gate.publish(event)

    def note_plan(self, tool_use_id: str, plan: str) -> None:
        """Record the plan that a call asks to approve, as the agent's messages have it."""
        written = self._plan_of(tool_use_id)
        if not written.done():
            written.set_result(plan)

    def _plan_of(self, tool_use_id: str) -> asyncio.Future[str]:
        return self._plans.setdefault(tool_use_id, asyncio.get_running_loop().create_future())

    async def _read_plan(self, tool_use_id: str) -> str:
        # The message may be read a little later than the hook is called.
        try:
            return await asyncio.wait_for(asyncio.shield(self._plan_of(tool_use_id)), STEP_SECONDS)
        except TimeoutError:
            log.warning("the plan of %s could not be read", tool_use_id)
            return ""

    async def may_use(
        self, tool_name: str, tool_input: ToolInput, context: sdk.ToolPermissionContext
    ) -> sdk.PermissionResult:
        """Answer the SDK's permission prompt."""
        from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

        tool_use_id = context.tool_use_id or ""
        denial = "The person denied this. Do not try it another way."
        if tool_name == EXIT_PLAN:
            tool_input = {"plan": await self._read_plan(tool_use_id)}
            denial = "The person wants to continue planning. Ask what to change; do not carry the plan out."
        if tool_name == ASK_USER:
            denial = (
                "The person did not answer. Continue without the answer and say what you assume, or end here."
            )
        answer = await self.gate.ask(tool_name, tool_input, tool_use_id)
        if answer.allow:
            runs_with = tool_input if answer.input is None else answer.input
            if refusal := await self.recorder.begin(tool_name, runs_with, tool_use_id, self._is_stopping):
                self.gate.denied[tool_use_id] = refusal
                return PermissionResultDeny(message=refusal)
        if answer.allow and answer.input is not None:
            self._note_changed(tool_name, tool_use_id, answer.input, tool_input)
            return PermissionResultAllow(updated_input=answer.input)
        if answer.allow:
            return PermissionResultAllow()
        return PermissionResultDeny(message=answer.reason or denial)

    def _note_changed(self, tool_name: str, tool_use_id: str, changed: ToolInput, before: ToolInput) -> None:
        """Record that a person changed the arguments of a call; the model reads it with the result."""
        copies = self.copies.setdefault(tool_use_id, HookCopies())
        copies.effective_input = changed
        self.taint.note_call(tool_name, changed)
        if tool_name != ASK_USER and changed != before:
            own = {key: value for key, value in changed.items() if key not in before or before[key] != value}
            left_out = [key for key in before if key not in changed]
            copies.note = _CHANGED.format(json.dumps(own, ensure_ascii=False)[:LONGEST_TEXT])
            copies.note += f" Without: {', '.join(left_out)}." if left_out else ""

    async def _before(self, data: Any, _id: str | None, _context: Any) -> Any:
        name, tool_use_id = str(data["tool_name"]), str(data["tool_use_id"])
        payload = await self.pipelines.run(
            "tool.before_execute",
            BeforeTool(tool_use_id=tool_use_id, name=name, input=dict(data["tool_input"])),
        )
        effective, transcript = dict(payload.input), text_in(data, "transcript_path")
        if name in READERS:
            effective = await asyncio.to_thread(self.results.redirect, name, effective, transcript)
        if name in {"Agent", "Task"}:
            effective = {key: value for key, value in effective.items() if key in _OF_SUBAGENTS}
            effective["run_in_background"] = False
        if name == "Skill" and isinstance(effective.get("args"), str):
            effective["args"] = without_mentions(effective["args"])
        direct = returned_directly(name, effective)
        effective, note = (effective, "") if direct is None else (direct, _RETURNED_NOTE)
        self.copies[tool_use_id] = HookCopies(effective_input=effective, transcript=transcript, note=note)
        self.taint.note_call(name, effective)
        if payload.denied is not None:
            self.gate.denied[tool_use_id] = payload.denied
            added = await self._handle_error(name, tool_use_id, effective, Denied(payload.denied))
            return _decision("deny", "\n".join(filter(None, (payload.denied, added))))
        judgement = self.gate.policy.judge(name, effective)
        if name == EXIT_PLAN and judgement.verdict == "ask" and not self.gate.interactive:
            # The query ends with its plan as the answer.
            self.final_plan = await self._read_plan(tool_use_id)
            reason = "No one is available to approve the plan, so the plan is the answer."
            self.gate.denied[tool_use_id] = reason
            return {"continue_": False, "stopReason": reason, **_decision("deny", reason)}
        await self.gate.apply(judgement, name, tool_use_id)
        if judgement.verdict == "deny":
            return _decision("deny", judgement.reason)
        if judgement.verdict == "allow":
            refusal = await self.recorder.begin(name, effective, tool_use_id, self._is_stopping)
        else:
            # Nobody is asked about a call that may not run.
            refusal = await self.recorder.denial_of(name, effective)
        if refusal:
            self.gate.denied[tool_use_id] = refusal
            return _decision("deny", refusal)
        changed = effective if effective != data["tool_input"] else None
        return _decision(judgement.verdict, judgement.reason, changed)

    def _is_stopping(self) -> bool:
        return self.stopping

    async def _after(self, data: Any, _id: str | None, _context: Any) -> Any:
        name, tool_use_id = str(data["tool_name"]), str(data["tool_use_id"])
        copies = self.copies.setdefault(tool_use_id, HookCopies())
        copies.transcript = text_in(data, "transcript_path")
        await self.recorder.finish(tool_use_id, ok=True, result=data.get("tool_response"))
        received = await asyncio.to_thread(
            self.results.receive, name, tool_use_id, data.get("tool_response"), copies.transcript
        )
        copies.response, copies.files = received.for_observers, received.files
        effective = dict(data["tool_input"]) if copies.effective_input is None else copies.effective_input
        self.taint.note_read(name, effective)
        handled = self.pipelines.has_handlers("tool.after_execute", name)
        learnt = has_addresses(name, effective)
        if not handled and not learnt:
            return _result(received.for_model, copies.note)
        adapter = self.results.adapter
        if not handled:
            adapter = replace(adapter, largest=LARGEST_READ)
        observation = await asyncio.to_thread(
            adapter.observe,
            tool_name=name,
            tool_use_id=tool_use_id,
            tool_input=effective,
            raw=RawResult(
                block=copies.response,
                hook_copy=copies.response,
                files=copies.files,
                transcript=copies.transcript,
            ),
        )
        if learnt:
            await asyncio.to_thread(self.taint.learn, name, effective, observation.output)
        # Without a handler nothing changes.
        payload = await self.pipelines.run(
            "tool.after_execute",
            AfterTool(tool_use_id=tool_use_id, name=name, input=effective, observation=observation),
        )
        return _result(received.for_model, copies.note, payload.additional_context)

    async def _failed(self, data: Any, _id: str | None, _context: Any) -> Any:
        name, tool_use_id = str(data["tool_name"]), str(data["tool_use_id"])
        copies = self.copies.setdefault(tool_use_id, HookCopies())
        copies.error = clean(str(data.get("error") or "it failed"))
        if not data.get("is_interrupt"):
            await self.recorder.finish(tool_use_id, ok=False, result=copies.error)
        if self.translator.tasks.was_stopped(tool_use_id):
            return _added("PostToolUseFailure", STOPPED_HINT)
        effective = dict(data["tool_input"]) if copies.effective_input is None else copies.effective_input
        self.taint.note_read(name, effective, failed=True)
        error = AgentError(f"{name} failed: {copies.error}")
        added = await self._handle_error(name, tool_use_id, effective, error, copies.error)
        return _added("PostToolUseFailure", copies.note, added)

    async def _handle_error(
        self, name: str, tool_use_id: str, effective: ToolInput, exception: AgentError, error: str = ""
    ) -> str | None:
        """Run `tool.on_error` for a call that failed or was denied; returns what the model is to know."""
        payload = ToolErrored(
            tool_use_id=tool_use_id, name=name, input=effective, exception=exception, error=error
        )
        return (await self.pipelines.run("tool.on_error", payload)).additional_context

    async def _subagent_stop(self, data: Any, _id: str | None, _context: Any) -> Any:
        if self.stopping:
            return {}
        agent = clean(text_in(data, "agent_type"))
        task_id = text_in(data, "agent_id")
        task = self.translator.task_of(task_id)
        try:
            # The results of a sub-agent come as messages: the observers must have them.
            for _ in range(250):
                if not self.translator.task_of(task_id).open_calls:
                    break
                await asyncio.sleep(STEP_SECONDS / 250)
            else:
                log.warning("the results of the sub-agent %s are not complete", task_id)
            broken = await self.check_subagent(agent, task.request, task.started_at)
        except Exception:
            log.exception("the sub-agent %s could not be checked, so it may stop", agent)
            return {}
        if not broken or self.stopping:
            return {}
        kind = ComplianceFailed if data.get("stop_hook_active") else ComplianceEnforced
        events = [
            kind(subagent=agent, rule=rule.name, message=rule.message, finding=rule.finding)
            for rule in broken
        ]
        if kind is ComplianceFailed:
            for event in events:
                self.gate.publish(event)
            return {}
        # The agent calls this hook also for a sub-agent that it stops, and does not send that one back: the events are
        # published once the sub-agent works again.
        self._sent_back[task.call] = events
        return {"decision": "block", "reason": "\n\n".join(rule.message for rule in broken)}

    async def _prompt(self, _data: Any, _id: str | None, _context: Any) -> Any:
        hints = [SIMPLE_HINT] if self.on_simple_path else []
        if self.gate.mode == "plan":
            hints.append(PLAN_HINT)
        return _added("UserPromptSubmit", "\n".join(hints))


def _added(hook: str, *contexts: str | None) -> JsonObject:
    context = "\n".join(each for each in contexts if each)
    if not context:
        return {}
    return {"hookSpecificOutput": {"hookEventName": hook, "additionalContext": context}}


def _result(shown: Any, *contexts: str | None) -> JsonObject:
    """The answer to `PostToolUse`: what the model reads in place of the result, and what it reads beside it."""
    answer = _added("PostToolUse", *contexts)
    if shown is None:
        return answer
    output = answer.get("hookSpecificOutput", {"hookEventName": "PostToolUse"})
    return {"hookSpecificOutput": {**output, "updatedToolOutput": shown}}


def _decision(verdict: str, reason: str, changed: ToolInput | None = None) -> JsonObject:
    output: JsonObject = {
        "hookEventName": "PreToolUse",
        "permissionDecision": verdict,
        "permissionDecisionReason": reason,
    }
    if changed is not None:
        output["updatedInput"] = changed
    return {"hookSpecificOutput": output}


# The results of searches are far below 5 MB; those of tools that read pages are not.
_SYNC = "sync_response_to_workbench"
_RETURNED_NOTE = f"{_SYNC} was set to false: the results of searches are small and come back directly."
_OF_PAGES = ("FETCH", "CONTENT", "CRAWL", "EXTRACT", "SCRAPE")


def returned_directly(name: str, given: Arguments) -> ToolInput | None:
    """The arguments of a call that would leave the results of searches in the workbench, changed to return them.

    None for any other call: how large its result is, its arguments do not say, and a large one belongs there.
    """
    if given.get(_SYNC) is not True or not name.endswith("MULTI_EXECUTE_TOOL"):
        return None
    names = subjects_of(name, given)
    searches = all(is_search(each) and not any(word in each.upper() for word in _OF_PAGES) for each in names)
    return {**given, _SYNC: False} if searches else None
