from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import ua_tui.core.demo
from tests.core.cases import cases_of
from ua_tui.core.demo.model import CLASSIFIER_MARK, Script, read_conversation
from ua_tui.core.demo.playbook import PlaybookStep, load_library
from ua_tui.core.events.continuation import resumption

CASES = cases_of(__file__)

RESEARCH = "Research the latest AI chip news and write a comprehensive report"
CRAWL = "mcp__local_toolkit__crawl_parallel"
SUBAGENT_SYSTEM = [
    {"type": "text", "text": "x-header: cc_is_subagent=true;"},
    {"type": "text", "text": "You write."},
]
PLAYBOOKS = Path(ua_tui.core.demo.__file__).with_name("playbooks")


@pytest.fixture(scope="module")
def script() -> Script:
    return Script(load_library())


def every_tool() -> list[dict[str, str]]:
    names = set(re.findall(r'"tool": "(\w+)"', " ".join(path.read_text() for path in PLAYBOOKS.iterdir())))
    return [{"name": name} for name in sorted(names)]


class Dialogue:
    """Plays the part of the CLI: keeps the messages and answers tool calls."""

    def __init__(self, script: Script, system: Any = "You help.") -> None:
        self.script = script
        self.request: dict[str, Any] = {"system": system, "tools": every_tool(), "messages": []}
        self.ids: list[str] = []

    def say(self, text: str) -> PlaybookStep:
        self.request["messages"].append({"role": "user", "content": [{"type": "text", "text": text}]})
        return self._next()

    def results(self, *texts: str, failed: bool = False) -> PlaybookStep:
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": i,
                "content": [{"type": "text", "text": t}],
                "is_error": failed,
            }
            for i, t in zip(self.ids, texts, strict=True)
        ]
        self.request["messages"].append({"role": "user", "content": blocks})
        return self._next()

    def _next(self) -> PlaybookStep:
        turn = self.script.next(self.request)
        assert "${" not in turn.text + str(turn.calls)
        count = len(self.request["messages"])
        self.ids = [f"toolu_{count}_{index}" for index in range(len(turn.calls))]
        content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}]
        content += [
            {"type": "tool_use", "id": i, "name": c.tool, "input": c.input}
            for i, c in zip(self.ids, turn.calls, strict=True)
        ]
        self.request["messages"].append({"role": "assistant", "content": content})
        return turn


def test_every_prompt_starts_its_own_playbook_and_is_named_for_an_unknown_one(script: Script) -> None:
    library = load_library()
    for name, book in library.playbooks.items():
        assert library.named(book.prompt) is book, name
        assert script.next({"messages": [{"role": "user", "content": book.prompt}]}).text
    turn = Dialogue(script).say("Write me a sonnet")
    assert turn.text.startswith("This is the scripted demo model. It can play:")
    assert all(f"`{book.prompt}`" in turn.text for book in load_library().playbooks.values())
    assert not turn.calls


def test_classifier_gets_one_word(script: Script) -> None:
    for query, expected in (
        ("What is the capital of France?", "SIMPLE"),
        (RESEARCH, "COMPLEX"),
        ("Yes, go on", "COMPLEX"),
    ):
        request = {
            "system": f"You sort questions. {CLASSIFIER_MARK}.",
            "messages": [{"role": "user", "content": query}],
        }
        assert script.next(request) == PlaybookStep(text=expected)


