from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import FetchRefused
from core.net.client import Fetcher
from core.storage.workspace import Workspace
from core.toolkit import crawl
from core.toolkit.articles import Reference, decode_article
from core.toolkit.context import ToolContext
from core.web_reader.blacklist import Blacklist
from tests.core.toolkit_site import Site, running_site
from tests.e2e.serving import free_port

HOST = "https://chips.example"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site() as running:
        yield running


@pytest.fixture
async def context(tmp_path: Path, site: Site) -> AsyncIterator[ToolContext]:
    workspace = Workspace.open(tmp_path / "ws")
    made = ToolContext(workspace, lambda: Fetcher(routes={".example": site.address}, timeout=5.0))
    yield made
    await made.aclose()
    workspace.close()


async def _crawl(context: ToolContext, urls: list[str]) -> Any:
    return json.loads(await crawl.crawl_parallel(context, urls))


def _saved(context: ToolContext) -> list[str]:
    root = context.workspace.path
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


async def test_an_article_becomes_a_file_with_front_matter(context: ToolContext) -> None:
    answer = await _crawl(context, [f"{HOST}/story/3"])
    (article,) = answer["articles"]
    assert set(answer) == {"articles", "failed", "saved"}
    assert set(article) == {"title", "url", "path", "words", "date"}
    assert (article["title"], article["url"], article["date"]) == (
        "Chip story 3",
        f"{HOST}/story/3",
        "2026-03-13",
    )
    assert answer["saved"] == 1
    assert _saved(context) == [article["path"]]
    found = decode_article((context.workspace.path / article["path"]).read_text())
    assert found is not None
    assert (found.title, found.url, found.words) == (article["title"], article["url"], article["words"])
    assert (found.author, found.site, found.date) == ("Ada Example", "Chip Daily", "2026-03-13")
    assert found.fetched_at
    assert "Read [the details] as well." in found.text
    assert found.links == (Reference("the details", f"{HOST}/details/3"),)


async def test_each_failure_is_named_and_loses_no_sibling(context: ToolContext, site: Site) -> None:
    expected = {
        f"{HOST}/gone": "http_404",
        f"{HOST}/refused": "http_403",
        f"{HOST}/private/memo": "robots",
        f"{HOST}/shell": "not_readable",
        f"{HOST}/paper.pdf": "not_readable",
        f"{HOST}/picture": "not_readable",
        f"{HOST}/huge": "too_large",
        f"{HOST}/inward": "refused",
        f"http://{site.address}/story/1": "refused",
        "http://169.254.169.254/": "refused",
        "http://10.0.0.1/": "refused",
        "http://[::1]/": "refused",
        "http://2130706433/": "refused",
        "file:///etc/passwd": "refused",
        "gopher://chips.example/": "refused",
        f"http://user@{site.address}/": "refused",
        f"{HOST}:22/": "refused",
        "not a url": "refused",
        "javascript:alert(1)": "refused",
        "https://chips.example/\x1b[2J": "refused",
        "https://chips.example/ answers 404 it": "refused",
    }
    urls = [f"{HOST}/story/1", *expected, f"{HOST}/story/2", f"{HOST}/notes.txt", f"{HOST}/data"]
    answer = await _crawl(context, urls)
    assert [article["title"] for article in answer["articles"][:2]] == ["Chip story 1", "Chip story 2"]
    assert answer["saved"] == len(answer["articles"]) == len(_saved(context)) == 4
    found = {failure["url"]: failure["code"] for failure in answer["failed"]}
    cleaned = {url.replace("\x1b", "\ufffd"): code for url, code in expected.items()}
    assert found == cleaned
    assert all(failure["error"] and len(failure["error"]) <= 300 for failure in answer["failed"])
    reasons = {failure["url"]: failure["error"] for failure in answer["failed"]}
    assert reasons[f"{HOST}/gone"].startswith("the site answers 404 Not Found")
    assert "PDF" in reasons[f"{HOST}/paper.pdf"]
    assert "robots.txt" in reasons[f"{HOST}/private/memo"]
    assert site.hits["/private/memo"] == 0


