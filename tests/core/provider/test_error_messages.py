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
        (EMPTY.replace("body is {1}", "empty body").format("json"), "server of the Messages API (empty body)", "proxy"),
        ("API Error: JSON Parse error: Unterminated string", "Messages API (JSON Parse error)", "ANTHROPIC_BASE_URL"),
        ("There's an issue with the selected model (m). It may not exist or you may not have access to it.",
         "does not know the model m, or the key may not use it:", "--model"),
        ("Invalid API key · Fix external API key", "refused the key:", "ANTHROPIC_API_KEY"),
        ("Failed to authenticate. API Error: 403 words of it", "with these credentials (403 words of it)", "account"),
        ("API Error: Request rejected (429) · words {0}", "accepts no more requests for now (429 words {0})", "wait"),
        ("API Error: Request rejected (429)", "accepts no more requests for now (429):", "wait"),
        ("API Error: 402 no money", "because the account has no credit (402 no money)", "add credit"),
        ("API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.",
         "is overloaded (529 Overloaded):", "try again"),
        ("API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in "
         "a moment.", "is overloaded (Repeated 529 Overloaded errors):", "try again"),
        ("API Error: 500 words. This is a server-side issue", "is out of order (500 words):", "try again"),
        ("API Error: 400 words of it", "rejected the request (400 words of it)", "`ua-tui doctor`"),
        ("API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.",
         "did not complete its answer: the connection was closed (ECONNRESET):", "proxy"),
        ("API Error: Unable to connect to API. Check your internet connection", "cannot be reached:", "network"),
        ("API Error: Network is down (ENETUNREACH)", "cannot be reached (ENETUNREACH):", "network"),
        ("Request timed out. If the API is slow to answer, or a proxy or gateway holds responses, set API_TIMEOUT_MS "
         "above 600000.", "did not answer (within 600 s):", "API_TIMEOUT_MS"),
    ],
)  # fmt: skip
def test_a_failure_says_what_happened_and_what_to_do(shown_text: str, reported: str, remedy: str) -> None:
    words = describe_failure(shown_text)
    assert words.startswith("the model's service ")
    assert reported in words
    assert remedy in words
    assert "StreamNoEvents" not in words
    assert "API Error" not in words


@pytest.mark.parametrize(
    ("shown_text", "reported", "remedy"),
    [
        ("Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
         "nothing is listening at http://box:8000 (connection refused):", "ANTHROPIC_BASE_URL"),
        ("Can't reach the API server — check your internet or DNS (ENOTFOUND)",
         "the host name of http://box:8000 cannot be resolved:", "spelling"),
        ("Unable to connect to API: SSL certificate has expired",
         "no secure connection to http://box:8000 can be made: SSL certificate has expired:", "clock"),
        ("Unable to connect to API: SSL certificate hostname mismatch", "SSL certificate hostname mismatch:", "proxy"),
        ("Unable to connect to API: Self-signed certificate detected (DEPTH_ZERO_SELF_SIGNED_CERT). The certificate "
         "comes from an authority", "Self-signed certificate detected:", "NODE_EXTRA_CA_CERTS"),
    ],
)  # fmt: skip
def test_a_failure_to_connect_names_the_address(shown_text: str, reported: str, remedy: str) -> None:
    words = describe_failure(f"API Error: {shown_text}", "http://box:8000")
    assert reported in words
    assert remedy in words
    assert "API Error" not in words


def test_what_nobody_knows_is_reported_as_it_came() -> None:
    assert describe_failure("it broke {0}") == "it broke {0}"


def test_an_answer_that_is_an_error_is_put_into_words_and_one_of_the_model_is_not() -> None:
    import claude_agent_sdk as sdk

    raw = "API Error: 529 Overloaded"

    def shown_texts(error: Literal["server_error"] | None, parent: str | None = None) -> list[str]:
        block = sdk.TextBlock(text=raw)
        message = sdk.AssistantMessage([block], "m", parent, error=error, message_id="m1")
        return [each.text for each in Translator().feed(message) if isinstance(each, MessageFinished)]

    assert shown_texts(None) == [raw]
    assert shown_texts("server_error", "toolu_1") == [describe_failure(raw)]
    # The end of the query has it.
    assert shown_texts("server_error") == []