def test_subagent_forgets_the_corpus_and_saves_it_when_sent_back(script: Script) -> None:
    dialogue = Dialogue(script, SUBAGENT_SYSTEM)
    first = dialogue.say(
        "Write a comprehensive report on the latest AI chip news. https://n.example/a https://n.example/b"
    )
    assert [(call.tool, call.input) for call in first.calls] == [
        (CRAWL, {"urls": ["https://n.example/a", "https://n.example/b"]})
    ]
    article = {
        "title": "A <b>", "url": "https://n.example/a", "path": "search_results/a.md", "words": 7,
        "date": "2026-01-01",
    }  # fmt: skip
    crawled = {"articles": [article], "failed": [{"url": "https://n.example/b", "error": "404", "code": "x"}]}
    dialogue.results(json.dumps(crawled))
    written = dialogue.results("text", "text")
    (call,) = written.calls
    assert call.tool == "mcp__local_toolkit__write_local_file"
    assert "A &lt;b&gt;</a>" in call.input["content"]
    assert "Not read: <code>https://n.example/b</code> (404)" in call.input["content"]
    assert "${" not in call.input["content"]
    assert not dialogue.results('{"path": "work_products/ai-chip-news.html"}').calls
    back = dialogue.say("Stop hook feedback:\nSave the corpus.")
    assert [(call.tool, call.input) for call in back.calls] == [
        ("mcp__local_toolkit__save_corpus", {"articles": ["search_results/a.md"]})
    ]
    assert dialogue.results('{"count": 1, "words": 7}').calls
    assert not dialogue.results("{}").calls


def test_a_refused_tool_and_a_cancelled_authentication_end_the_turn(script: Script) -> None:
    dialogue = Dialogue(script)
    dialogue.say("Plot the monthly revenue in the workbench")
    turn = dialogue.results("Permission denied by the user", failed=True)
    assert not turn.calls
    assert "Permission denied by the user" in turn.text
    turn = Dialogue(script).say("The authentication was cancelled.")
    assert not turn.calls
    assert "Nothing has been sent" in turn.text


def test_a_resumed_query_goes_on_where_it_was(script: Script) -> None:
    dialogue, straight = Dialogue(script), Dialogue(script)
    first = dialogue.say("Plot the monthly revenue in the workbench")
    straight.say("Plot the monthly revenue in the workbench")
    dialogue.request["messages"].append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": dialogue.ids[0], "content": "{}"}]}
    )  # fmt: skip

    resumed = dialogue.say(resumption(()))

    assert first.calls
    assert resumed == straight.results("{}")


def test_a_query_whose_last_message_was_cut_off_says_it_again(script: Script) -> None:
    dialogue = Dialogue(script)
    said = dialogue.say("What is the capital of France?")
    assert not said.calls
    for _ in range(2):
        # The program may be interrupted again before there is an answer.
        assert dialogue.say(resumption(())) == said
        dialogue.request["messages"].pop()
    dialogue.say("What is the capital of France?")
    planned = Dialogue(script)
    first = planned.say("Plot the monthly revenue in the workbench")
    rejected = [{"type": "tool_result", "tool_use_id": planned.ids[0], "content": "no", "is_error": True}]
    planned.request["messages"].append({"role": "user", "content": rejected})
    assert planned.say(resumption(())) == first


def test_new_query_after_an_interrupt_is_found_beside_the_cancelled_result(script: Script) -> None:
    dialogue = Dialogue(script)
    dialogue.say("Plot the monthly revenue in the workbench")
    blocks = [
        {"type": "tool_result", "tool_use_id": dialogue.ids[0], "content": "cancelled", "is_error": True},
        {"type": "text", "text": "[Request interrupted by user for tool use]"},
        {"type": "text", "text": "What is the capital of France?"},
    ]
    dialogue.request["messages"].append({"role": "user", "content": blocks})
    assert "Paris" in script.next(dialogue.request).text


def test_what_a_conversation_says_is_read_without_the_notes_of_the_cli() -> None:
    messages = CASES["notes_of_the_cli_are_not_taken_for_words_of_the_user.messages"]
    found = read_conversation({"messages": messages})
    assert (found.query, found.answers, found.workspace) == ("Question", 1, "/srv/my work")
    assert found.outcomes[0].data == {"a": 1}
    folder = "/home/a person/AGENT_RUN_WORKSPACES/session_20260102_030405-2"
    for rest in (".", "; paths you give to local tools are relative to it."):
        request = {
            "system": f"Today is Monday. The session workspace is {folder}{rest}\n\nMore.",
            "messages": [],
        }
        assert read_conversation(request).workspace == folder
