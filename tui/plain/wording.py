"""Words instead of marks: lines that can be listened to, and searched in a log."""

from __future__ import annotations

from tui.render.events import Wording

__all__ = ["WORDS", "spoken"]

_MOST_OF_QUERY = 10_000


def spoken(milliseconds: float) -> str:
    """Write a time in milliseconds so that it can be read out: `140 ms`, `1.8 s`, `2 min 4 s`, `1 h 2 min`."""
    seconds = max(0.0, milliseconds) / 1000
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


WORDS = Wording(
    session="Session {id}{demo} in {workspace}",
    resumed="Session {id}{demo} goes on after {queries}, in {workspace}",
    demo=" (demo)",
    query="You: {text}",
    steered="You, into the running query: {text}",
    path="Path: {decision}",
    fell_back="Path: COMPLEX, as {name} is needed after all",
    call_started="Tool call {name} started: {argument}",
    call_success="Tool call {name} finished in {took}",
    call_error="Tool call {name} failed after {took}{why}",
    call_denied="Tool call {name} was denied{why}",
    call_cancelled="Tool call {name} was cancelled after {took}",
    subagent_started="Sub-agent {name} started: {description}",
    subagent_finished="Sub-agent {name} ended: {status}",
    observer_failed="Error: observer {name}: {error}",
    saved="Saved: {path}{copied}",
    copied=", copied to {path}",
    sent_back="Sub-agent {name} was sent back: {message}",
    not_allowed="Not allowed: {names}. {reason}",
    link="Account needed: {account}. Open this link: {url}",
    retry="Waiting: {why}. Attempt {attempt} of {most}, next in {wait}",
    refused="Error: {why}",
    pipeline_failed="Error: pipeline {pipeline}: {handler}: {error}",
    error="Error: {where}: {message}",
    servers="Servers: {servers}",
    server_failed="Error: {why}",
    server_off="Server: {why}",
    budget_warning="Budget: {spent} of {limit} is spent. At the limit the work stops",
    budget_spent="Budget: {spent} is spent of {limit}. Nothing more runs. A higher --max-cost lets it go on",
    budget_refused="Budget: {spent} is spent of {limit}. The query is kept, and runs with a higher --max-cost",
    budget_raised="Budget: the session may cost {limit}, of which {spent} is spent",
    tracing_failed="Error: tracing: {error}. The session goes on",
    time=spoken,
    most_of_query=_MOST_OF_QUERY,
)
