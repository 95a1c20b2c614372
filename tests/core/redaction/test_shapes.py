"""Tokens by their shape, also in the middle of words, and what only looks like one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.redaction.redactor import REDACTED, Redactor

TOKENS = [
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_11ABCDEFG0123456789_abcdefghijkl",
    "sk-ant-api03-abcdef0123456789",
    "sk-proj-abcd1234abcd1234abcd1234",
    "AKIA0123456789ABCDEF",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghij",
    "glpat-abcdefgh0123456789ab",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("before", ["x_", "id_", "x", '"x', "9", "ü", "…", "token is "])
def test_a_token_is_masked_after_any_character(token: str, before: str) -> None:
    if token.startswith("AKIA") and before == "X":
        return
    text = f"see {before}{token} there"
    assert Redactor().redact(text) == f"see {before}{REDACTED} there"


@pytest.mark.parametrize(
    ("address", "masked"),
    [
        ("https://app.example/callback?code=4/0AdeuXYZ12345&state=xyz1", 2),
        ("Location: https://app.example/?code=0123456789abcdef0123&state=abcdef123", 2),
        ("grant_type=authorization_code&code=SplxlOBeZQQYbYS6WxSbIA&redirect_uri=https://a.example", 1),
        ("https://login.example/oauth2/authorize?response_type=code&client_id=a&state=af0ifjsldkj", 1),
        ("/login?next=https%3A%2F%2Fapp.example%2Foauth%2Fcb%3Fcode%3Dabc123def456%26state%3Dzzz999&x=1", 2),
        ('{"u":"https://a.example/oauth/cb?code=abcd1234efgh\\u0026state=longstate1"}', 2),
        ("https://app.example/signin-oidc#code=M.C5_BAY.2.U.1234&session_state=abc", 1),
        ("https://www.example.com/stores?state=CA&code=90210", 0),
        ("https://shop.example/?code=SUMMER2026&state=california", 0),
        ("https://shop.example/login?code=welcome&x=1", 0),
        ("https://news.example/auth-reform?state=texas&code=abc", 0),
        ("https://law.example/statutes?zipcode=90210&state=TX&error_code=AB1234567", 0),
        ("exit code=0x7fffffff and state=Running1", 0),
        ("https://api.example/v1/search?q=oauth&code=US&state=NY", 0),
    ],
)
def test_codes_and_states_are_masked_only_in_logins(address: str, masked: int) -> None:
    shown = Redactor().redact(address)
    assert shown.count(REDACTED) == masked
    assert Redactor().redact(shown) == shown
    if not masked:
        assert shown == address


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


@given(
    st.lists(words, min_size=1, max_size=4),
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from(["CA", "texas"]),
)
def test_an_ordinary_address_stays_as_it_is(path: list[str], query: list[str], state: str) -> None:
    address = (
        f"https://www.example.com/{'-'.join(path)}/{path[0]}-2026?q={'+'.join(query)}&state={state}&code=US"
    )
    assert Redactor().redact(address) == address


@pytest.mark.parametrize("word", ["&code=a1234567", "code=code=", "&state=abcd12&", "%26code%3Da1234567"])
def test_an_address_made_of_codes_is_searched(word: str) -> None:
    # Examining the address again at each of these places would take minutes.
    masked = Redactor().redact(
        f"{word * 20_000} https://app.example/callback?code=4/0AdeuXYZ12345&state=xyz1"
    )
    assert masked.endswith(f"callback?code={REDACTED}&state={REDACTED}")
