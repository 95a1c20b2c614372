from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.observation import ToolCall, ToolResult
from core.storage.media_types import media_type
from core.toolkit.articles import Article, article_path, encode_article
from observers.base import ObserverContext
from observers.compliance import Compliance, shipped_rules, unmet_rules
from observers.corpus import Corpus
from observers.media import Media
from observers.search_results import SearchResults
from observers.work_products import WorkProducts
from observers.workbench_activity import WorkbenchActivity

Make = Callable[..., ToolResult]
WORKBENCH = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
MP4 = b"\x00\x00\x00\x18ftypisom" + bytes(range(256)) * 8


def load(context: ObserverContext, path: str) -> Any:
    return json.loads(context.workspace.read(path))


def test_a_workbench_run(context: ObserverContext, result: Make) -> None:
    body = {
        "successful": True,
        "data": {"results": "5", "stdout": "five\n", "stderr": "", "error": ""},
        "error": None,
    }
    call = result(
        WORKBENCH,
        body,
        code_to_execute="print(5)\n" * 500,
        session_id="calm",
        current_step="COUNT",
        thought="why",
    )
    outcome = WorkbenchActivity().observe(call, context)
    assert outcome.note is None
    saved = load(context, outcome.artifacts[0].path)
    assert len(saved["input"]["code"]) == 1_000
    assert saved["input"]["code_length"] == 4_500
    assert saved["input"]["session_id"] == "calm"
    assert saved["output"]["successful"] is True
    assert (saved["output"]["stdout"], saved["output"]["results"]) == ("five\n", "5")
    assert WorkbenchActivity().observe(call, context).artifacts == ()


def test_helper_errors_in_stdout_are_flagged(context: ObserverContext, result: Make) -> None:
    body = {
        "successful": True,
        "data": {"stdout": "ok\nHelper Function Error: upload: File not found\n", "stderr": "", "error": ""},
    }
    outcome = WorkbenchActivity().observe(result(WORKBENCH, body), context)
    assert "errors in the output" in (outcome.note or "")
    assert load(context, outcome.artifacts[0].path)["output"]["helper_errors"] == [
        "Helper Function Error: upload: File not found"
    ]


def test_a_run_whose_answer_is_no_json_keeps_it(context: ObserverContext, result: Make) -> None:
    outcome = WorkbenchActivity().observe(
        result(WORKBENCH, "gateway timed out", error="gateway timed out"), context
    )
    saved = load(context, outcome.artifacts[0].path)
    assert saved["output"]["raw"] == "gateway timed out"
    assert saved["output"]["successful"] is False


def test_a_run_inside_a_call_of_several_tools(context: ObserverContext, result: Make) -> None:
    tools = [
        {"tool_slug": "X", "arguments": {}},
        {"tool_slug": "COMPOSIO_REMOTE_BASH_TOOL", "arguments": {"command": "ls"}},
    ]
    body = {
        "data": {
            "results": [
                {"response": {}},
                {"response": {"successful": False, "data": {"stdout": "out", "stderr": "err"}}},
            ]
        }
    }
    call = result("mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL", body, tools=tools)
    assert WorkbenchActivity().wants(call.call)
    saved = load(context, WorkbenchActivity().observe(call, context).artifacts[0].path)
    assert saved["input"]["code"] == "ls"
    assert (saved["output"]["successful"], saved["output"]["stderr"]) == (False, "err")


def write(context: ObserverContext, result: Make, path: str, data: bytes, tool_use_id: str = "t1") -> Any:
    relative = path.removeprefix(f"{context.workspace.path}/")
    context.workspace.write(relative, data)
    return WorkProducts().observe(
        result("mcp__local_toolkit__write_local_file", "ok", tool_use_id, path=path), context
    )


def test_reports_of_one_name_and_second_are_all_kept(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    reports = tmp_path / "SAVED_REPORTS"
    reports.mkdir()
    target = tmp_path / "elsewhere.html"
    target.write_bytes(b"mine")
    (reports / "report_20260310_120000.html").write_bytes(b"earlier")
    (reports / "report_20260310_120000-2.html").symlink_to(target)
    first = write(context, result, "work_products/report.html", b"one")
    second = write(context, result, str(context.workspace.path / "work_products/report.html"), b"two", "t2")
    again = write(context, result, "work_products/report.html", b"two", "t2")
    kept = [Path(outcome.artifacts[0].copied_to) for outcome in (first, second)]
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]
    assert (reports / "report_20260310_120000.html").read_bytes() == b"earlier"
    assert target.read_bytes() == b"mine"
    assert again.artifacts == ()
    index = [json.loads(line) for line in (reports / "index.jsonl").read_text().splitlines()]
    assert [entry["sha256"] for entry in index] == [
        hashlib.sha256(data).hexdigest() for data in (b"one", b"two")
    ]
    assert {entry["session"] for entry in index} == {context.workspace.session_id}


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "work_products/../trace.json",
        "notes/work_products/x",
        "work_products",
        "work_products/media/a.mp4",
    ],
)
def test_only_files_under_work_products_are_copied(
    context: ObserverContext, result: Make, tmp_path: Path, path: str
) -> None:
    outcome = WorkProducts().observe(result("Write", "ok", file_path=path), context)
    assert outcome.artifacts == ()
    assert not (tmp_path / "SAVED_REPORTS").exists()


