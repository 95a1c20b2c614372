from __future__ import annotations

from typing import Any

import pytest

from ua_tui.core.agent.hooks import returned_directly

MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"


def given(*slugs: str, sync: Any = True) -> dict[str, Any]:
    return {"tools": [{"tool_slug": slug} for slug in slugs], "sync_response_to_workbench": sync}


@pytest.mark.parametrize(
    ("name", "arguments", "is_changed"),
    [
        (MULTI, given("COMPOSIO_SEARCH_NEWS"), True),
        (MULTI, given("COMPOSIO_SEARCH_WEB", "TAVILY_SEARCH"), True),
        (MULTI, given("COMPOSIO_SEARCH_NEWS", sync=False), False),
        (MULTI, given("COMPOSIO_SEARCH_NEWS", sync="yes"), False),
        # What may be large stays there, also beside a search.
        (MULTI, given("GOOGLEDRIVE_DOWNLOAD_FILE"), False),
        (MULTI, given("COMPOSIO_SEARCH_NEWS", "GMAIL_FETCH_EMAILS"), False),
        (MULTI, given("COMPOSIO_SEARCH_FETCH_URL_CONTENT"), False),
        (MULTI, given("EXA_GET_CONTENTS_ACTION"), False),
        (MULTI, given(), False),
        (MULTI, {"tools": "x", "sync_response_to_workbench": True}, False),
        (MULTI, {"tools": [None, 3], "sync_response_to_workbench": True}, False),
        ("mcp__own__search", given("COMPOSIO_SEARCH_NEWS"), False),
    ],
)
def test_only_results_of_searches_are_never_left_in_the_workbench(
    name: str, arguments: dict[str, Any], is_changed: bool
) -> None:
    before = dict(arguments)
    changed = returned_directly(name, arguments)
    assert changed == ({**before, "sync_response_to_workbench": False} if is_changed else None)
    assert arguments == before
