"""What the names of tools of real servers say, each judged by hand in `tool_names.txt`.

A name of capitals is a tool of a Composio toolkit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ua_tui.observers.search.tool_names import Policy, policy_of, reads_pages

SECTIONS = Path(__file__).with_name("tool_names.txt").read_text(encoding="utf-8").split("# ")[1:]
NAMES = {title: names.split() for title, _, names in (section.partition("\n") for section in SECTIONS)}


@pytest.mark.parametrize(
    ("section", "policy", "pages"),
    [
        ("search", "search", False), ("pages", "never", True), ("never", "never", False),
        ("by its result", "unknown", False),
    ],
)  # fmt: skip
def test_what_the_names_of_real_tools_say(section: str, policy: Policy, pages: bool) -> None:
    called = [f"mcp__{name.replace('/', '__')}" if "/" in name else name for name in NAMES[section]]
    judged = {name: (policy_of(name), reads_pages(name)) for name in called}
    assert {name: each for name, each in judged.items() if each != (policy, pages)} == {}