def test_a_real_film_is_copied(context: ObserverContext, result: Make) -> None:
    context.workspace.write("downloads/clip.mp4", MP4)
    source = str(context.workspace.path / "downloads/clip.mp4")
    call = result("mcp__video__trim_video", "done", output_video_path=source)
    assert Media().wants(call.call)
    outcome = Media().observe(call, context)
    assert [(saved.path, saved.kind) for saved in outcome.artifacts] == [
        ("work_products/media/clip.mp4", "video")
    ]
    assert outcome.artifacts[0].sha256 == hashlib.sha256(MP4).hexdigest()
    assert Media().observe(call, context).artifacts == ()
    context.workspace.write("downloads/clip.mp4", MP4 + b"more")
    assert Media().observe(call, context).artifacts[0].path == "work_products/media/clip-2.mp4"


def test_paths_in_the_text_of_a_result_are_found(context: ObserverContext, result: Make) -> None:
    context.workspace.write("downloads/b.mp4", MP4)
    path = context.workspace.path / "downloads/b.mp4"
    assert (
        len(
            Media()
            .observe(result("mcp__v__add_text_overlay", f"Overlay added, saved to {path}"), context)
            .artifacts
        )
        == 1
    )


def test_private_files_are_never_copied(context: ObserverContext, result: Make, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.mp4").write_bytes(MP4)
    downloads = context.workspace.path / "downloads"
    (downloads / "link.mp4").symlink_to("/etc/passwd")
    (downloads / "folder.mp4").mkdir()
    (downloads / "text.mp4").write_text("not a film")
    (downloads / "temp_1.mp4").write_bytes(MP4)
    (downloads / "way").symlink_to(outside)
    os.mkfifo(downloads / "pipe.mp4")
    with (downloads / "sparse.mp4").open("wb") as file:
        file.write(MP4)
        file.truncate(20 << 30)
    claims = ["/etc/passwd", "~/.ssh/id_rsa", "/proc/self/environ", "../../../etc/passwd"]
    claims += [
        str(downloads / name)
        for name in (
            "link.mp4",
            "folder.mp4",
            "text.mp4",
            "temp_1.mp4",
            "pipe.mp4",
            "sparse.mp4",
            "way/secret.mp4",
        )
    ]
    for claim in claims:
        outcome = Media().observe(result("mcp__v__download_video", "done", output_path=claim), context)
        assert outcome.artifacts == (), claim
        assert outcome.note
    assert context.workspace.list("work_products/media") == []


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (MP4, "video"),
        (b"RIFF\0\0\0\0WAVE", "audio"),
        (b"ID3\x04", "audio"),
        (b"\xff\xfb\x90\x00", "audio"),
        (b"\x89PNG\r\n\x1a\n", "image"),
        (b"root:x:0:0", None),
        (b"", None),
        (b"<html>", None),
    ],
)
def test_media_is_known_by_its_first_bytes(head: bytes, kind: str | None) -> None:
    assert media_type(head) == kind


def test_articles_are_saved_and_found_from_the_search_results(context: ObserverContext, result: Make) -> None:
    url = "https://news.example/story?id=1"
    rows = [
        {"title": "T", "url": f"{url}&utm_source=feed", "snippet": "s"},
        {"title": "U", "url": "https://other.example/", "snippet": "s"},
    ]
    search = SearchResults().observe(result("mcp__a__web_search", {"results": rows}), context)
    context.workspace.write(
        article_path(url), encode_article(Article(title="Story", url=url, words=3, text="The whole story."))
    )
    answer = {
        "articles": [{"title": "Story", "url": url, "path": article_path(url), "words": 3, "date": None}],
        "failed": [{"url": "https://x.example/", "error": "no", "code": "status"}],
    }
    call = result("mcp__local_toolkit__crawl_parallel", answer, "t2", urls=[url])
    outcome = Corpus().observe(call, context)
    article = load(context, outcome.artifacts[0].path)
    assert (article["title"], article["content"], outcome.rejected) == ("Story", "The whole story.", 1)
    first, second = load(context, search.artifacts[0].path)["results"]
    assert first["content"] == "The whole story."
    assert first["article"] == outcome.artifacts[0].path
    assert "article" not in second
    before = {path: path.read_bytes() for path in context.workspace.path.rglob("*.json")}
    assert Corpus().observe(call, context).artifacts == ()
    assert {path: path.read_bytes() for path in context.workspace.path.rglob("*.json")} == before


def test_a_web_reader_and_its_errors(context: ObserverContext, result: Make) -> None:
    page = {"reader_result": {"title": "P", "url": "https://p.example/", "content": "Text of it."}}
    assert (
        len(
            Corpus()
            .observe(result("mcp__web_reader__webReader", json.dumps(json.dumps(page))), context)
            .artifacts
        )
        == 1
    )
    failed = (
        'MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"Network error"}}"'
    )
    outcome = Corpus().observe(result("mcp__web_reader__webReader", failed, "t2"), context)
    assert outcome.artifacts == ()
    assert "1234" in (outcome.note or "")


def test_the_corpus_comes_before_the_report(context: ObserverContext, result: Make) -> None:
    agent = "report-creation-expert"
    (violation,) = unmet_rules(agent, "Write a comprehensive report on chips", context.workspace)
    assert violation.message in {rule.message for rule in shipped_rules() if rule.agent == agent}
    assert unmet_rules(agent, "Say hello", context.workspace) == []
    assert unmet_rules("another", "Write a comprehensive report", context.workspace) == []
    call = result(
        "Agent", "❌ COMPLIANCE ERROR: run this", subagent_type=agent, prompt="In-depth analysis of chips"
    )
    assert Compliance().wants(call.call)
    outcome = Compliance().observe(call, context)
    assert outcome.rejected == 1
    assert "COMPLIANCE ERROR" not in (outcome.note or "")
    context.workspace.write("expanded_corpus.json", b"[]")
    assert unmet_rules(agent, "Write a comprehensive report on chips", context.workspace) == []
    assert not Compliance().wants(ToolCall(tool_use_id="t", name="Bash", input={}))
