from __future__ import annotations

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.redaction import CASES
from ua_tui.core.redaction.redactor import REDACTED, Redactor
from ua_tui.core.redaction.values import names_secret
from ua_tui.core.text import escape_unsafe

any_text = st.text(st.characters(exclude_categories=()), max_size=200)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
CANARY = "canary-8c1f-QzX27"
BACKSLASH = "\\"


def test_secrets_are_known_by_their_form_and_their_names() -> None:
    redactor = Redactor()
    for text, expected in CASES["texts"]:
        assert redactor.redact(text) == expected
        assert redactor.redact(expected) == expected


def test_encoded_json_stays_the_same_json_but_for_the_secrets() -> None:
    pairs: list[dict[str, object]] = [
        {"api_key": 'with "quotes" and \\ backslash\\'},
        {"x-api-key": "short"},
        {"note": '{"client_secret": "nested \\"one\\"", "n": 1}'},
        {"password": "päss\u202eword"},
        {"authorization": None, "token": 5, "api_key": {"a": 1}, "secret": [1, 2]},
        {"text": "api_key", "other": "api_key:", "third": "token="},
        {"a": "password='unclosed", "b": "it's"},
        {"a": "line\nak_abcdefgh12345", "b": "\x1bak_abcdefgh12345"},
    ]
    for pair in pairs:
        for encoded in (json.dumps(pair), json.dumps(pair, ensure_ascii=False), json.dumps(json.dumps(pair))):
            redacted = json.loads(Redactor().redact(encoded))
            redacted = json.loads(redacted) if isinstance(redacted, str) else redacted
            assert list(redacted) == list(pair)
            for key, value in redacted.items():
                if isinstance(pair[key], str) and names_secret(key):
                    assert value == REDACTED
                elif not isinstance(pair[key], str):
                    assert value == pair[key]
            assert "nested" not in str(redacted)
            assert "ak_abc" not in str(redacted)


def secret_values() -> st.SearchStrategy[str]:
    marks = "abcXYZ019/+=-_\"\\ é🙂\n'{}[]:,&u"
    return st.text(st.sampled_from(marks), min_size=8, max_size=20).filter(
        lambda value: len(value.strip()) >= 8 and value.strip() not in REDACTED
    )


@given(secret_values(), any_text, any_text)
def test_a_known_value_never_survives_in_plain_text(value: str, before: str, after: str) -> None:
    value = value.strip()
    assert value not in Redactor([value]).redact(f"{before} {value} {after}").replace(REDACTED, "\0")


@given(secret_values(), json_values, st.text(max_size=10), st.text(max_size=10))
@example('é"000000', None, "", "é")
def test_a_known_value_never_survives_in_json(value: str, other: object, before: str, after: str) -> None:
    value = value.strip()
    data = {"first": other, "text": f"{before} {value} {after}", value: [value], "last": other}
    redactor = Redactor([value])
    encodings = [
        json.dumps(data),
        json.dumps(data, ensure_ascii=False),
        escape_unsafe(msgspec.json.encode(data).decode()),
    ]
    for encoded in encodings:
        redacted = json.loads(redactor.redact(encoded))
        assert all(value not in text.replace(REDACTED, "\0") for text in strings_of(redacted))
        inside = json.loads(redactor.redact(json.dumps(encoded)))
        with suppress(ValueError):
            inside = json.loads(inside)
        assert all(value not in text.replace(REDACTED, "\0") for text in strings_of(inside))


@given(secret_values(), json_values)
def test_json_stays_json_whatever_the_secret_looks_like(value: str, data: object) -> None:
    redactor = Redactor([value, "nnnnnnnn", "00000000", BACKSLASH * 8, '","":"","'])
    json.loads(redactor.redact(json.dumps(data)))
    json.loads(redactor.redact(json.dumps({"api_key": data, "x": json.dumps(data)})))


def strings_of(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in strings_of(item)]
        case dict():
            return [text for pair in value.items() for item in pair for text in strings_of(item)]
        case _:
            return []


def test_values_that_overlap_begin_in_an_escape_are_short_or_equal_a_number() -> None:
    redactor = Redactor(["nvapi-0123456789", "00e9-9876543210", "abcdefghij", "hijklmnopq", "short", " "])
    for text in ("line\nvapi-0123456789", "caf\u00e9-9876543210"):
        json.loads(redactor.redact(json.dumps(text)))
    assert redactor.redact("<abcdefghijklmnopq>") == "<[redacted]>"
    assert redactor.redact("a short text") == "a short text"
    redactor = Redactor(["1234567890123"])
    assert redactor.redact('{"seq":1234567890123,"pin":"1234567890123"}') == (
        '{"seq":1234567890123,"pin":"[redacted]"}'
    )
    assert redactor.redact("pin 1234567890123") == "pin [redacted]"


