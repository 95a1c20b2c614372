"""An observer that keeps the percentages it sees."""

import re

from ua_tui.plugins import ObserverContext, Outcome, ToolCall, ToolResult, keep_json, texts_of

PERCENTAGE = re.compile(r"\d+(?:[.,]\d+)?\s?(?:%|per ?cent)")


class Percentages:
    name = "percentages"

    def wants(self, call: ToolCall) -> bool:
        return call.name.startswith("mcp__")

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        text = "\n".join(texts_of(result, context.workspace))
        found = sorted(set(PERCENTAGE.findall(text)))
        if not found:
            return Outcome(note="no percentages in it")
        return keep_json(result, context, {"percentages": found}, kind="percentages", items=len(found))
