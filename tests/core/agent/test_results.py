from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.cases import cases_of
from ua_tui.core.agent.messages.results import RawResult, ResultAdapter
from ua_tui.core.events.codec import decode_event, encode_event
from ua_tui.core.events.types import ToolCallFinished
from ua_tui.core.observation import (
    AnyObservation,
    ImageContent,
    Observation,
    TextContent,
    WorkbenchObservation,
)

CASES = cases_of(__file__)

SEARCH = "mcp__composio__COMPOSIO_SEARCH_NEWS"
HELD = json.loads((Path(__file__).parent / "composio_held.json").read_text(encoding="utf-8"))
"""What Composio replied to a call that it did not answer, and the tool results that the agent got in each mode."""
WHOLE = json.dumps({"data": {"rows": ["r"] * 9000}})


def observe(raw: RawResult, name: str = SEARCH, root: Path = Path(), **given: Any) -> AnyObservation:
    return ResultAdapter(root).observe(
        tool_name=name, tool_use_id="toolu_1", tool_input=given, raw=raw, duration_ms=12.5
    )


def test_text_and_images_are_kept_in_order() -> None:
    blocks = CASES["text_and_images_are_kept_in_order.blocks"]
    seen = observe(RawResult(block=blocks))
    assert seen.content == (TextContent("before"), ImageContent("QUJD", "image/jpeg"), TextContent("after"))
    assert seen.output == "before\nafter"
    assert seen.images == (ImageContent("QUJD", "image/jpeg"),)
    assert not seen.has_error


CUT_70K = (
    "<persisted-output>\nOutput too large (72.4KB). Full output saved to: /somewhere/tool-results/x.json\n\n"
    "Preview (first 2KB):\n{"
)
CUT_700K = (
    "Error: result (749,752 characters) exceeds maximum allowed tokens. "
    "Output has been saved to /somewhere/tool-results/x.json.\nUse offset and limit."
)


def test_a_cut_result_is_recovered_from_the_messages_own_copy_or_the_hooks() -> None:
    whole = [{"type": "text", "text": WHOLE}]
    copies: list[Any] = [
        {"content": whole}, {"content": "cut too", "structuredContent": json.loads(WHOLE)}, whole, WHOLE,
    ]  # fmt: skip
    raws = [RawResult(block=cut, message_copy=copy) for cut in (CUT_70K, CUT_700K) for copy in copies]
    for raw in (*raws, RawResult(block=CUT_70K, hook_copy=whole)):
        seen = observe(raw)
        assert json.loads(seen.output) == json.loads(WHOLE)
        assert (seen.truncated, seen.recovered, seen.has_error) == (True, True, False)


def test_the_saved_file_is_read_only_inside_the_agents_own_folder(tmp_path: Path) -> None:
    home = tmp_path / "home" / "projects" / "p" / "s" / "tool-results"
    home.mkdir(parents=True)
    (home / "x.json").write_text(json.dumps([{"type": "text", "text": WHOLE}]))
    outside = tmp_path / "tool-results"
    outside.mkdir()
    (outside / "x.json").write_text(WHOLE)
    (home / "link.json").symlink_to(outside / "x.json")

    def cut_to(path: Path) -> RawResult:
        text = CUT_700K.replace("/somewhere/tool-results/x.json", str(path))
        return RawResult(text, message_copy=text, hook_copy=text, transcript=f"{home.parent}.jsonl")

    inside = observe(cut_to(home / "x.json"), root=tmp_path / "home")
    assert json.loads(inside.output) == json.loads(WHOLE)
    assert inside.recovered
    for path in (outside / "x.json", home / "link.json", home / "gone.json"):
        seen = observe(cut_to(path), root=tmp_path / "home")
        assert not seen.recovered, path
        assert seen.truncated
        assert "exceeds maximum" in seen.output


def test_an_error_keeps_the_output_that_came_before_it() -> None:
    blocks = [{"type": "text", "text": "half a page"}, {"type": "text", "text": "Error: it broke"}]
    seen = observe(RawResult(block=blocks, is_error=True))
    assert seen.has_error
    assert seen.held is None
    first, *rest = seen.to_llm_content
    assert isinstance(first, TextContent)
    assert first.text == "Error: half a page\nError: it broke"
    assert TextContent("half a page") in rest


def test_every_observation_has_its_text_in_one_field_that_is_written_once() -> None:
    common: dict[str, Any] = {"tool_name": "t", "tool_use_id": "t1"}
    blocks = (TextContent("one"), ImageContent("data"), TextContent("two"))
    for given, output, content in (
        ({"output": "one"}, "one", (TextContent("one"),)),
        ({"content": blocks}, "one\ntwo", blocks),
        ({"content": blocks, "output": "other"}, "one\ntwo", blocks),
        ({"content": blocks[1:2], "output": "one"}, "one", blocks[:2]),
        ({}, "", ()),
    ):
        made = Observation(**common, **given)
        assert (made.output, made.content, made.to_llm_content) == (output, content, content)
        line = encode_event(ToolCallFinished(tool_use_id="t1", status="success", observation=made))
        read = decode_event(line)
        assert isinstance(read, ToolCallFinished)
        assert (b'"output"' in line, read.observation) == (False, made)
    for kind in AnyObservation.__args__:
        assert issubclass(kind, Observation)
        assert "output" in kind.__struct_fields__
        # A kind only adds fields: nothing of the base means something else in it.
        shared = {name for name in vars(kind).keys() & vars(Observation).keys() if name[:2] != "__"}
        assert kind is Observation or not shared


