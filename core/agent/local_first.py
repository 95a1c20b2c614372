"""Local first: what fits into an answer comes back in it, and is not left in the remote workbench."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ua_tui.core.agent.permissions.policy import is_search

NOTE = "sync_response_to_workbench was set to false: the results of searches are far below 5 MB and come back directly."
"""What the model reads with the result of a call that was changed."""

_SYNC = "sync_response_to_workbench"
_PAGES = re.compile("FETCH|CONTENT|CRAWL|EXTRACT|SCRAPE")


def returned_directly(name: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of a call that would leave the results of searches in the workbench, changed to return them.

    None for any other call: how large its result is, its arguments do not say, and a large one belongs there.
    """
    tools = given.get("tools")
    if given.get(_SYNC) is not True or not name.endswith("MULTI_EXECUTE_TOOL") or not isinstance(tools, list):
        return None
    slugs = [str(tool.get("tool_slug")) if isinstance(tool, Mapping) else "" for tool in tools]
    if not slugs or not all(is_search(slug) and not _PAGES.search(slug.upper()) for slug in slugs):
        return None
    return {**given, _SYNC: False}
