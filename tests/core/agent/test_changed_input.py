from __future__ import annotations

from typing import Any

from ua_tui.core.agent.permissions.gate import changes_in


def test_every_change_is_shown_at_its_place() -> None:
    cases: tuple[tuple[dict[str, Any], dict[str, Any], list[str]], ...] = (
        ({"to": "a", "cc": "b"}, {"to": "", "n": 1}, ['to: a → ""', "cc: removed", "n: added 1"]),
        # The arguments of a tool that runs others are deeper.
        (
            {"tools": [{"slug": "S", "arguments": {"subject": "old", "body": "x"}}]},
            {"tools": [{"slug": "S", "arguments": {"subject": "new", "body": "x", "cc": []}}]},
            ["tools[0].arguments.subject: old → new", "tools[0].arguments.cc: added []"],
        ),
        ({"files": ["a"]}, {"files": ["a", "b"]}, ['files: ["a"] → ["a", "b"]']),
        ({"a": {"b": 1}}, {"a": "b"}, ['a: {"b": 1} → b']),
        # Of a long text the part that differs is shown.
        (
            {"body": "a" * 300 + "old" + "b" * 300},
            {"body": "a" * 300 + "new" + "b" * 300},
            [f"body: …{'a' * 30}old{'b' * 165}… → …{'a' * 30}new{'b' * 165}…"],
        ),
        ({"body": "a" * 300}, {"body": "a" * 301}, [f"body: …{'a' * 30} → …{'a' * 31}"]),
        ({"a": 1}, {"a": 1}, []),
    )  # fmt: skip
    for before, changed, lines in cases:
        assert list(changes_in(changed, before)) == lines