def test_redact_value_goes_deep_and_knows_names() -> None:
    redactor = Redactor([CANARY])
    value = {
        "headers": {"X-Api-Key": "abc", "Accept": "text/html"},
        "accessToken": ["one"],
        "items": [(CANARY, 1, 2.5, None), {"url": f"https://a.example/?q={CANARY}"}],
        "input_tokens": 12,
        "token": "",
        CANARY: True,
    }
    assert redactor.redact_value(value) == {
        "headers": {"X-Api-Key": REDACTED, "Accept": "text/html"},
        "accessToken": REDACTED,
        "items": [(REDACTED, 1, 2.5, None), {"url": f"https://a.example/?q={REDACTED}"}],
        "input_tokens": 12,
        "token": "",
        REDACTED: True,
    }
    assert CANARY in value


@given(json_values, any_text)
@example(None, "0000=1").via("what follows an open quotation mark in another text is no part of its value")
def test_redact_value_agrees_with_redact_on_every_string(data: object, text: str) -> None:
    redactor = Redactor([CANARY])
    mixed = [f'x "token": "{text}', f"{text}{CANARY}", data, f"api_key={text}", text]
    redacted = redactor.redact_value(mixed)
    assert [item for item in redacted if isinstance(item, str)] == [
        redactor.redact(item) for item in mixed if isinstance(item, str)
    ]


def test_redact_value_stops_at_a_depth_of_64() -> None:
    deep: object = CANARY
    for _ in range(5000):
        deep = [deep]
    redacted = str(Redactor([CANARY]).redact_value(deep))
    assert CANARY not in redacted
    assert "nested deeper than 64" in redacted


def test_a_private_key_is_masked_in_text_and_in_json() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ==\n-----END PRIVATE KEY-----\n"
    redactor = Redactor()
    assert "kqhkiG9w0BAQ" not in redactor.redact(key)
    assert "kqhkiG9w0BAQ" not in json.loads(redactor.redact(json.dumps({"key": key, "n": 1})))["key"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "word", ["-eyJ", "@", "://@", "://a:@", "bearer+", "password", "-----BEGIN ", "token\\"]
)
def test_a_text_made_to_be_searched_for_ever_is_searched(word: str) -> None:
    # What looks at the rest of the text at each of these places would be at it for hours.
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
    masked = Redactor().redact(f"{word * 300_000} {token} https://user:hidden-word@host.example/ ")
    assert token not in masked
    assert "hidden-word" not in masked


@pytest.mark.slow
@pytest.mark.parametrize(
    "word",
    ["pass:pass:", "cookie: a=", "curl -x ", "docker login ", "sk-", "| token | ", "secret: |\n  the is\n  "],
)
def test_a_text_made_of_names_is_searched(word: str) -> None:
    # What decides about a value, or looks for the option of a program, at each of them must be bounded.
    assert Redactor().redact(f"{word * 30_000}\npassword=hidden7word").endswith(f"password={REDACTED}")


def test_data_whose_names_are_like_those_of_secrets_stays_readable() -> None:
    data = {
        "input_tokens": 12, "max_tokens": 100, "token_count": 3, "tokens": ["a"], "price_per_token": 0.5,
        "key": "date", "keys": ["a", "b"], "sort_key": "published", "keyboard": "qwerty", "monkey": "ape",
        "nextPageToken": "CAUQAA", "story_token": "CAAqNggKIjBDQklTSGpvSmMz", "booking_token": "WyJDalJJTXpoc",
        "native_token": "ETH", "pass": "yes", "tests_pass": 12, "auth": {"type": "none"}, "auth_type": "x",
        "requires_auth": "sometimes", "pwd": "/home/me", "proxy_auth": "basic", "author": "A. Writer",
    }  # fmt: skip
    redactor = Redactor()
    assert redactor.redact_value(data) == data
    assert json.loads(redactor.redact_json(json.dumps(data))) == data
    secret = dict.fromkeys(
        ["GITHUB_TOKEN", "DB_PASS", "proxy-auth", "signingKey", "notesToken"], "hunter2xyz"
    )
    assert set(redactor.redact_value(secret).values()) == {REDACTED}
    assert set(json.loads(redactor.redact(json.dumps(secret))).values()) == {REDACTED}
