"""Handlers for the pipelines: no search has an e-mail address in it, and sources are named."""

import re
from dataclasses import replace

from ua_tui.plugins import AfterTool, BeforeTool, Pipelines

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")


def register(pipelines: Pipelines) -> None:
    """Called once for each session."""
    pipelines.register("tool.before_execute", no_addresses, 10, tools=is_search)
    pipelines.register("tool.after_execute", name_sources, tools=is_search)


def is_search(tool: str) -> bool:
    return "search" in tool.lower()


def no_addresses(call: BeforeTool) -> BeforeTool | None:
    found = ADDRESS.search(str(call.input))
    return replace(call, denied=f"{found[0]} is confidential") if found else None


async def name_sources(call: AfterTool) -> AfterTool:
    told = call.additional_context
    reminder = "Name the source of every number you use."
    return replace(call, additional_context=f"{told}\n{reminder}" if told else reminder)
