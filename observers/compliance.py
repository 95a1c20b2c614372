"""Checks the compliance rules of sub-agents: what must be true before a sub-agent may stop."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache

from ua_tui.core.agent.definitions.rules import SubagentRule, UnmetRule, matching_files
from ua_tui.core.agent.definitions.subagents import shipped_subagents
from ua_tui.core.claims.files import ReportCheck, check_path, load_check
from ua_tui.core.claims.records import Claim, Source
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.observers.base import ObserverContext, ObserverSpec, Outcome, input_text

_MOST_CLAIMS = 20
_LARGEST = 64 << 20
_QUOTATION_MARKS = "\"'“”„‘’«»‹› "


@cache
def shipped_rules() -> tuple[SubagentRule, ...]:
    """The rules of the built-in sub-agents, read from their definitions once."""
    return tuple(rule for subagent in shipped_subagents() for rule in subagent.rules)


def unmet_rules(
    agent: str,
    request: str,
    workspace: Workspace,
    rules: Sequence[SubagentRule] | None = None,
    since: datetime | None = None,
) -> list[UnmetRule]:
    """Find the rules that `agent` has not met for the task `request`; reads files.

    `rules` are the shipped ones by default. Reports that were last written before `since` are those of an earlier task
    and do not count.
    """
    applying = [rule for rule in (shipped_rules() if rules is None else rules) if rule.holds(agent, request)]
    return [unmet for rule in applying if (unmet := _unmet(rule, workspace, since)) is not None]


def _unmet(rule: SubagentRule, workspace: Workspace, since: datetime | None) -> UnmetRule | None:
    if rule.checked:
        return _differing(rule, workspace, since)
    if any(True for _ in matching_files(rule.requires or "", workspace)):
        return None
    missing = f"{rule.requires} is missing"
    return UnmetRule(rule.name, rule.message, missing, missing)


def _differing(rule: SubagentRule, workspace: Workspace, since: datetime | None) -> UnmetRule | None:
    """Read what the checks of the matching reports found; a report without a check of its text is passed over."""
    checks = [
        check
        for path, entry in matching_files(rule.checked or "", workspace)
        if (since is None or entry.mtime >= since.timestamp())
        and (check := load_check(workspace.root, path)) is not None
        and check.check.red
        and _is_current(check, path, workspace)
    ]
    if not checks:
        return None
    reports = ", ".join(check.report for check in checks)
    message = "\n".join([rule.message, "", *(line for check in checks for line in _findings(check))])
    claims = [claim for check in checks for claim in check.check.red]
    more = f" (and {len(claims) - 1} more)" if len(claims) > 1 else ""
    finding = f"{_finding(claims[0])}{more}"
    differ = "differs" if len(checks) == 1 else "differ"
    return UnmetRule(rule.name, message, finding, f"{reports} {differ} from the sources")


def _is_current(check: ReportCheck, path: str, workspace: Workspace) -> bool:
    try:
        return hashlib.sha256(workspace.read_artifact(path, _LARGEST)).hexdigest() == check.sha256
    except WorkspaceError:
        return False


def _findings(check: ReportCheck) -> Iterator[str]:
    """The lines for the sub-agent: each claim, its section and where to look."""
    red = check.check.red
    yield f"{quantity(len(red), 'claim')} in {clean_line(check.report)}:"
    for claim in red[:_MOST_CLAIMS]:
        yield f"- {_described(claim, check.sources)}"
    if len(red) > _MOST_CLAIMS:
        yield f"- and {len(red) - _MOST_CLAIMS} more"
    yield f"What the sources say instead is in {check_path(check.report)}."


def _described(claim: Claim, sources: Sequence[Source]) -> str:
    # The message is taken for one of the program: nothing that a page or a tool wrote is in it but the page's address.
    section = f" in '{clean_line(claim.section, 80)}'" if claim.section else ""
    words = f"{claim.kind} '{clean_line(claim.quote.exact, 200)}'{section}"
    if claim.state == "never seen":
        return f"{words}: this address was never read or found: {clean_line(claim.url, 300)}"
    source = sources[claim.passages[0].source] if claim.passages else None
    place = clean_line(source.url or source.path, 300) if source is not None else ""
    other = "other words" if claim.kind == "quotation" else "another value"
    return f"{words}: the source has {other}{f', see {place}' if place else ''}"


def _finding(claim: Claim) -> str:
    """The line for the person, who may read the words of the source."""
    words = clean_line(claim.quote.exact.strip(_QUOTATION_MARKS) or claim.url, 80)
    if claim.state == "never seen":
        return f'the link "{words}" was never seen'
    instead = clean_line(claim.instead, 120)
    return f'"{words}" differs from the source{f", which has {instead}" if instead else ""}'


class Compliance:
    """Observer that reports for every finished sub-agent whether it met its rules."""

    name = "compliance"
    is_last = True

    def __init__(self, rules: Sequence[SubagentRule] | None = None) -> None:
        self._rules = shipped_rules() if rules is None else tuple(rules)

    def wants(self, call: ToolCall) -> bool:
        """Calls of sub-agents that have a rule, and of others if one applies to their task."""
        if call.name not in ("Agent", "Task"):
            return False
        agent, request = _task_of(call)
        return any(rule.agent == agent or rule.holds(agent, request) for rule in self._rules)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Check the rules against the workspace; nothing is saved."""
        if result.observation.has_error:
            # Stopped in the middle of its work it has left no rule unkept.
            return Outcome(note="the sub-agent did not finish")
        agent, request = _task_of(result.call)
        unmet = unmet_rules(agent, request, context.workspace, self._rules, result.observation.started_at)
        if not unmet:
            return Outcome(note="every rule was met")
        note = "; ".join(f"rule {rule.name} was not met: {rule.reason}" for rule in unmet)
        return Outcome(rejected=len(unmet), note=note)


def _task_of(call: ToolCall) -> tuple[str, str]:
    """The sub-agent that a call starts, and what is asked of it."""
    texts = [input_text(call.input, key) for key in ("description", "prompt")]
    return input_text(call.input, "subagent_type") or "", " ".join(filter(None, texts))


OBSERVER = ObserverSpec(Compliance, order=70)
