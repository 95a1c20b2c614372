from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import claude_agent_sdk as sdk

from tests.core.agent.hooks import a_translator
from ua_tui.core.agent.messages.results import RawResult
from ua_tui.core.agent.messages.translate import (
    SteeringAccepted,
    Translator,
    TurnOutcome,
    TurnStarted,
)
from ua_tui.core.events import types as ev
from ua_tui.core.events.describe import Severity, describe
from ua_tui.core.redaction.redactor import Redactor

Item = ev.Event | RawResult | TurnOutcome | SteeringAccepted | TurnStarted


def fed(translator: Translator, *messages: Any) -> list[Item]:
    return [item for message in messages for item in translator.feed(message)]


def stream(kind: str, parent: str | None = None, **data: Any) -> sdk.StreamEvent:
    return sdk.StreamEvent(uuid="u", session_id="s", event={"type": kind, **data}, parent_tool_use_id=parent)


def begin(message_id: str = "m1") -> sdk.StreamEvent:
    return stream(
        "message_start", message={"id": message_id, "model": "claude-x", "usage": {"input_tokens": 7}}
    )


def delta(text: str) -> sdk.StreamEvent:
    return stream("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def shown_text(*blocks: Any, message_id: str = "m1", parent: str | None = None) -> sdk.AssistantMessage:
    return sdk.AssistantMessage(
        content=list(blocks), model="claude-x", parent_tool_use_id=parent, message_id=message_id
    )


def result(**changes: Any) -> sdk.ResultMessage:
    plain: dict[str, Any] = {
        "subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 2,
        "session_id": "s", "result": "answer", "total_cost_usd": 0.5,
    }  # fmt: skip
    return sdk.ResultMessage(**{**plain, **changes})


def test_streamed_text_is_reported_once_and_ends_whole() -> None:
    translator = a_translator()
    translator.begin("q1", "hello")
    items = fed(
        translator,
        begin(),
        stream("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        delta("Say "),
        delta("hello\x1b[2J now "),
        shown_text(sdk.TextBlock(text="Say hello now")),
        stream("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5}),
        stream("message_stop"),
    )
    assert [item.text for item in items if isinstance(item, ev.TextDelta)] == ["Say ", "hello�[2J now "]
    (finished,) = [item for item in items if isinstance(item, ev.MessageFinished)]
    assert finished.text == "Say hello�[2J now"
    assert finished.stop_reason == "end_turn"
    assert finished.usage is not None
    assert (finished.usage.input_tokens, finished.usage.output_tokens) == (7, 5)
    assert translator.iteration == 1


def test_a_message_cut_off_by_the_end_is_kept_as_far_as_it_came() -> None:
    translator = a_translator()
    translator.begin("q1", "hello")
    fed(translator, begin(), delta("half a sen"))
    finished, spent = translator.close_message()
    assert isinstance(finished, ev.MessageFinished)
    assert finished.text == "half a sen"
    assert isinstance(spent, ev.TokensSpent)
    assert spent.usage == ev.Usage(input_tokens=7)
    assert list(translator.close_message()) == []


def test_a_sub_agents_words_and_calls_carry_the_call_that_started_it() -> None:
    translator = a_translator()
    items = fed(
        translator,
        shown_text(sdk.TextBlock(text="one"), parent="toolu_1", message_id="s1"),
        shown_text(sdk.ThinkingBlock(thinking="hm", signature=""), parent="toolu_1", message_id="s1"),
        shown_text(
            sdk.ToolUseBlock(id="t2", name="Glob", input={"pattern": "*"}), parent="toolu_1", message_id="s1"
        ),
        shown_text(sdk.TextBlock(text="two"), parent="toolu_1", message_id="s1"),
    )
    assert {getattr(item, "parent_tool_use_id", None) for item in items} == {"toolu_1"}
    texts = [item for item in items if isinstance(item, ev.MessageFinished)]
    assert [item.text for item in texts] == ["one", "two"]
    assert len({item.message_id for item in texts}) == 2
    assert [item.text for item in items if isinstance(item, ev.ThinkingDelta)] == ["hm"]


def test_a_call_is_reported_once_and_its_secrets_not_at_all() -> None:
    translator = a_translator(redactor=Redactor(["canary-secret-1"]))
    use = sdk.ToolUseBlock(id="t1", name="x\x1b]0;T\x07", input={"api_key": "zzz", "q": "a canary-secret-1"})
    items = fed(translator, shown_text(use), shown_text(use))
    (started,) = items
    assert isinstance(started, ev.ToolCallStarted)
    assert "\x1b" not in started.name
    assert "canary-secret-1" not in str(started.input)
    assert "zzz" not in str(started.input)
    assert translator.calls["t1"].call.input["q"] == "a canary-secret-1"


def test_the_messages_own_copy_belongs_to_a_lone_result_only() -> None:
    def user(*ids: str) -> sdk.UserMessage:
        blocks: list[Any] = [sdk.ToolResultBlock(tool_use_id=id_, content="cut") for id_ in ids]
        return sdk.UserMessage(content=blocks, tool_use_result={"content": "whole"})

    (alone,) = fed(a_translator(), user("t1"))
    assert isinstance(alone, RawResult)
    assert alone.message_copy == {"content": "whole"}
    both = fed(a_translator(), user("t1", "t2"))
    assert [item.message_copy for item in both if isinstance(item, RawResult)] == [None, None]


def task(kind: type[Any], **more: Any) -> Any:
    subtypes = {sdk.TaskStartedMessage: "started", sdk.TaskNotificationMessage: "notification"}
    common = {"subtype": f"task_{subtypes.get(kind, 'updated')}", "data": {"subagent_type": "expert"}}
    return kind(**{**common, "task_id": "a1", "uuid": "u", "session_id": "s", **more})


def started() -> Any:
    return task(sdk.TaskStartedMessage, description="do it", tool_use_id="toolu_1")


def test_a_sub_agent_has_one_end_however_often_it_is_reported() -> None:
    done = task(
        sdk.TaskNotificationMessage, status="completed", output_file="", summary="", tool_use_id="toolu_1"
    )
    updated = task(sdk.TaskUpdatedMessage, patch={}, status="completed")
    items = fed(a_translator(), started(), updated, done, done, updated)
    assert [type(item) for item in items] == [ev.SubagentStarted, ev.SubagentFinished]
    killed = task(sdk.TaskUpdatedMessage, patch={}, status="killed")
    items = fed(a_translator(), started(), killed, done)
    assert [item.status for item in items if isinstance(item, ev.SubagentFinished)] == ["cancelled"]
    translator = a_translator()
    fed(translator, started())
    assert list(translator.tasks.of_call("toolu_1")) == ["a1"]
    translator.tasks.note_stopped("toolu_1")
    (end,) = fed(translator, killed, done)
    assert isinstance(end, ev.SubagentFinished)
    assert end.by_person
    translator = a_translator()
    fed(translator, started())
    assert len(list(translator.tasks.close())) == 1
    assert list(translator.tasks.close()) == []


def test_what_a_sub_agent_was_asked_is_known_by_its_task() -> None:
    translator = a_translator()
    translator.begin("q1", "write a comprehensive report")
    use = sdk.ToolUseBlock(
        id="toolu_1", name="Agent", input={"description": "Write", "prompt": "about chips"}
    )
    fed(translator, shown_text(use), started())
    assert translator.task_of("a1").request == "write a comprehensive report\nWrite\nabout chips"
    assert translator.task_of("unknown").request == "write a comprehensive report"


def ended(translator: Translator | None = None, **changes: Any) -> TurnOutcome:
    (outcome,) = fed(translator or a_translator(), result(**changes))
    assert isinstance(outcome, TurnOutcome)
    return outcome


def test_ends_of_turns_are_distinguished() -> None:
    assert (ended().status, ended().text) == ("success", "answer")
    broken_off: dict[str, Any] = {"subtype": "error_during_execution"}
    assert ended(**broken_off, terminal_reason="aborted_streaming").status == "interrupted"
    noise = ["[ede_diagnostic] result_type=user"]
    assert ended(**broken_off, errors=noise, terminal_reason="aborted_tools").status == "interrupted"
    refused = ended(
        is_error=True, result="Not logged in \N{MIDDLE DOT} Please run /login", terminal_reason="api_error"
    )
    assert refused.status == "error"
    assert "ANTHROPIC_API_KEY" in str(refused.error)
    assert "max_turns" in str(ended(subtype="error_max_turns", result=None).error)
    assert "max_cost_usd" in str(ended(subtype="error_max_budget_usd", result=None).error)
    assert ended(**broken_off, errors=["it broke"]).error == "it broke"


def test_an_answer_has_to_fit_the_output_schema_if_there_is_one() -> None:
    def end(**changes: Any) -> TurnOutcome:
        return ended(a_translator(redactor=Redactor({"hush-4711"}), structured=True), **changes)

    good = end(structured_output={"team": "hush-4711"}, result='{"team":"hush-4711"}')
    assert (good.status, good.output) == ("success", {"team": "[redacted]"})
    assert end().error == "the answer does not fit the output schema: the model answered with text only"
    failed = "Failed to provide valid structured output after 5 attempts — last StructuredOutput error: "
    failed += "Output does not match required schema: /answer: must be integer"
    exhausted = end(subtype="error_max_structured_output_retries", result=None, errors=[failed])
    assert exhausted.error == "the answer does not fit the output schema: /answer: must be integer"


def test_messages_nobody_knows_are_passed_over() -> None:
    translator = a_translator()
    odd = [
        sdk.SystemMessage(subtype="thinking_tokens", data={}),
        sdk.SystemMessage(subtype="brand_new", data={"x": 1}),
        stream("ping"),
        stream("content_block_delta", delta={"type": "novel_delta"}),
        delta("text before any message"),
    ]
    assert fed(translator, *odd) == []


def broken(text: str, message_id: str = "m1") -> list[sdk.StreamEvent]:
    """A message as the command line streams it when its connection breaks: it ends, but was never complete."""
    return [begin(message_id), delta(text), stream("content_block_stop"), stream("message_stop")]


def retry(attempt: int, most: int) -> sdk.SystemMessage:
    data = {
        "attempt": attempt, "max_retries": most, "retry_delay_ms": 500, "error_status": None, "error": "unknown",
    }  # fmt: skip
    return sdk.SystemMessage(subtype="api_retry", data=data)


FAILED = result(is_error=True, result="API Error: Connection dropped (ECONNRESET). Check the gateway.")


def test_the_half_of_an_answer_is_reported_once_and_the_attempts_are_counted_on() -> None:
    translator = a_translator(server="http://127.0.0.1:9")
    translator.begin("q1", "hello")
    first = fed(translator, *broken("Half"), retry(1, 3), *broken("Half", "m2"), retry(1, 2), retry(2, 2))
    retries = [item for item in first if isinstance(item, ev.ApiRetry)]
    closed, unreached = "connection_closed", "no connection to http://127.0.0.1:9"
    tried = [(each.attempt, each.max_attempts, each.error) for each in retries]
    assert tried == [(1, 3, closed), (2, 3, closed), (3, 3, unreached)]
    # What came of the first attempt is taken back when the second one answers.
    messages = [(item.message_id, item.text) for item in first if isinstance(item, ev.MessageFinished)]
    assert messages == [("m1", "")]
    *last, outcome = fed(translator, FAILED)
    (half,) = [item for item in last if isinstance(item, ev.MessageFinished)]
    assert (half.message_id, half.text, half.incomplete) == ("m2", "Half", True)
    assert isinstance(outcome, TurnOutcome)
    assert outcome.error is not None
    assert outcome.error.startswith("The connection broke after ")
    assert "; the answer is incomplete: try again" in outcome.error
    # The next query starts to count again.
    translator.begin("q2", "again")
    (again,) = fed(translator, retry(1, 10))
    assert isinstance(again, ev.ApiRetry)
    assert (again.attempt, again.max_attempts) == (1, 10)


def test_an_answer_that_broke_off_and_was_continued_is_one_message() -> None:
    translator = a_translator()
    translator.begin("q1", "hello")
    resume = sdk.UserMessage(content=[sdk.TextBlock(text="Your response above was cut off mid-stream.")])
    ended = stream("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5})
    items = fed(
        translator,
        *broken("The first half "),
        resume,
        *[begin("m2"), delta("and the second."), ended, stream("message_stop")],
        result(result="and the second."),
    )
    assert {item.message_id for item in items if isinstance(item, ev.TextDelta)} == {"m1"}
    (finished,) = [item for item in items if isinstance(item, ev.MessageFinished)]
    outcome = items[-1]
    assert isinstance(outcome, TurnOutcome)
    assert finished.text == outcome.text == "The first half and the second."
    assert not finished.incomplete
    assert sum(item.usage.input_tokens for item in items if isinstance(item, ev.TokensSpent)) == 14


def test_the_answer_is_never_the_reason_of_a_failure_and_another_reason_is_added_to_the_break() -> None:
    for text, reason in (("Half", "try again"), ("API Error: 500 Internal", "Trying again failed: ")):
        translator = a_translator()
        translator.begin("q1", "hello")
        *_, outcome = fed(translator, *broken("Half of it"), result(is_error=True, result=text))
        assert isinstance(outcome, TurnOutcome)
        assert reason in str(outcome.error)
        assert "Half" not in str(outcome.error)


def test_a_summarised_conversation_and_the_limits_of_the_plan_are_reported() -> None:
    def system(subtype: str, **data: Any) -> sdk.SystemMessage:
        return sdk.SystemMessage(subtype=subtype, data=data)

    def limit(**info: Any) -> sdk.RateLimitEvent:
        return sdk.RateLimitEvent(sdk.RateLimitInfo(**info), uuid="u", session_id="s")

    sizes = {"trigger": "auto", "pre_tokens": 9000, "post_tokens": 800}
    started, failed, done, odd = fed(
        a_translator(),
        system("status", status="requesting"),
        system("status", status="compacting"),
        system("status", status=None, compact_result="success"),
        system("status", status=None, compact_result="failed"),
        system("compact_boundary", compact_metadata=sizes),
        system("compact_boundary", compact_metadata="?"),
    )
    assert (started, failed) == (
        ev.ContextCompaction(query_id="", state="started"),
        ev.ContextCompaction(query_id="", state="failed"),
    )
    assert done == ev.ContextCompaction(
        query_id="", state="finished", trigger="auto", tokens_before=9000, tokens_after=800
    )
    assert odd == ev.ContextCompaction(query_id="", state="finished")
    one, two = (system("init", session_id=each) for each in ("one", "two"))
    reset = sdk.ConversationResetMessage(new_conversation_id="x", uuid="u", session_id="one")
    items = fed(a_translator(), one, one, reset, two, two)
    assert [each for each in items if isinstance(each, ev.ConversationCleared)] == [
        ev.ConversationCleared(query_id="", provider_session_id="two")
    ]
    near, reached, wrong = fed(
        a_translator(),
        limit(status="allowed_warning", resets_at=1795411316, rate_limit_type="five_hour", utilization=0.91),
        limit(status="rejected", rate_limit_type="seven_day"),
        limit(status="allowed\x1b", resets_at=10**30, utilization=float("nan")),
    )
    assert isinstance(near, ev.PlanLimit)
    assert near.resets_at == datetime(2026, 11, 23, 5, 21, 56, tzinfo=UTC)
    assert describe(near).sentence.startswith("Your plan: 91% of the five-hour limit is used; it resets at ")
    assert isinstance(reached, ev.PlanLimit)
    assert describe(reached).sentence == "Your plan: the weekly limit is reached."
    assert isinstance(wrong, ev.PlanLimit)
    assert (wrong.utilization, wrong.resets_at) == (None, None)
    assert describe(wrong).severity is Severity.INFO
