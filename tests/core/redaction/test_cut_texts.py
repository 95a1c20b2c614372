"""Secrets in texts that were cut, or that arrive in pieces."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ua_tui.core.events.types import AuthRequired, ErrorRaised, QueryFinished, QueryReceived, ToolCallFinished
from ua_tui.core.observation import Observation, TextContent
from ua_tui.core.redaction import detectors
from ua_tui.core.redaction.detectors import Scan
from ua_tui.core.redaction.masking import mask_event
from ua_tui.core.redaction.redactor import REDACTED, Redactor, StreamRedactor
from ua_tui.core.text import clean_line, middle_truncate

SECRET = "Zx9-canary-8c1f-QzX27!"
PASSPHRASE = "correct horse 7 battery"
CUT_TOKENS = """
ghp_0123456789abcdefghijABCDEFG sk-proj-0123456789abcdefghijABCDEFG AKIA0123456789ABCDEF
xoxb-0123456789-abcdefghijABCDEFG hf_0123456789abcdefghijABCDEFGabcdefghij
"""


@given(st.text(max_size=60), st.text(max_size=60), st.integers(20, 100))
@example("0" * 13, "", 21)
def test_a_cut_text_shows_less_than_six_characters_of_a_secret(before: str, after: str, limit: int) -> None:
    redactor = Redactor([SECRET])
    for cut in (clean_line, middle_truncate):
        shown = redactor.redact(cut(f"{before} {SECRET} {after}", limit))
        # What remains of the cut itself is too short to mean anything.
        assert SECRET[:7] not in shown
        in_json = redactor.redact(json.dumps({"text": cut(f"{before} {SECRET} {after}", limit)}))
        assert SECRET[:7] not in json.loads(in_json)["text"]


@pytest.mark.parametrize("cut", [clean_line, middle_truncate])
def test_of_a_token_that_was_cut_no_piece_is_left(cut: Callable[[str, int], str]) -> None:
    redactor = Redactor()
    for token in CUT_TOKENS.split():
        for limit in range(20, 160):
            shown = redactor.redact(cut(f"{'Look at ' * 8}{token}{' and more' * 40}", limit))
            assert token[:12] not in shown, (limit, shown)
    for text in ("hf_transfer_module…", "see npm_config_registry …", "AKIA…", "sk-learn…"):
        assert redactor.redact(text) == text


def test_a_secret_cut_without_an_ellipsis_is_masked_at_the_end() -> None:
    redactor = Redactor([SECRET, "password123", "https://mcp.example/s/Abc123456"])
    assert redactor.redact(f"key {SECRET[:9]}") == f"key {REDACTED}"
    assert redactor.redact("Enter the password") == "Enter the password"
    assert redactor.redact("see https://mcp.example/…") == "see https://mcp.example/…"
    assert redactor.redact("see https://mcp.example/s/Abc12…") == f"see {REDACTED}…"
    assert redactor.redact(f"{SECRET[:13]} is not cut") == f"{SECRET[:13]} is not cut"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_pieces_never_hold_half_a_secret(size: int) -> None:
    redactor = Redactor([SECRET, PASSPHRASE])
    token = f"eyJhbGciOiJIUzI1NiJ9.{'eyJzdWIiOiIxMjM0In0' * 60}.c2ln"
    for secret in (SECRET, "sk-ant-api03-abcdef0123", PASSPHRASE, "ghp_0123456789abcdefghijABCDEFG", token):
        text = f"Use {secret}, or the correct way: password={secret} and\nthen 你好 wait."
        stream = StreamRedactor(redactor)
        pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        pieces.append(stream.end())
        assert "".join(pieces) == redactor.redact(text)
        assert not any(secret[:9] in piece for piece in pieces)


@given(st.text(max_size=80), st.integers(1, 9))
def test_pieces_of_any_text_make_the_text(text: str, size: int) -> None:
    stream = StreamRedactor(Redactor())
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*pieces, stream.end()]) == Redactor().redact(text)


@pytest.mark.parametrize("word", ["_key **", "key=", "token:\n", "?code="])
def test_of_a_text_full_of_names_each_is_examined_a_few_times(word: str) -> None:
    examined = 0
    plain = Redactor.scan

    def scan(redactor: Redactor, text: str) -> Scan:
        nonlocal examined
        examined += len(text)
        return plain(redactor, text)

    text = word * (20_000 // len(word))
    stream = StreamRedactor(Redactor())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Redactor, "scan", scan)
        pieces = [stream.feed(text[at : at + 50]) for at in range(0, len(text), 50)]
        assert "".join([*pieces, stream.end()]) == text
    assert examined < 25 * len(text)


@pytest.mark.parametrize("size", [1, 9, 50, 600])
def test_a_mask_that_is_decided_late_covers_the_rest_of_its_secret(size: int) -> None:
    text = '{"secret": "\n_\\"!A1 Zq7x b"}\n'
    stream = StreamRedactor(Redactor())
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "Zq7" not in "".join([*pieces, stream.end()])


def test_an_event_is_masked_before_anybody_receives_it() -> None:
    redactor = Redactor([SECRET])
    query = mask_event(QueryReceived(query_id="q1", text=f"use {SECRET}"), redactor)
    assert isinstance(query, QueryReceived)
    assert query.text == f"use {REDACTED}"
    failed = mask_event(ErrorRaised(where="x", message="m\ud800", causes=[SECRET]), redactor)
    assert isinstance(failed, ErrorRaised)
    assert failed.causes == [REDACTED]
    observation = Observation(tool_name="t", tool_use_id="t1", content=(TextContent(f"a {SECRET}"),))
    call = ToolCallFinished(tool_use_id="t1", status="success", observation=observation)
    masked = mask_event(call, redactor)
    assert isinstance(masked, ToolCallFinished)
    assert masked.observation is not None
    assert masked.observation.text == f"a {REDACTED}"


def test_an_answer_of_many_levels_is_masked_as_far_as_it_goes() -> None:
    deep: list[Any] = [SECRET]
    for _ in range(3_000):
        deep = [SECRET, deep]
    finished = mask_event(QueryFinished(query_id="q1", status="success", output=deep), Redactor([SECRET]))
    assert isinstance(finished, QueryFinished)
    assert finished.output[0] == REDACTED
    assert SECRET not in str(finished.output)


def test_the_link_of_an_account_stays_usable_and_is_masked_everywhere_else() -> None:
    redactor = Redactor()
    link = "https://accounts.example/link/abcdefgh1234"
    required = AuthRequired(toolkit="gmail", url=link)
    assert mask_event(required, redactor) is required
    assert redactor.redact(f"open {link}") == f"open {REDACTED}"


TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
NAMED = ('"api_key": "0123456789abcdef"', "password: hunter22hunter", "https://me:pass@a.example")
WORDS = st.sampled_from([SECRET, PASSPHRASE, TOKEN, *NAMED, "a", " ", "é", "’", "😀", "\n", "\ud800"])


@given(st.lists(WORDS, max_size=30).map("".join), st.integers(1, 40))
def test_a_text_that_is_searched_in_pieces_shows_the_same_secrets(text: str, piece: int) -> None:
    redactor = Redactor([SECRET, PASSPHRASE])
    whole = redactor.redact(text)
    data = text.encode("utf-8", "replace")
    in_json = redactor.finds_nothing(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detectors, "_PIECE", piece)
        assert redactor.redact(text) == whole
        assert redactor.finds_nothing(data) == in_json
