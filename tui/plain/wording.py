"""Words instead of marks: lines that can be listened to, and searched in a log."""

from __future__ import annotations

from core.events.units import spoken_duration
from tui.render.events import Wording

__all__ = ["WORDS"]

_MOST_OF_QUERY = 10_000


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
    time=spoken_duration,
    most_of_query=_MOST_OF_QUERY,
)
