"""What the agent says when the model's service fails it, and what a person is told instead."""

from __future__ import annotations

from typing import Literal

from tests.core.agent.hooks import a_translator
from tests.core.cases import cases_of
from ua_tui.core.events.describe import describe_retry
from ua_tui.core.events.types import MessageFinished
from ua_tui.core.provider.error_messages import describe_failure

CASES = cases_of(__file__)

EMPTY = (
    "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway intercepting "
    "the request. Response: content-type {0}, body is {1}, 48 bytes, request-id absent, server other. This was the "
    "non-streaming retry, which failed with: no_events, StreamNoEventsError; 0 stream events received."
)


def test_a_failure_says_what_happened_and_what_to_do() -> None:
    for shown_text, reported, remedy in (
        *CASES["a_failure_says_what_happened_and_what_to_do"],
        (
            EMPTY.format("html", "an HTML page"),
            "does not speak the Messages API (an HTML page)",
            "ANTHROPIC_BASE_URL",
        ),
        (
            EMPTY.format("json", "JSON but not a Message"),
            "speak the Messages API (HTTP 200)",
            "ANTHROPIC_BASE_URL",
        ),
        (
            EMPTY.replace("body is {1}", "empty body").format("json"),
            "speak the Messages API (empty body)",
            "proxy",
        ),
    ):  # fmt: skip
        words = describe_failure(shown_text)
        assert words.startswith("the model's service ")
        assert reported in words
        assert remedy in words
        assert "StreamNoEvents" not in words
        assert "API Error" not in words


def test_a_failure_to_connect_names_the_address_and_an_unknown_one_is_as_it_came() -> None:
    for shown_text, reported, remedy in CASES["a_failure_to_connect_names_the_address"]:
        words = describe_failure(f"API Error: {shown_text}", "http://box:8000")
        assert reported in words
        assert remedy in words
        assert "API Error" not in words
    assert describe_failure("it broke {0}") == "it broke {0}"


def test_what_a_cloud_lacks_is_named_and_doctor_looks_for_it() -> None:
    for shown_text, reported in CASES["what_a_cloud_lacks"]:
        words = describe_failure(f"API Error: {shown_text}")
        assert words.startswith(reported)
        assert "`ua-tui doctor`" in words
    assert describe_retry("cloud_credential_error") == "the cloud provider's credentials cannot be loaded"


def test_an_answer_that_is_an_error_is_put_into_words_and_one_of_the_model_is_not() -> None:
    import claude_agent_sdk as sdk

    raw = "API Error: 529 Overloaded"

    def shown_texts(error: Literal["server_error"] | None, parent: str | None = None) -> list[str]:
        block = sdk.TextBlock(text=raw)
        message = sdk.AssistantMessage([block], "m", parent, error=error, message_id="m1")
        return [each.text for each in a_translator().feed(message) if isinstance(each, MessageFinished)]

    assert shown_texts(None) == [raw]
    assert shown_texts("server_error", "toolu_1") == [describe_failure(raw)]
    # The end of the query has it.
    assert shown_texts("server_error") == []
