from __future__ import annotations

import json

from ua_tui.core.agent.auth.wait import find_auth_link

LINK = "https://connect.composio.dev/link/lk_abc-123"


def address(text: str, *, from_connections: bool = False) -> str | None:
    found = find_auth_link(text, from_connections=from_connections)
    return None if found is None else found.url


def test_a_link_in_words_loses_what_only_surrounds_it() -> None:
    for text in (f"Open {LINK}.", f"[connect]({LINK})", f'"{LINK}"', f"**{LINK}**"):
        assert address(text) == LINK, text
    for text in (
        "see https://news.example/link/x", '{"redirect_url": "https://connect', "",
        '{"a": ' * 3000 + '"redirect_url http',
    ):  # fmt: skip
        assert address(text) is None, text


def test_a_result_names_the_toolkit_and_when_the_link_expires() -> None:
    gmail = {"status": "initiated", "redirect_url": LINK, "instruction": "The link expires in 10 minutes."}
    text = json.dumps({"data": {"results": {"gmail": gmail}}})
    found = find_auth_link(text, from_connections=True)
    assert found is not None
    assert (found.url, found.toolkit) == (LINK, "gmail")
    assert found.expires_at is not None
    active = {"gmail": {"status": "active", "redirect_url": "https://accounts.example/x"}}
    assert address(json.dumps(active), from_connections=True) is None


def test_only_the_connection_service_may_name_a_link_on_another_host() -> None:
    page = json.dumps({"gmail": {"redirect_url": "https://thief.example/login"}})
    assert address(page) is None
    assert address(page, from_connections=True) == "https://thief.example/login"
