"""Tokens by their shape, also in the middle of words, and what only looks like one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.redaction import CASES
from ua_tui.core.redaction.redactor import REDACTED, Redactor


@pytest.mark.parametrize("before", ["x_", "id_", "x", '"x', "9", "ü", "…", "token is "])
def test_a_token_is_masked_after_any_character(before: str) -> None:
    for token in CASES["tokens"]:
        text = f"see {before}{token} there"
        assert Redactor().redact(text) == f"see {before}{REDACTED} there"


def test_codes_and_states_are_masked_only_in_logins() -> None:
    for address, masked in CASES["logins"]:
        shown = Redactor().redact(address)
        assert shown.count(REDACTED) == masked, address
        assert Redactor().redact(shown) == shown
        assert masked or shown == address


WORDS = (
    "task risk disk break weak desk monkey graph paragraph foxbat boxo slovakia naiad management software review "
    "2026 best list of the election results ghost sky key state code news how to callback"
)
words = st.sampled_from(re.findall(r"\w+", WORDS))


@given(st.lists(words, min_size=1, max_size=12), st.sampled_from("-_ /."), st.booleans())
def test_words_are_never_tokens(parts: list[str], joint: str, upper: bool) -> None:
    text = joint.join(parts)
    text = text.upper() if upper else text
    assert Redactor().redact(f"about {text}, today") == f"about {text}, today"


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, min_size=1), st.sampled_from(["CA", "texas"]))
def test_an_ordinary_address_stays_as_it_is(path: list[str], query: list[str], state: str) -> None:
    way = f"{'-'.join(path)}/{path[0]}-2026?q={'+'.join(query)}&state={state}&code=US"
    assert Redactor().redact(f"https://www.example.com/{way}") == f"https://www.example.com/{way}"


@pytest.mark.parametrize("word", ["&code=a1234567", "code=code=", "&state=abcd12&", "%26code%3Da1234567"])
def test_an_address_made_of_codes_is_searched(word: str) -> None:
    # Examining the address again at each of these places would take minutes.
    login = "https://app.example/callback?code=4/0AdeuXYZ12345&state=xyz1"
    assert (
        Redactor().redact(f"{word * 20_000} {login}").endswith(f"callback?code={REDACTED}&state={REDACTED}")
    )
