"""Pages of search results as providers give them, with invented contents and addresses of their own each time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from ua_tui.core.observation import SearchObservation, TextContent, ToolCall, ToolResult

TOOL = "mcp__composio__COMPOSIO_SEARCH_WEB"
_WORDS = [
    "makers", "of", "chips", "told", "what", "they", "make", "and", "for", "whom", "it", "costs", "them", "to", "do",
    "so",
]  # fmt: skip
_CJK = "半導体の製造会社は来年の計画を発表し新しい工場の建設について説明した"


def lean(number: int, rows: int) -> list[dict[str, Any]]:
    """Rows with five fields, plain text in all of them."""
    return [
        {
            "title": f"Chips of the week {number}: what changed at maker {place}",
            "link": f"https://paper-{place % 97}.example/chips/{number}/story-{place}",
            "snippet": f"{_shown_text(place, 24)} {number}-{place}.",
            "date": f"{place % 23 + 1} hours ago",
            "position": place,
        }
        for place in range(1, rows + 1)
    ]


def rich(number: int, rows: int) -> list[dict[str, Any]]:
    """Rows with ten fields: tags, entities, nested lists and letters beyond ASCII in a part of them."""
    return [
        {
            "position": place,
            "title": f"Chips of the week {number} &amp; <b>maker {place}</b>"
            + (" – Übersicht" if place % 3 else ""),
            "link": f"https://www.paper-{place % 97}.example/chips/{number}/story-{place}?page=2",
            "redirect_link": f"https://redirect.example/url?q=paper-{place % 97}/{number}/{place}&n=1",
            "displayed_link": f"https://paper-{place % 97}.example › chips › {number}",
            "favicon": f"https://icons.example/{place % 97}.png",
            "snippet": f"{_shown_text(place, 22)} <em>Fabriques &amp; ateliers</em> … d&#39;été {number}-{place}.",
            "snippet_highlighted_words": ["chips", f"maker {place}", "été"],
            "source": f"Paper {place % 97}",
            "sitelinks": {
                "inline": [
                    {
                        "title": f"Part {part}",
                        "link": f"https://paper-{place % 97}.example/{number}/{place}/{part}",
                    }
                    for part in range(2)
                ]
            },
        }
        for place in range(1, rows + 1)
    ]


def long(number: int, rows: int, *, cjk: bool) -> list[dict[str, Any]]:
    """Rows of about 2,000 bytes, of English or of Japanese text."""
    shown_text = _CJK * 17 if cjk else _shown_text(7, 330)
    title = "半導体の一週間" if cjk else "Chips of the week"
    return [
        row | {"title": f"{title} {number}-{place}", "snippet": f"{shown_text} {number}-{place}"}
        for place, row in enumerate(lean(number, rows), 1)
    ]


def answer(rows: list[dict[str, Any]]) -> str:
    """The text a search tool answers with."""
    return json.dumps({"successful": True, "data": {"organic_results": rows}}, ensure_ascii=False)


def result(number: int, text: str, tool: str = TOOL) -> ToolResult:
    """A finished search that answered `text`."""
    call = ToolCall(
        tool_use_id=f"toolu_{number:08}", name=tool, input={"query": f"chips {number}"}, query_id="q1"
    )
    observation = SearchObservation(
        server="composio",
        query=f"chips {number}",
        tool_name=tool,
        tool_use_id=call.tool_use_id,
        content=(TextContent(text),),
        ended_at=datetime.now(UTC),
    )
    return ToolResult(call=call, observation=observation)


def _shown_text(place: int, words: int) -> str:
    return " ".join(_WORDS[(place + word) % len(_WORDS)] for word in range(words))