async def test_a_page_that_hangs_and_one_that_is_not_there_are_distinguished(
    tmp_path: Path, site: Site
) -> None:
    workspace = Workspace.open(tmp_path / "ws2")
    routes = {".example": site.address, ".down.example": f"127.0.0.1:{free_port()}"}
    routes = dict(reversed(routes.items()))
    context = ToolContext(workspace, lambda: Fetcher(routes=routes, timeout=3.0))
    answer = await _crawl(context, [f"{HOST}/hang", "http://www.down.example/", f"{HOST}/story/1"])
    await context.aclose()
    workspace.close()
    assert {failure["url"]: failure["code"] for failure in answer["failed"]} == {
        f"{HOST}/hang": "timeout",
        "http://www.down.example/": "unreachable",
    }
    assert answer["saved"] == 1


async def test_texts_of_other_types_are_kept_as_they_are(context: ToolContext) -> None:
    answer = await _crawl(context, [f"{HOST}/notes.txt", f"{HOST}/data"])
    notes, data = (context.workspace.read(article["path"]).decode() for article in answer["articles"])
    assert "Plain notes, 中文 included." in notes
    assert '```json\n{"watts": 300}\n```' in data


async def test_one_page_in_many_spellings_is_fetched_once(context: ToolContext, site: Site) -> None:
    urls = [
        f"{HOST}/story/1",
        f" {HOST}/story/1 ",
        "https://CHIPS.example:443/story/1#end",
        f"{HOST}/story/2",
        "",
    ]
    answer = await _crawl(context, urls)
    assert [article["url"] for article in answer["articles"]] == [f"{HOST}/story/1", f"{HOST}/story/2"]
    assert site.hits["/story/1"] == 1
    again = await _crawl(context, urls[:1])
    assert again["articles"][0]["path"] == answer["articles"][0]["path"]
    assert len(_saved(context)) == 2


async def test_many_pages_keep_their_order_and_stay_within_the_limit(
    context: ToolContext, site: Site
) -> None:
    urls = [f"https://host{number}.example/story/{number}" for number in range(40)]
    answer = await _crawl(context, urls)
    assert [article["url"] for article in answer["articles"]] == urls
    assert len({article["path"] for article in answer["articles"]}) == 40
    assert site.most_open <= crawl.MAX_IN_FLIGHT


async def test_a_site_on_the_blacklist_is_not_fetched_until_it_is_cleared(
    context: ToolContext, site: Site, tmp_path: Path
) -> None:
    context.blacklist = Blacklist(tmp_path)
    for number in range(3):
        context.blacklist.strike(f"{HOST}/story/{number}", "1214", f"t{number}")
    answer = await _crawl(
        context, [f"{HOST}/story/1", "https://www.CHIPS.example/x", "https://b.example/story/2"]
    )
    assert [failure["code"] for failure in answer["failed"]] == ["blacklisted", "blacklisted"]
    assert "ua-tui blacklist clear chips.example" in answer["failed"][0]["error"]
    assert [article["url"] for article in answer["articles"]] == ["https://b.example/story/2"]
    assert site.hits["/story/1"] == 0
    Blacklist(tmp_path).clear("chips.example")
    assert (await _crawl(context, [f"{HOST}/story/1"]))["saved"] == 1


async def test_too_many_urls_and_none_are_errors_that_name_the_limit(
    context: ToolContext, site: Site
) -> None:
    with pytest.raises(FetchRefused, match="at most 50"):
        await _crawl(context, [f"{HOST}/story/{number}" for number in range(51)])
    for nothing in ([], ["", "  "]):
        with pytest.raises(FetchRefused, match="at least one"):
            await _crawl(context, nothing)
    assert not site.hits


async def test_a_file_that_cannot_be_written_is_a_failure_of_its_own(context: ToolContext) -> None:
    first = await _crawl(context, [f"{HOST}/story/1"])
    path = context.workspace.path / first["articles"][0]["path"]
    path.unlink()
    path.mkdir()
    answer = await _crawl(context, [f"{HOST}/story/1", f"{HOST}/story/2"])
    assert [failure["code"] for failure in answer["failed"]] == ["not_saved"]
    assert answer["saved"] == 1