def test_a_server_that_wanted_an_answer_of_the_model_is_refused_with_a_sentence() -> None:
    for error in CASES["a_server_that_wanted_an_answer_of_the_model_is_refused_with_a"]:
        seen = observe(RawResult(block=error, is_error=True), name="mcp__notes__summarise")
        assert seen.error == f"Sampling is refused: servers may not send requests to the model ({error})"
        assert observe(RawResult(block=error, is_error=True), name="Bash").error == error
        for other in ("The sampling rate is wrong", "MCP error -32601: Method not found"):
            assert observe(RawResult(block=other, is_error=True), name="mcp__notes__x").error == other


def test_odd_content_is_kept_as_text() -> None:
    for odd in ({"x": 1}, 7, [7, None], {"type": "text"}, [{"type": "audio", "data": "x"}]):
        assert observe(RawResult(block=odd)).output
    assert observe(RawResult(block=None, is_error=True)).error
    hooked = observe(RawResult(block=None, is_error=True, hook_error="connection reset"))
    assert hooked.error == "connection reset"
    assert observe(RawResult(block='{"result":"{\\"a\\": 1}"}')).output == '{"a": 1}'
    assert observe(RawResult(block='{"result": "x", "b": 1}')).output == '{"result": "x", "b": 1}'


def test_results_get_the_type_of_their_tool() -> None:
    for name, given, block, kind, fields in CASES["results_get_the_type_of_their_tool"]:
        seen = observe(RawResult(block=block if isinstance(block, str) else json.dumps(block)), name, **given)
        assert type(seen).__name__ == kind, name
        assert {field: getattr(seen, field) for field in fields} == fields


def test_a_result_that_admits_its_own_failure_is_an_error() -> None:
    bench = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
    body = {
        "successful": False, "error": "KeyError: 'month'", "data": {"stdout": "1218 rows", "stderr": "Trace"},
    }  # fmt: skip
    seen = observe(RawResult(block=json.dumps(body)), bench)
    assert seen.error == "KeyError: 'month'"
    assert isinstance(seen, WorkbenchObservation)
    assert seen.stdout == "1218 rows"
    inner = {"successful": True, "data": {"results": [{"response": {"successful": False}}]}}
    for well in ({"successful": True, "note": "false"}, inner):
        assert not observe(RawResult(block=json.dumps(well)), bench).has_error
    # So is a resource that does not exist.
    gone = {"contents": [], "error": "Resource not found: notes://x"}
    raw = RawResult("Resource not found", message_copy=gone)
    assert observe(raw, "ReadMcpResourceTool").error == gone["error"]
    assert not observe(RawResult("{}", message_copy={"contents": []}), "ReadMcpResourceTool").has_error


@pytest.mark.parametrize("mode", ["mcp", "native"])
@pytest.mark.parametrize("recorded", HELD, ids=lambda each: each["error"][:30])
def test_a_call_that_composio_holds_says_for_what(recorded: dict[str, Any], mode: str) -> None:
    seen = observe(RawResult(block=recorded[mode]))
    assert (seen.held, seen.error) == (recorded["status"], recorded["error"])


@pytest.mark.parametrize("quoted", ['{"data": {"result_type": "blocked"}}', '"input_required"', "blocked"])
def test_a_result_that_only_mentions_a_held_call_is_an_answer(quoted: str) -> None:
    assert not observe(RawResult(block=quoted)).has_error


def test_a_held_call_without_a_reason_still_says_something() -> None:
    for result_type, error in (
        ("input_required", "waiting for an answer"),
        ("blocked", "a hook of the service"),
    ):
        reply = {"result_type": result_type, "input_requests": ["odd"], "reason": "odd"}
        assert error in str(observe(RawResult(block=json.dumps(reply))).error)


@pytest.mark.parametrize("part", [False, True])
def test_the_output_of_a_command_is_read_from_its_file(tmp_path: Path, part: bool) -> None:
    folder = tmp_path / "projects" / "p" / "s" / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b3kt.txt").write_text("line\n" * 9_000)
    saved = (
        "Output exceeded the 64MB persist limit; only the first 64MB were saved to: "
        if part
        else "Output too large (45KB). Full output saved to: "
    )
    copy = {
        "stdout": "line\n" * 6_000, "persistedOutputPath": str(folder / "b3kt.txt"), "persistedOutputSize": 99_999,
    }  # fmt: skip
    block = (
        f"<persisted-output>\n{saved}{folder / 'b3kt.txt'}\n\nPreview (first 2KB):\nline\n</persisted-output>"
    )
    seen = ResultAdapter(tmp_path).observe(
        tool_name="Bash",
        tool_use_id="toolu_1",
        tool_input={},
        raw=RawResult(block, message_copy=copy, hook_copy=copy, transcript=f"{folder.parent}.jsonl"),
    )
    first, *rest = seen.content
    assert isinstance(first, TextContent)
    assert first.text == "line\n" * 9_000
    assert seen.recovered is not part
    notice = TextContent("[… the rest of 99,999 bytes is left out: the agent saved only the first 64MB …]")
    assert rest == ([notice] if part else [])
