"""What the agent says when the model's service fails it, and what a person is told instead."""

from __future__ import annotations

from typing import Literal

import pytest

from core.agent.messages.translate import Translator
from core.events.types import MessageFinished
from core.provider.error_messages import describe_failure

EMPTY = (
    "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway intercepting "
    "the request. Response: content-type {0}, body is {1}, 48 bytes, request-id absent, server other. This was the "
    "non-streaming retry, which failed with: no_events, StreamNoEventsError; 0 stream events received."
)


@pytest.mark.parametrize(
    ("shown_text", "reported", "remedy"),
    [
        (EMPTY.format("html", "an HTML page"), "server of the Messages API (an HTML page)", "ANTHROPIC_BASE_URL"),
        (EMPTY.format("json", "JSON but not a Message"), "server of the Messages API (HTTP 200)", "ANTHROPIC_BASE_URL"),
        ("There's an issue with the selected model (m). It may not exist or you may not have access to it.",
         "does not know the model m, or the key may not use it:", "--model"),
        ("Failed to authenticate. API Error: 403 words of it", "with these credentials (403 words of it)", "account"),
        ("API Error: Request rejected (429) · words {0}", "accepts no more requests for now (429 words {0})", "wait"),
        ("API Error: Request rejected (429)", "accepts no more requests for now (429):", "wait"),
        ("API Error: 402 no money", "because the account has no credit (402 no money)", "add credit"),
        ("API Error: 529 Overloaded", "is overloaded (529 Overloaded)", "try again"),
        ("API Error: 500 words. This is a server-side issue", "is out of order (500 words.", "try again"),
        ("API Error: 400 words of it", "rejected the request (400 words of it)", "`ua-tui doctor`"),
        ("API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
         "cannot be reached (ECONNREFUSED)", "ANTHROPIC_BASE_URL"),
        ("API Error: Can't reach the API server — check your internet or DNS (ENOTFOUND)",
         "cannot be reached (ENOTFOUND)", "network"),
        ("API Error: Unable to connect to API. Check your internet connection", "cannot be reached:", "network"),
    ],
)  # fmt: skip
def test_a_failure_says_what_happened_and_what_to_do(shown_text: str, reported: str, remedy: str) -> None:
    words = describe_failure(shown_text)
    assert words.startswith("the model's service ")
    assert reported in words
    assert remedy in words
    assert "StreamNoEvents" not in words
    assert "API Error" not in words


def test_what_nobody_knows_is_reported_as_it_came() -> None:
    assert describe_failure("it broke {0}") == "it broke {0}"


def test_an_answer_that_is_an_error_is_put_into_words_and_one_of_the_model_is_not() -> None:
    import claude_agent_sdk as sdk

    raw = "API Error: 529 Overloaded"

    def shown_text(error: Literal["server_error"] | None) -> str:
        block = sdk.TextBlock(text=raw)
        message = sdk.AssistantMessage(content=[block], model="m", error=error, message_id="m1")
        return next(each.text for each in Translator().feed(message) if isinstance(each, MessageFinished))

    assert shown_text(None) == raw
    assert shown_text("server_error") == describe_failure(raw)
