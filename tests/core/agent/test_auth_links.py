from __future__ import annotations

import json

from core.agent.auth.links import find_auth_link

LINK = "https://connect.composio.dev/link/lk_abc-123"


def test_a_link_in_words_loses_what_only_surrounds_it() -> None:
    for text in (f"Open {LINK}.", f"[connect]({LINK})", f'"{LINK}"', f"**{LINK}**"):
        found = find_auth_link(text)
        assert found is not None
        assert found.url == LINK


def test_a_result_names_the_toolkit_and_when_the_link_expires() -> None:
    text = json.dumps(
        {
            "data": {
                "results": {
                    "gmail": {
                        "status": "initiated",
                        "redirect_url": LINK,
                        "instruction": "The link expires in 10 minutes.",
                    }
                }
            }
        }
    )
    found = find_auth_link(text, from_connections=True)
    assert found is not None
    assert (found.url, found.toolkit) == (LINK, "gmail")
    assert found.expires_at is not None


def test_a_connection_that_is_active_asks_for_nothing() -> None:
    active = {"gmail": {"status": "active", "redirect_url": "https://accounts.example/x"}}
    assert find_auth_link(json.dumps(active), from_connections=True) is None


def test_other_links_and_broken_json_are_left_alone() -> None:
    assert find_auth_link("see https://news.example/link/x") is None
    assert find_auth_link('{"redirect_url": "https://connect') is None
    assert find_auth_link("") is None
    assert find_auth_link('{"a": ' * 3000 + '"redirect_url http') is None


def test_only_the_connection_service_may_name_a_link_on_another_host() -> None:
    page = json.dumps({"gmail": {"redirect_url": "https://thief.example/login"}})
    assert find_auth_link(page) is None
    found = find_auth_link(page, from_connections=True)
    assert found is not None
    assert found.url == "https://thief.example/login"
